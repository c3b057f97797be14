//! Recurring jobs. The store has them, and every worker and server of the store runs them, each run once.

use std::{borrow::Cow, future::pending};

use keyrack_jobs::{
    bee::Hive,
    recurring::{Definition, Draft, Error, Listed, Recurring, Scheduler, Settings, Target},
};
use serde::{Deserialize, Serialize};

use crate::{error::Failure, parts::to_json};

/// How often creating and changing take turns while others create and delete a schedule of the same name.
const TRIES: usize = 3;

/// Those that were defined at run time; a program has no list of its own.
fn recurring(hive: &Hive) -> Result<Recurring, Failure> {
    Ok(Recurring::new(hive.clone(), Vec::new())?)
}

/// Creates the schedule, or gives the one of its name this definition.
pub(crate) async fn set(draft: Draft, hive: &Hive) -> Result<String, Failure> {
    if draft.queue.is_none() {
        return Err(Failure::invalid("queue: missing; give the queue that the jobs are put into"));
    }
    let recurring = recurring(hive)?;
    let definition = Definition::try_from(draft)?;
    for _ in 0..TRIES {
        match recurring.create(definition.clone()).await {
            Err(Error::Exists { .. }) => {}
            created => return Ok(told(created.map(drop))?),
        }
        match recurring.change(definition.clone(), None).await {
            Err(Error::NoSuchJob { .. }) => {}
            changed => return Ok(told(changed.map(drop))?),
        }
    }
    Err(Error::Busy { name: definition.name().to_owned() }.into())
}

fn told(done: Result<(), Error>) -> Result<String, Error> {
    done.map(|()| "null".to_owned())
}

/// All schedules of the store, by name.
pub(crate) async fn list(hive: &Hive) -> Result<String, Failure> {
    let listing = recurring(hive)?.list().await?;
    Ok(to_json(&listing.jobs.iter().map(Schedule::of).collect::<Vec<_>>()))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Schedule {
    name: String,
    /// Null for the hot queue.
    queue: Option<String>,
    /// When it runs, in words.
    times: String,
    /// Unix milliseconds.
    next_run_at: Option<i64>,
    paused: bool,
    /// All of it, in the words of HTTP.
    definition: Draft,
}

impl Schedule {
    fn of(listed: &Listed) -> Schedule {
        let definition = &listed.definition;
        Schedule {
            name: definition.name().to_owned(),
            queue: match definition.target() {
                Target::Bee(queue) => Some(queue.to_string()),
                Target::Hot => None,
            },
            times: definition.schedule().to_string(),
            next_run_at: listed.next_run.map(|at| at.as_millisecond()),
            paused: listed.paused,
            definition: Draft::from(definition),
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct ByName<'a> {
    name: Cow<'a, str>,
}

impl ByName<'_> {
    /// Deletes the schedule. Jobs that it has queued stay.
    pub(crate) async fn delete(self, hive: &Hive) -> Result<String, Failure> {
        Ok(told(recurring(hive)?.delete(&self.name, None).await)?)
    }

    /// Skips its runs until it is resumed.
    pub(crate) async fn pause(self, hive: &Hive) -> Result<String, Failure> {
        Ok(told(recurring(hive)?.pause(&self.name).await)?)
    }

    /// Lets it run again.
    pub(crate) async fn resume(self, hive: &Hive) -> Result<String, Failure> {
        Ok(told(recurring(hive)?.resume(&self.name).await)?)
    }

    /// Queues its job now, beside its times.
    pub(crate) async fn run_now(self, hive: &Hive) -> Result<String, Failure> {
        Ok(told(recurring(hive)?.run_now(&self.name).await.map(drop))?)
    }
}

/// Queues what is due, for a test that has moved the clock.
pub(crate) async fn queue_due(hive: &Hive) -> Result<(), Failure> {
    Scheduler::without_list(recurring(hive)?, Settings::default()).turn().await?;
    Ok(())
}

/// Runs schedules as long as a worker works, so that a program without a server has them too.
pub async fn run_beside<T>(hive: &Hive, work: impl Future<Output = T>) -> T {
    let schedules = async {
        if let Ok(recurring) = recurring(hive) {
            let scheduler = Scheduler::without_list(recurring, Settings::default());
            scheduler.run(pending()).await;
        }
        pending().await
    };
    tokio::select! {
        ended = work => ended,
        never = schedules => never,
    }
}
