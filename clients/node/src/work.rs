//! A worker whose handlers are JavaScript functions.
//!
//! The crate's own worker claims jobs, renews their leases and settles them, on threads that never wait
//! for JavaScript. Its handler here only offers the job to a lane and waits for what JavaScript says.

use std::{
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use keyrack_bridge::{Failure, Next, log, milliseconds, report, run_beside, timeouts, to_json};
use keyrack_jobs::bee::{
    Failure as Attempt,
    keys::{Jid, QueueName},
    worker::{self, Context, Duplicates, Settings, Stop},
};
use napi::bindgen_prelude::Function;
use napi_derive::napi;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{oneshot, watch};

use crate::{
    lane::{Lane, Taken},
    port::{raw, thrown},
    rack::Rack,
    wake::Wake,
};

/// What JavaScript says of a job.
enum Reply {
    Completed(Box<RawValue>),
    Failed(Attempt),
    Canceled,
}

/// A job on its way through JavaScript.
struct Ticket {
    /// The place of its queue among those of the worker.
    queue: usize,
    context: Context,
    /// Its place in the lane, or none before JavaScript has it.
    place: AtomicU64,
    /// Nothing once it was answered, or once nobody waits for it.
    reply: Mutex<Option<oneshot::Sender<Reply>>>,
}

const NO_PLACE: u64 = u64::MAX;

impl Ticket {
    fn answer(&self, reply: Reply) {
        if let Some(to) = self.reply.lock().take() {
            // Nobody waits for the end of a job that ran for too long.
            let _ = to.send(reply);
        }
    }

    fn is_awaited(&self) -> bool {
        self.reply.lock().is_some()
    }
}

type Jobs = Lane<Arc<Ticket>>;

/// Runs a job in JavaScript.
async fn handle(lane: Arc<Jobs>, queue: usize, context: Context) -> Result<Box<RawValue>, Attempt> {
    let (reply, mut answer) = oneshot::channel();
    let ticket = Arc::new(Ticket {
        queue,
        context: context.clone(),
        place: AtomicU64::new(NO_PLACE),
        reply: Mutex::new(Some(reply)),
    });
    lane.offer(ticket.clone());
    // Dropped before its end, the job is not this worker's any more, or has run for too long.
    let left = Left { ticket, lane };
    let reply = tokio::select! {
        biased;
        reply = &mut answer => reply,
        stop = context.stopped() => {
            left.tell(match stop {
                Stop::Canceled => "canceled",
                Stop::Lost => "lost",
                Stop::Shutdown => "shutdown",
            });
            answer.await
        }
    };
    match reply {
        Ok(Reply::Completed(result)) => Ok(result),
        Ok(Reply::Failed(failure)) => Err(failure),
        Ok(Reply::Canceled) => {
            if let Ok(jid) = Jid::new(context.job().jid()) {
                context.hive().cancel(&jid).await?;
            }
            Err(Attempt::fatal("canceled by its handler"))
        }
        Err(_) => Err(Attempt::new("the handler was dropped")),
    }
}

struct Left {
    ticket: Arc<Ticket>,
    lane: Arc<Jobs>,
}

impl Left {
    fn tell(&self, reason: &'static str) {
        if let Ok(place) = u32::try_from(self.ticket.place.load(Ordering::SeqCst)) {
            self.lane.stop(place, reason);
        }
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        if self.ticket.reply.lock().take().is_some() {
            self.tell("timeout");
        }
    }
}

/// A queue to serve. Times are in milliseconds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Served {
    queue: String,
    concurrency: usize,
    time_limit: f64,
    skips_duplicates: bool,
    /// Its weight among the queues of the worker.
    weight: u32,
}

/// What became of jobs, each by its place.
#[derive(Deserialize)]
struct Ended<'a> {
    #[serde(borrow)]
    completed: Vec<(u32, &'a RawValue)>,
    failed: Vec<FailedJob>,
    canceled: Vec<u32>,
}

/// Place, reason, what is to become of it, and after how many milliseconds.
type FailedJob = (u32, String, String, Option<f64>);

#[napi]
pub struct Worker {
    lane: Arc<Jobs>,
    stop: watch::Sender<bool>,
}

#[napi]
impl Worker {
    /// A worker that starts at once. `wake` is called when there is something to poll.
    #[napi(constructor)]
    pub fn new(
        rack: &Rack,
        queues: String,
        drain: f64,
        stop_grace: f64,
        lease: Option<f64>,
        shared_concurrency: Option<u32>,
        wake: Function<'_, (), ()>,
    ) -> napi::Result<Worker> {
        let (opening, runtime) = rack.opening().map_err(thrown)?;
        let timeouts = timeouts(lease.map(milliseconds)).map_err(thrown)?;
        let served: Vec<Served> = serde_json::from_str(&queues)
            .map_err(|error| thrown(Failure::invalid(error.to_string())))?;
        let mut registrations = Vec::with_capacity(served.len());
        for queue in served {
            let settings = Settings {
                concurrency: queue.concurrency,
                time_limit: milliseconds(queue.time_limit),
                stop_grace: milliseconds(stop_grace),
                duplicates: if queue.skips_duplicates {
                    Duplicates::ByData
                } else {
                    Duplicates::Run
                },
                weight: queue.weight,
                ..Settings::default()
            };
            registrations.push((QueueName::new(queue.queue).map_err(thrown)?, settings));
        }
        let lane = Arc::new(Lane::new(Wake::new(wake)?));
        let (stop, stopping) = watch::channel(false);
        let work = lane.clone();
        runtime.spawn(async move {
            // A runtime that is shut down drops this, and the loop is told.
            let mut ending = Ending { lane: work.clone(), result: Some(Err(Failure::closed())) };
            let parts = match opening.parts().await {
                Ok(parts) => parts,
                Err(failure) => return ending.result = Some(Err(failure)),
            };
            let mut worker =
                worker::Worker::new(&parts.hive).timeouts(timeouts).drain(milliseconds(drain));
            if let Some(shared) = shared_concurrency {
                worker = worker.shared_concurrency(shared as usize);
            }
            for (place, (queue, settings)) in registrations.into_iter().enumerate() {
                let lane = work.clone();
                worker =
                    worker.on(queue, settings, move |context| handle(lane.clone(), place, context));
            }
            let result = run_beside(&parts.hive, worker.run(stopped(stopping))).await;
            ending.result = Some(result.map_err(Failure::from));
        });
        Ok(Worker { lane, stop })
    }

