//! The times of the plain outcomes of a batch, added up so that the script has next to nothing to do for each.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{attempt::AttemptTimes, histogram::bucket_of};

/// The times of outcomes, in the order of the script.
#[derive(Debug, Default)]
pub(in super::super) struct PlainTimes {
    cells: BTreeMap<(usize, usize), u64>,
    wait_ms: u64,
    run_ms: u64,
    /// Those of each, for a script that finds one not to be plain.
    each: String,
    /// How long each ran, by its position from 1.
    runs: Vec<(usize, u64)>,
    n_outcomes: usize,
}

impl PlainTimes {
    /// Adds the next outcome: an attempt that ends now.
    pub(in super::super) fn add(&mut self, history: &str, now_ms: u64) {
        self.n_outcomes += 1;
        let times = AttemptTimes::of(history, now_ms);
        let separator = if self.n_outcomes > 1 { " " } else { "" };
        let Some(AttemptTimes { wait_ms, run_ms }) = times else {
            self.each.push_str(separator);
            self.each.push('-');
            return;
        };
        write!(self.each, "{separator}{wait_ms},{run_ms}").expect("a text takes everything");
        *self.cells.entry((bucket_of(wait_ms), bucket_of(run_ms))).or_default() += 1;
        self.wait_ms = self.wait_ms.saturating_add(wait_ms);
        self.run_ms = self.run_ms.saturating_add(run_ms);
        self.runs.push((self.n_outcomes, run_ms));
    }

    /// All of them as the script takes them, with the run times that a filter lets pass; empty if there are no outcomes.
    pub(in super::super) fn text(&self, passes: &mut dyn FnMut(u64) -> bool) -> String {
        if self.n_outcomes == 0 {
            return String::new();
        }
        let mut text = format!("{} {}", self.wait_ms, self.run_ms);
        for ((wait, run), n) in &self.cells {
            write!(text, " {wait}.{run}={n}").expect("a text takes everything");
        }
        text.push(';');
        for (position, run_ms) in &self.runs {
            if passes(*run_ms) {
                write!(text, " {position},{run_ms}").expect("a text takes everything");
            }
        }
        text.push(';');
        text.push_str(&self.each);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(queued_at: u64, popped_at: u64) -> String {
        format!(
            r#"[{{"event":"queued","timestamp":{queued_at}}},{{"event":"popped","timestamp":{popped_at}}}]"#
        )
    }

    #[test]
    fn times_of_a_batch_are_added_up_by_cell() {
        let mut times = PlainTimes::default();
        assert_eq!(times.text(&mut |_| true), "");
        for (queued_at, popped_at) in [(0, 4), (0, 3), (0, 5)] {
            times.add(&history(queued_at, popped_at), 9);
        }
        times.add("{}", 9);
        let text = times.text(&mut |run_ms| run_ms > 4);
        assert_eq!(text, "12 15 4.5=1 4.6=1 5.4=1; 1,5 2,6;4,5 3,6 5,4 -");
    }
}
