//! Updates: telling running services that their repository has something new to deploy.
//!
//! [`Updates`] is the service. In reading order: `updates` announces; `follow` hears of it, whatever happens to the connection;
//! `turn` lets a fleet update one host at a time; `secret` is how whoever announces over HTTP shows that they may.

mod error;
mod follow;
pub mod keys;
mod secret;
mod turn;
mod updates;

pub use self::{
    error::Error,
    follow::{Follower, Reason},
    keys::FAMILIES,
    secret::Secret,
    turn::UpdateLock,
    updates::{Announcement, Updates},
};

/// The guide, whose example is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/updates.md")]
pub struct Guide;
