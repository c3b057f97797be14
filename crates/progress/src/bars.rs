//! Bars and their steps in the store: read whole, decided about here, and written whole if nobody wrote meanwhile.
//!
//! Every change gives the bar a new revision, and a script writes only over the revision that was read. So two changes never mix,
//! and the caches of the old state, whose keys follow from it, go in the same step.

mod define;
mod list;
mod steps;
mod stored;
mod write;

pub(crate) use self::{
    stored::{BarKeys, Stored, With},
    write::{ATTEMPTS_MAX, BarDefinition},
};
