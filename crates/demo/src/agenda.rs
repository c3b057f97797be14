//! Actions of a service's plan that are due later.

use std::{cmp::Reverse, collections::BTreeMap, time::Duration};

use crate::{
    random::Random,
    scenario::{Action, TimedAction},
};

/// The plan of one service: gives its next action.
pub(crate) trait Plan: Send + std::fmt::Debug {
    /// The next action, not due before the last one.
    fn next(&mut self, random: &mut Random) -> TimedAction;
}

/// Actions by the time at which they are due; of those due at the same time, the one entered first comes first.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    due: BTreeMap<(Duration, u64), Action>,
    entered: u64,
}

impl Agenda {
    /// Enters an action.
    pub(crate) fn enter(&mut self, at: Duration, action: impl Into<Action>) {
        self.due.insert((at, self.entered), action.into());
        self.entered += 1;
    }

    /// When the next action is due.
    pub(crate) fn next_at(&self) -> Option<Duration> {
        self.due.first_key_value().map(|((at, _), _)| *at)
    }

    /// Takes out the next action.
    pub(crate) fn take(&mut self) -> Option<TimedAction> {
        self.due.pop_first().map(|((at, _), action)| TimedAction { at, action })
    }
}

/// When the next action of each plan is due; the plan with the first one is asked next.
#[derive(Debug, Default)]
pub(crate) struct Turns(std::collections::BinaryHeap<Reverse<(Duration, usize)>>);

impl Turns {
    /// Notes when the next action of a plan is due.
    pub(crate) fn enter(&mut self, at: Duration, plan: usize) {
        self.0.push(Reverse((at, plan)));
    }

    /// The plan whose action is due first.
    pub(crate) fn take(&mut self) -> Option<usize> {
        self.0.pop().map(|Reverse((_, plan))| plan)
    }
}
