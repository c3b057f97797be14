//! How far ahead of its handlers a queue worker claims.
//!
//! A call costs the store as much as a few jobs, and a worker as much as a few more. When handlers take next to no time,
//! calls for as many jobs as run at once are mostly overhead; so a quick queue worker also claims the jobs that it will get to in
//! a moment. They are running for everybody else, which is why it must be a moment only.

use std::time::Duration;

use tokio::time::Instant;

/// What is claimed ahead is what was handled in this time.
const AHEAD: Duration = Duration::from_millis(20);
/// A queue worker is quick when every handler gets to so many jobs in that time.
const QUICK: usize = 5;
/// For so long nothing is claimed ahead after a job had to wait for too long.
const REST: Duration = Duration::from_secs(1);

/// The speed of a queue worker, as far as it matters for claiming.
#[derive(Debug)]
pub(super) struct Prefetch {
    concurrency: usize,
    /// The most jobs that are claimed ahead: what is lost with a worker should not be much.
    ahead_max: usize,
    ahead: usize,
    /// When the current measurement began, or will begin.
    since: Instant,
    n_ended: usize,
}

impl Prefetch {
    pub(super) fn new(concurrency: usize, ahead_max: usize, now: Instant) -> Prefetch {
        Prefetch { concurrency, ahead_max, ahead: 0, since: now, n_ended: 0 }
    }

    /// Takes note of handlers that have ended.
    pub(super) fn note_ends(&mut self, n: usize) {
        self.n_ended += n;
    }

    /// Claims nothing ahead for some time.
    pub(super) fn rest(&mut self, now: Instant) {
        *self = Prefetch::new(self.concurrency, self.ahead_max, now + REST);
    }

    /// How many jobs to have beyond those that run.
    pub(super) fn ahead(&mut self, now: Instant) -> usize {
        let took = now.saturating_duration_since(self.since);
        if took.is_zero() {
            self.n_ended = 0;
        } else if took >= AHEAD {
            let handled = self.n_ended as f64 * AHEAD.as_secs_f64() / took.as_secs_f64();
            let is_quick = handled >= (QUICK * self.concurrency) as f64;
            self.ahead = if is_quick { (handled as usize).min(self.ahead_max) } else { 0 };
            (self.since, self.n_ended) = (now, 0);
        }
        self.ahead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AHEAD_MAX: usize = 1_000;

    /// What a queue worker claims ahead after it handled so many jobs in so many milliseconds.
    fn ahead_after(concurrency: usize, n_jobs: usize, ms: u64) -> usize {
        let start = Instant::now();
        let mut prefetch = Prefetch::new(concurrency, AHEAD_MAX, start);
        prefetch.note_ends(n_jobs);
        prefetch.ahead(start + Duration::from_millis(ms))
    }

    #[test]
    fn quick_handlers_get_the_jobs_of_the_next_moment() {
        assert_eq!(ahead_after(10, 400, 40), 200);
        assert_eq!(ahead_after(100, 4_000, 40), AHEAD_MAX);
    }

    #[test]
    fn handlers_that_take_their_time_get_nothing_ahead() {
        assert_eq!(ahead_after(10, 0, 40), 0);
        assert_eq!(ahead_after(10, 99, 40), 0, "more than a moment for each");
        assert_eq!(ahead_after(100, 4_000, 10_000), 0, "quick, but long ago");
    }

    #[test]
    fn a_single_burst_is_no_pace() {
        assert_eq!(ahead_after(10, 1_000, 19), 0);
    }

    #[test]
    fn who_had_jobs_wait_rests_before_it_is_measured_again() {
        let start = Instant::now();
        let mut prefetch = Prefetch::new(1, AHEAD_MAX, start);
        let mut ahead_at = |at: Instant, rests: bool| {
            if rests {
                prefetch.rest(at);
            }
            prefetch.note_ends(100);
            prefetch.ahead(at)
        };
        assert_eq!(ahead_at(start + AHEAD, false), 100);
        assert_eq!(ahead_at(start + AHEAD, true), 0);
        assert_eq!(ahead_at(start + AHEAD + REST, false), 0);
        assert_eq!(ahead_at(start + 2 * AHEAD + REST, false), 100, "only what ended since");
    }
}
