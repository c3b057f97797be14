//! What is to be done at each queue.

use std::time::Duration;

use keyrack_jobs::bee::keys::QueueName;

use super::command::Command;

/// What a worker does.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) queues: Vec<QueueWork>,
    /// How many jobs of all queues run at once; without it, as many as the queues have places.
    pub(super) shared_concurrency: Option<usize>,
}

/// What it does for the jobs of one queue.
#[derive(Debug)]
pub(super) struct QueueWork {
    pub(super) queue: QueueName,
    pub(super) command: Command,
    pub(super) concurrency: usize,
    pub(super) weight: u32,
    pub(super) time_limit: Duration,
    pub(super) unique: bool,
}

impl Work {
    /// The queues, for messages.
    pub(super) fn names(&self) -> String {
        let names: Vec<String> =
            self.queues.iter().map(|work| format!("\"{}\"", work.queue)).collect();
        names.join(", ")
    }

    /// How many jobs run at once.
    pub(super) fn concurrency(&self) -> usize {
        let all = self.queues.iter().map(|work| work.concurrency).sum();
        self.shared_concurrency.map_or(all, |shared| shared.min(all))
    }
}

#[cfg(test)]
impl QueueWork {
    pub(super) fn in_words(&self) -> String {
        let QueueWork { queue, command, concurrency, weight, time_limit, unique } = self;
        let (command, seconds) = (command.name(), time_limit.as_secs());
        format!(
            "{queue}: {command}, {concurrency} at once, weight {weight}, {seconds}s, unique {unique}"
        )
    }
}
