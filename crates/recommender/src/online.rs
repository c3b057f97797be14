//! Recommendations: which posts a user should see next, and why.
//!
//! A request reads the user's own keys in one pipeline and everything shared in one script; ranking is pure code over what they
//! returned. So a recommendation is a function of the store, the user, the seed and the time.

mod candidates;
mod cursor;
mod explain;
mod rank;
mod reader;
mod reason;
mod recommend;
mod signals;
mod similar;
mod top;

pub(crate) use self::signals::{N_SIGNALS, Signals};
pub use self::{
    explain::{Explanation, SignalShare},
    reason::Reason,
    recommend::{Item, LIMIT_DEFAULT, LIMIT_MAX, Page, Request},
    signals::{SIGNAL_NAMES, Weights},
    similar::Similar,
};
