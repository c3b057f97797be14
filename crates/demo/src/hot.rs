//! The hot queue: short jobs that may be lost.

use std::time::Duration;

use keyrack_jobs::hot::{HotWorker, Job, Producer, Unknown, keys::WorkerId};
use keyrack_store::Store;
use serde_json::json;
use uuid::Uuid;

use crate::{
    agenda::Plan, error::Error, mark::MARK, people::Person, random::Random, scenario::TimedAction,
};

/// The jobs that the worker knows.
const TOUCH: &str = "demo.touch_session";
const AVATAR: &str = "demo.resize_avatar";
/// Put here by the calendar.
pub(crate) const STATISTICS: &str = "demo.update_statistics";

/// What is done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Action {
    name: &'static str,
    whom: Person,
}

/// The plan.
#[derive(Debug, Default)]
pub(crate) struct Hot {
    at: Duration,
}

impl Plan for Hot {
    fn next(&mut self, random: &mut Random) -> TimedAction {
        self.at += Duration::from_millis(random.between(100, 900));
        let name = if random.percent(80) { TOUCH } else { AVATAR };
        TimedAction { at: self.at, action: Action { name, whom: Person::any(random) }.into() }
    }
}

/// Where hot jobs come from and go to.
#[derive(Debug, Clone)]
pub(crate) struct Driver {
    store: Store,
}

impl Driver {
    pub(crate) fn open(store: Store) -> Driver {
        Driver { store }
    }

    pub(crate) async fn perform(&self, action: Action) -> Result<(), Error> {
        let producer = Producer::new(self.store.clone());
        producer.push(action.name, &json!({ "user_sub": action.whom.id() })).await?;
        Ok(())
    }

    /// Works on the demo's jobs, and leaves others where they are.
    pub(crate) async fn work(self, stop: impl Future<Output = ()>) -> Result<(), Error> {
        let id = format!("{MARK}.{}.{}", std::process::id(), Uuid::new_v4().simple());
        let mut worker = HotWorker::new(self.store, WorkerId::new(id)?).reliable();
        for name in [TOUCH, AVATAR, STATISTICS] {
            worker = worker.on(name, |_: Job| async { Ok(None) });
        }
        worker.unknown(Unknown::Leave).run(stop).await;
        Ok(())
    }
}
