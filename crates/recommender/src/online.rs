//! Recommendations: which posts a user should see next, and why.
//!
//! A request reads the user's own keys in one pipeline and everything shared in one script; ranking is pure code over what they
//! returned. So a recommendation is a function of the store, the user, the seed and the time.

mod candidates;
mod cursor;
mod examples;
mod explain;
mod filter;
mod rank;
mod reader;
mod reason;
mod reception;
mod recommend;
mod signals;
mod similar;
mod suitable;
mod top;

pub(crate) use self::{
    examples::Example,
    reception::Reception,
    signals::{BY_REACTIONS, N_SIGNALS, Signals},
};
pub use self::{
    explain::{Explanation, SignalShare},
    filter::Filter,
    reason::{Reason, Words},
    recommend::{Item, LIMIT_DEFAULT, LIMIT_MAX, Page, Request},
    signals::{SIGNAL_NAMES, Weights},
    similar::Similar,
};
