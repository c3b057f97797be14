//! What a department has decided to do later.

use std::{cmp::Reverse, collections::BTreeMap, time::Duration};

use crate::{
    random::Random,
    scenario::{Action, TimedAction},
};

/// What a department will do: the next thing, whenever it is asked.
pub(crate) trait Plan: Send + std::fmt::Debug {
    /// The next thing, not before the last one.
    fn next(&mut self, random: &mut Random) -> TimedAction;
}

/// Deeds by the time at which they are due; of those due at once, the one entered first comes first.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    due: BTreeMap<(Duration, u64), Action>,
    entered: u64,
}

impl Agenda {
    /// Enters a deed.
    pub(crate) fn enter(&mut self, at: Duration, action: impl Into<Action>) {
        self.due.insert((at, self.entered), action.into());
        self.entered += 1;
    }

    /// When the next deed is due.
    pub(crate) fn next_at(&self) -> Option<Duration> {
        self.due.first_key_value().map(|((at, _), _)| *at)
    }

    /// Takes out the next deed.
    pub(crate) fn take(&mut self) -> Option<TimedAction> {
        self.due.pop_first().map(|((at, _), action)| TimedAction { at, action })
    }
}

/// When each of several plans has something to do; the first of those is asked next.
#[derive(Debug, Default)]
pub(crate) struct Turns(std::collections::BinaryHeap<Reverse<(Duration, usize)>>);

impl Turns {
    /// Notes when a plan has something to do.
    pub(crate) fn enter(&mut self, at: Duration, plan: usize) {
        self.0.push(Reverse((at, plan)));
    }

    /// Whose turn it is.
    pub(crate) fn take(&mut self) -> Option<usize> {
        self.0.pop().map(|Reverse((_, plan))| plan)
    }
}
