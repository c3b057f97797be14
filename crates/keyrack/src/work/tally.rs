//! What became of the attempts, told as they end and counted.

use std::{
    collections::HashMap,
    fmt,
    io::{self, Write as _},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use keyrack_format as format;
use keyrack_jobs::bee::{Failure, Job, Outcome, Verdict, worker::Stop};

/// How an attempt ended, as far as the worker can tell.
#[derive(Debug)]
pub(super) enum Ended<'a> {
    /// With a result.
    Completed,
    /// Without one; the first line says why.
    Failed { message: &'a str, retry: bool },
    /// It is to be run later.
    Snoozed { time: Duration },
    /// Not by itself.
    Stopped(Stop),
}

impl Ended<'_> {
    /// What the worker will make of this result, if it was told to stop for this reason.
    pub(super) fn of<T>(result: &Result<T, Failure>, stop: Option<Stop>) -> Ended<'_> {
        match (result, stop) {
            (_, Some(stop @ (Stop::Canceled | Stop::Lost))) => Ended::Stopped(stop),
            (Ok(_), _) => Ended::Completed,
            (Err(_), Some(Stop::Shutdown)) => Ended::Stopped(Stop::Shutdown),
            (Err(Failure { snooze_ms: Some(ms), .. }), None) => {
                Ended::Snoozed { time: Duration::from_millis(*ms as u64) }
            }
            (Err(failure), None) => {
                Ended::Failed { message: &failure.message, retry: failure.retry }
            }
        }
    }
}

/// Counts the attempts of a worker.
#[derive(Debug)]
pub(super) struct Tally {
    quiet: bool,
    /// Attempts that have ended, by job and number, of which the store is being told.
    unsettled: Mutex<HashMap<(String, u64), Unsettled>>,
    completed: AtomicU64,
    failed: AtomicU64,
    snoozed: AtomicU64,
    stopped: AtomicU64,
}

impl Tally {
    pub(super) fn new(quiet: bool) -> Tally {
        let zero = AtomicU64::default;
        let unsettled = Mutex::default();
        let (completed, failed, snoozed, stopped) = (zero(), zero(), zero(), zero());
        Tally { quiet, unsettled, completed, failed, snoozed, stopped }
    }

    /// Takes note of an attempt that has ended. One that was stopped is told at once, others when the store has taken their
    /// end: the job may have been canceled or taken away meanwhile.
    pub(super) fn note(&self, job: &Job, took: Duration, ended: &Ended<'_>) {
        let words = words(job, took, ended);
        if matches!(ended, Ended::Stopped(_)) {
            return self.tell(&self.stopped, job.jid(), &words);
        }
        let unsettled = Unsettled { words, took, counts_as: CountsAs::of(ended) };
        self.lock().insert((job.jid().to_owned(), job.attempts()), unsettled);
    }

    /// The store has been told of an end.
    pub(super) fn settled(&self, outcome: &Outcome, verdict: Verdict) {
        let attempt = (outcome.jid.clone(), outcome.attempt.unwrap_or(0));
        // One that was stopped is not there, and neither is one that was told twice.
        let Some(Unsettled { words, took, counts_as }) = self.lock().remove(&attempt) else {
            return;
        };
        let took = format::duration(took);
        let (counter, words) = match verdict {
            Verdict::Ok => match counts_as {
                CountsAs::Completed => (&self.completed, words),
                CountsAs::Failed => (&self.failed, words),
                CountsAs::Snoozed => (&self.snoozed, words),
            },
            Verdict::Canceled => (&self.stopped, format!("ended after {took}, but was canceled")),
            Verdict::Lost => {
                (&self.stopped, format!("ended after {took}, but was lost to another worker"))
            }
            Verdict::Gone => {
                (&self.stopped, format!("ended after {took}, but there is no such job any more"))
            }
        };
        self.tell(counter, &outcome.jid, &words);
    }

