//! Identity: who is calling, by user token or by a token that an identity provider signed.
//!
//! [`Identity`] is the service. In reading order: [`role`](Role) says what somebody may do and [`reach`](Reach) to what; `user` and `token` are what is
//! stored, with the scripts that change it beside them; `session` is for people with a browser, and for the first of them; `audit` remembers who changed what, and `alert_mute` which alerts somebody has acknowledged or muted; `authenticate` turns what stands
//! in a request into a [`Principal`]; `jwt` checks signed tokens, by keys that its `jwks` fetches and keeps.

mod alert_mute;
mod audit;
mod authenticate;
mod error;
mod identity;
mod ids;
mod jwt;
pub mod keys;
mod reach;
mod role;
mod session;
mod token;
mod user;

pub use self::{
    alert_mute::{
        ALERT_MUTE_S_MAX, ALERT_MUTES_MAX, ALERT_REASON_CHARS_MAX, AlertMute, AlertMuteKind,
    },
    audit::{AUDIT_MAX, Actor, Change},
    authenticate::{Credential, Principal},
    error::Error,
    identity::Identity,
    jwt::{JwtSettings, KeySource, dev_token},
    keys::FAMILIES,
    reach::TokenScope,
    role::Role,
    session::{SESSION_TIME_S, SESSIONS_MAX},
    token::{Created, NewToken, TOKEN_NAME_CHARS_MAX, TOKENS_MAX, Token},
    user::User,
};

/// The guide, whose example is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/access.md")]
pub struct Guide;
