//! The hot queue: short jobs that may be lost.

use std::time::Duration;

use keyrack_jobs::hot::{HotWorker, Job, Producer, Unknown, keys::WorkerId};
use keyrack_store::Store;
use serde_json::json;
use uuid::Uuid;

use crate::{agenda::Plan, company::Timed, dice::Dice, error::Error, mark::MARK, people::Person};

/// The jobs that the worker knows.
const TOUCH: &str = "demo.touch_session";
const AVATAR: &str = "demo.resize_avatar";
/// Put here by the calendar.
pub(crate) const STATISTICS: &str = "demo.update_statistics";

/// What is done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Deed {
    name: &'static str,
    whom: Person,
}

/// The plan.
#[derive(Debug, Default)]
pub(crate) struct Hot {
    at: Duration,
}

impl Plan for Hot {
    fn next(&mut self, dice: &mut Dice) -> Timed {
        self.at += Duration::from_millis(dice.between(100, 900));
        let name = if dice.percent(80) { TOUCH } else { AVATAR };
        Timed { at: self.at, deed: Deed { name, whom: Person::any(dice) }.into() }
    }
}

/// Where hot jobs come from and go to.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    store: Store,
}

impl Desk {
    pub(crate) fn open(store: Store) -> Desk {
        Desk { store }
    }

    pub(crate) async fn perform(&self, deed: Deed) -> Result<(), Error> {
        let producer = Producer::new(self.store.clone());
        producer.push(deed.name, &json!({ "user_sub": deed.whom.id() })).await?;
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