    /// The worker has stopped. What the store could not be told of, others will run again.
    pub(super) fn close(&self) {
        let unsettled = std::mem::take(&mut *self.lock());
        for ((jid, _), Unsettled { took, .. }) in unsettled {
            let took = format::duration(took);
            let words =
                format!("ended after {took}, but the store could not be told; it will run again");
            self.tell(&self.stopped, &jid, &words);
        }
    }

    fn tell(&self, counter: &AtomicU64, jid: &str, words: &str) {
        counter.fetch_add(1, Ordering::Relaxed);
        if !self.quiet {
            // Nobody is left to tell when stderr is gone.
            let line = format!("[{jid}] {words}\n");
            let _ = io::stderr().write_all(format::visible_lines(&line).as_bytes());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, u64), Unsettled>> {
        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An attempt of whose end the store is being told.
#[derive(Debug)]
struct Unsettled {
    /// What is told if the end counts.
    words: String,
    took: Duration,
    counts_as: CountsAs,
}

/// What an attempt is counted as if its end counts.
#[derive(Debug, Clone, Copy)]
enum CountsAs {
    Completed,
    Failed,
    Snoozed,
}

impl CountsAs {
    fn of(ended: &Ended<'_>) -> CountsAs {
        match ended {
            Ended::Completed => CountsAs::Completed,
            Ended::Snoozed { .. } => CountsAs::Snoozed,
            Ended::Failed { .. } | Ended::Stopped(_) => CountsAs::Failed,
        }
    }
}

fn words(job: &Job, took: Duration, ended: &Ended<'_>) -> String {
    let took = format::duration(took);
    match ended {
        Ended::Completed => format!("completed in {took}"),
        Ended::Failed { message, retry } => {
            let first = message.lines().next().unwrap_or_default();
            let hope = if *retry { "" } else { ", not to be tried again" };
            format!("attempt {} failed after {took}{hope}: {first}", job.attempts())
        }
        Ended::Snoozed { time } => {
            format!("snoozed for {} after {took}", format::duration::typed(*time))
        }
        Ended::Stopped(Stop::Canceled) => format!("canceled after {took}"),
        Ended::Stopped(Stop::Lost) => format!("lost to another worker after {took}"),
        Ended::Stopped(Stop::Shutdown) => format!("given back after {took}"),
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        write!(f, "{} completed", format::count(count(&self.completed)))?;
        let others =
            [(&self.failed, "failed"), (&self.snoozed, "snoozed"), (&self.stopped, "stopped")];
        for (counter, word) in others {
            if count(counter) > 0 {
                write!(f, ", {} {word}", format::count(count(counter)))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use keyrack_jobs::bee::{End, Hive, Submission, keys::QueueName};

    use super::*;

    #[tokio::test]
    async fn an_end_that_was_refused_is_not_told_as_completed() {
        let store = keyrack_store::Store::open("embedded:memory").await.expect("a store");
        let hive = Hive::open(store).await.expect("a hive");
        let queue = QueueName::new("emails").expect("a queue");
        for _ in 0..4 {
            hive.submit(Submission::to(queue.clone())).await.expect("submitted");
        }
        let worker = hive.new_worker(&queue).expect("a worker");
        let lock = Duration::from_secs(10);
        let jobs = hive.claim(&queue, &worker, 4, lock).await.expect("claimed").jobs;
        let tally = Tally::new(true);
        let completed: Result<(), Failure> = Ok(());
        for job in &jobs {
            tally.note(job, Duration::ZERO, &Ended::of(&completed, None));
        }
        assert_eq!(tally.to_string(), "0 completed", "not before the store has said so");
        for (job, verdict) in jobs.iter().zip([Verdict::Ok, Verdict::Lost, Verdict::Canceled]) {
            let end = End::Completed { result: "null".into(), ttl_ms: None };
            tally.settled(&Outcome::of(job, end), verdict);
        }
        assert_eq!(tally.to_string(), "1 completed, 2 stopped");
        tally.close();
        assert_eq!(tally.to_string(), "1 completed, 3 stopped", "one could not be told");
    }
}
