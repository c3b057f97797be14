//! What an import has done.

use std::collections::BTreeMap;

use keyrack_format as format;
use serde_json::{Value as Json, json};

use super::foreign::Unfit;
use crate::table::{Cell, Table};

/// What was moved, and what was not.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    /// By their name in the library and their queue here.
    moved: BTreeMap<(String, String), Moved>,
    /// Jobs that an earlier import has moved.
    pub(super) before: u64,
    /// Jobs that stay, by the reason.
    pub(super) unfit: BTreeMap<Unfit, u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Moved {
    waiting: u64,
    delayed: u64,
}

impl Tally {
    pub(super) fn take(&mut self, name: &str, queue: &str, is_delayed: bool) {
        let moved = self.moved.entry((name.to_owned(), queue.to_owned())).or_default();
        *(if is_delayed { &mut moved.delayed } else { &mut moved.waiting }) += 1;
    }

    pub(super) fn leave(&mut self, reason: Unfit, n: u64) {
        if n > 0 {
            *self.unfit.entry(reason).or_default() += n;
        }
    }

    /// How many jobs were moved.
    pub(super) fn taken(&self) -> u64 {
        self.moved.values().map(|moved| moved.waiting + moved.delayed).sum()
    }

    pub(super) fn table(&self) -> Table {
        let mut table = Table::new(&["FROM", "QUEUE", "WAITING", "DELAYED"]);
        for ((name, queue), moved) in &self.moved {
            let numbers = [moved.waiting, moved.delayed].map(|n| Cell::number(format::count(n)));
            let [waiting, delayed] = numbers;
            table.row(vec![name.as_str().into(), queue.as_str().into(), waiting, delayed]);
        }
        table
    }

    pub(super) fn to_json(&self, is_dry: bool) -> Json {
        let moved = self.moved.iter().map(|((name, queue), moved)| {
            json!({"from": name, "queue": queue, "waiting": moved.waiting, "delayed": moved.delayed})
        });
        let unfit =
            self.unfit.iter().map(|(reason, n)| json!({"reason": reason.to_string(), "jobs": n}));
        json!({
            "dry_run": is_dry,
            "moved": moved.collect::<Vec<Json>>(),
            "moved_before": self.before,
            "not_moved": unfit.collect::<Vec<Json>>(),
        })
    }
}
