//! Jobs that go to the store together, and calls that are under way.

use keyrack_store::joined;
use tokio::task::{JoinError, JoinSet};

use super::{BYTES_PER_CALL, JOBS_PER_CALL, Prepared, StoredJob};
use crate::Error;

/// Calls of the script that are under way.
pub(super) struct Calls {
    pub(super) set: JoinSet<Sent>,
    pub(super) most: usize,
}

/// What became of one job.
pub(super) type Answer = Result<StoredJob, Error>;

/// What one call of the script brought: the place of each job among those submitted, and its answer.
pub(super) type Sent = Result<Vec<(usize, Answer)>, Error>;

pub(super) async fn take(
    call: Result<Sent, JoinError>,
    answers: &mut [Option<Answer>],
) -> Result<(), Error> {
    for (place, answer) in joined(call).await? {
        answers[place] = Some(answer);
    }
    Ok(())
}

/// Jobs of one queue that go into one call.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) jobs: Vec<Prepared>,
    /// The place of each among the jobs submitted.
    pub(super) places: Vec<usize>,
    bytes: usize,
}

impl Batch {
    pub(super) fn is_full(&self, next: &Prepared) -> bool {
        self.jobs.len() >= JOBS_PER_CALL
            || (self.bytes + next.bytes() > BYTES_PER_CALL && !self.jobs.is_empty())
    }

    pub(super) fn add(&mut self, place: usize, job: Prepared) {
        self.bytes += job.bytes();
        self.jobs.push(job);
        self.places.push(place);
    }
}
