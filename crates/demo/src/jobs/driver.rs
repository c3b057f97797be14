//! Submits jobs, and works on them.

use std::time::Duration;

use keyrack_jobs::bee::{
    Failure, Hive, Limits, Submission,
    keys::{Jid, QueueName, Tag, Tenant},
    worker::{Context, Settings, Worker},
};
use keyrack_store::Store;
use serde_json::{Value, json};

use super::{ARCHIVE, Action, Ends, MAIL, Order, PAYMENTS, REPORTS, VIDEO, past};
use crate::{error::Error, mark::MARK, random::Random};

/// For how long ended jobs are kept: a demo that runs all day is to stay small.
const KEPT: Duration = Duration::from_secs(600);
/// How long handlers may go on when the demo ends.
const DRAIN: Duration = Duration::from_millis(200);
/// Progress is reported in so many parts.
const PARTS: u32 = 4;

/// Where jobs come from and go to.
#[derive(Debug, Clone)]
pub(crate) struct Driver {
    hive: Hive,
    speed: f64,
}

impl Driver {
    /// Opens the queues. Workers get ids that begin with the mark.
    pub(crate) async fn open(store: Store, speed: f64) -> Result<Driver, Error> {
        let (pid, unique) = (std::process::id(), uuid::Uuid::new_v4().as_u64_pair().1);
        let hive = Hive::named(store, format!("{MARK}:{pid}:{unique:016x}"));
        hive.adjust_clock().await?;
        Ok(Driver { hive, speed })
    }

    /// Sets queues up, and fills them.
    pub(crate) async fn begin(&self, random: &mut Random) -> Result<(), Error> {
        let limits =
            Limits { tenant_concurrency: Some(1), concurrency: Some(3), ..Limits::default() };
        self.hive.set_limits(&queue(REPORTS)?, &limits).await?;
        self.hive.pause(&queue(ARCHIVE)?).await?;
        let jobs = past(random).into_iter().map(|order| self.submission(order));
        let jobs: Vec<Submission> = jobs.collect::<Result<_, _>>()?;
        for submitted in self.hive.submit_many(jobs).await? {
            submitted?;
        }
        Ok(())
    }

    pub(crate) async fn perform(&self, action: Action) -> Result<(), Error> {
        match action {
            Action::Submit(order) => {
                self.hive.submit(self.submission(order)?).await?;
            }
            Action::Cancel { queue: name, number } => {
                // It may have ended, and be gone.
                let _ = self.hive.cancel(&jid(&queue(name)?, number)).await;
            }
        }
        Ok(())
    }

    /// Works on all queues but those that are closed or forgotten, until told to stop.
    pub(crate) async fn work(self, stop: impl Future<Output = ()>) -> Result<(), Error> {
        let mut worker = Worker::new(&self.hive).drain(DRAIN);
        for (name, concurrency) in [(MAIL, 8), (VIDEO, 3), (REPORTS, 3), (PAYMENTS, 2)] {
            let settings = Settings { concurrency, stop_grace: DRAIN, ..Settings::default() };
            let speed = self.speed;
            worker = worker.on(queue(name)?, settings, move |context| work(context, speed));
        }
        Ok(worker.run(stop).await?)
    }

    fn submission(&self, order: Order) -> Result<Submission, Error> {
        let Order { queue: name, number, whom, what, tenant, .. } = order;
        let queue = queue(name)?;
        let id = jid(&queue, number);
        let data = json!({
            "what": what, "to": whom.address(), "number": number,
            "takes_ms": order.takes_ms, "ends": order.ends.word(),
        });
        let after = order.after.map(|after| jid(&queue, after));
        let mut job = Submission::to(queue).id(id).arg(data);
        job = job.priority(order.priority.into()).ttl_ms(KEPT.as_millis() as u64);
        job = job.retries(2).retry_delay_ms((2_000.0 / self.speed).round(), true);
        if order.delay_ms > 0 {
            job = job.delay_ms((order.delay_ms as f64 / self.speed).round());
        }
        if let Some(after) = after {
            job = job.after(after);
        }
        if let Some(tenant) = tenant {
            job = job.tenant(Tenant::new(tenant)?);
        }
        Ok(job.tag(Tag::new(what.replace(' ', "-"))?))
    }
}

fn queue(name: &str) -> Result<QueueName, Error> {
    Ok(QueueName::new(name)?)
}

/// The id of a job: the same number gives the same id.
fn jid(queue: &QueueName, number: u64) -> Jid {
    Jid::derived(queue, &number.to_string())
}

/// Does what the job's data says: takes its time, and ends as it was to end.
async fn work(context: Context, speed: f64) -> Result<Value, Failure> {
    let args = context.job().args();
    let about = args.first().cloned().unwrap_or_default();
    let takes = Duration::from_millis(about["takes_ms"].as_u64().unwrap_or(300)).div_f64(speed);
    for part in 1..=PARTS {
        tokio::select! {
            () = tokio::time::sleep(takes / PARTS) => {}
            _ = context.stopped() => return Err(Failure::new("told to stop")),
        }
        context.progress(part * 100 / PARTS).await?;
    }
    let ends = Ends::ALL.into_iter().find(|ends| about["ends"] == ends.word());
    match ends.unwrap_or(Ends::Well) {
        Ends::AfterOneFailure if context.job().attempts() <= 1 => {
            Err(Failure::new("451 try again later: the mailbox is busy"))
        }
        Ends::Badly => Err(Failure::new("550 no such mailbox")),
        Ends::ForGood => Err(Failure::fatal("the card was declined")),
        Ends::Well | Ends::AfterOneFailure => Ok(json!({ "done": about["what"] })),
    }
}