    /// Tells the worker to finish its jobs and to take no more.
    #[napi]
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Hands back what became of jobs, and takes the next.
    #[napi]
    pub fn poll(&self, ended: String) -> napi::Result<String> {
        if !ended.is_empty() {
            self.settle(&ended).map_err(thrown)?;
        }
        let taken = self.lane.take(
            // Whoever waits for a job no more has told others so.
            |ticket| ticket.is_awaited(),
            |ticket, place| ticket.place.store(place.into(), Ordering::SeqCst),
        );
        Ok(told(&taken))
    }

    /// Adds a line to the log of the job at a place. Waits for nothing.
    #[napi]
    pub fn log(&self, place: u32, level: String, text: String) -> napi::Result<()> {
        let Some(ticket) = self.lane.at(place) else {
            return Err(thrown(Failure::new("conflict", "the job has ended")));
        };
        log(&ticket.context, &level, text).map_err(thrown)
    }

    /// Tells how far the job at a place is, with a message or without. The answer comes under the number.
    #[napi]
    pub fn report(
        &self,
        rack: &Rack,
        number: u32,
        place: u32,
        progress: String,
        message: Option<String>,
    ) {
        let reply = rack.reply(number);
        let Some(ticket) = self.lane.at(place) else {
            return reply.send(Err(Failure::new("conflict", "the job has ended")));
        };
        // Of a closed store, the reply that is dropped here says so.
        let Ok((_, handle)) = rack.opening() else { return };
        handle.spawn(async move {
            reply.send(match raw(progress) {
                Err(failure) => Err(failure),
                Ok(progress) => {
                    let reported = report(&ticket.context, progress, message).await;
                    reported.map(|()| "null".to_owned())
                }
            });
        });
    }
}

impl Worker {
    fn settle(&self, ended: &str) -> Result<(), Failure> {
        let Ended { completed, failed, canceled } = serde_json::from_str(ended)
            .map_err(|error| Failure::internal(format!("ended jobs: {error}")))?;
        let places = completed.iter().map(|(place, _)| *place);
        let places = places.chain(failed.iter().map(|(place, ..)| *place)).chain(canceled.clone());
        let mut tickets = self.lane.take_back(places).into_iter();
        let replies = completed.into_iter().map(|(_, result)| Reply::Completed(result.to_owned()));
        let replies =
            replies.chain(failed.into_iter().map(|(_, reason, next, delay)| {
                Reply::Failed(Next::named(&next).told(reason, delay))
            }));
        for reply in replies.chain(canceled.into_iter().map(|_| Reply::Canceled)) {
            if let Some(Some(ticket)) = tickets.next() {
                ticket.answer(reply);
            }
        }
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

async fn stopped(mut stopping: watch::Receiver<bool>) {
    // A worker that nobody has any more stops too.
    drop(stopping.wait_for(|stopping| *stopping).await);
}

/// Tells the loop how the worker ended, whatever ends it.
struct Ending {
    lane: Arc<Jobs>,
    result: Option<Result<(), Failure>>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(result) = self.result.take() {
            self.lane.end(result);
        }
    }
}

/// What the loop gets: jobs, places that should stop, and whether and why the worker has ended. A job is
/// its queue's number, place, id, attempt, retries, arguments, tags, tenant and parent.
fn told(taken: &Taken<Arc<Ticket>>) -> String {
    let mut text = String::from("[[");
    for (n, (place, ticket)) in taken.jobs.iter().enumerate() {
        let job = ticket.context.job();
        let comma = if n == 0 { "" } else { "," };
        let (queue, id) = (ticket.queue, to_json(&job.jid()));
        let (attempts, retries, data) = (job.attempts(), job.retries(), job.data());
        // Writing to a text cannot fail.
        let _ = write!(text, "{comma}[{queue},{place},{id},{attempts},{retries},{data}");
        let (tags, tenant, parent) = (job.tags(), job.tenant(), job.parent());
        if !tags.is_empty() || tenant.is_some() || parent.is_some() {
            let _ = write!(text, ",{},{},{}", to_json(&tags), to_json(&tenant), to_json(&parent));
        }
        text.push(']');
    }
    let end = match &taken.end {
        None => "null".to_owned(),
        Some(Ok(())) => "true".to_owned(),
        Some(Err(failure)) => to_json(failure),
    };
    let _ = write!(text, "],{},{end}]", to_json(&taken.stops));
    text
}
