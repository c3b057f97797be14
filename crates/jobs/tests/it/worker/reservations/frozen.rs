//! A worker that stands still while it has a reservation, so that the reservation stays open for as long as a test looks at it.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc as blocking,
    },
    thread::{self, JoinHandle},
};

use keyrack_jobs::bee::{
    Failure, Hive, Status, WorkerTimeouts,
    keys::{Jid, WorkerId},
    worker::{Context, Stop, Worker},
};
use keyrack_testkit::RedisServer;
use tokio::{
    runtime,
    sync::{mpsc, oneshot},
};

use super::{
    super::bench::{Calls, Running, count, hive, queue, settings, wait_for_status},
    Feed, jid_of, open_reservations, runs,
};

/// A worker on a thread of its own, which stands still whenever it begins with a job of a reservation. When it was found so with
/// its reservation open, that job's handler waits until it is stopped; all others end at once.
struct Frozen {
    thread: JoinHandle<()>,
    thaw: blocking::Sender<bool>,
    stop: oneshot::Sender<()>,
    calls: Calls,
    contexts: mpsc::UnboundedReceiver<Context>,
    stopped: mpsc::UnboundedReceiver<Stop>,
}

impl Frozen {
    fn start(url: String) -> Frozen {
        let (thaw, thawed) = blocking::channel();
        let (stop, stopping) = oneshot::channel::<()>();
        let (tell, contexts) = mpsc::unbounded_channel();
        let (tell_reason, stopped) = mpsc::unbounded_channel();
        let calls = Calls::default();
        let (thawed, noted, was_found) =
            (Mutex::new(thawed), calls.clone(), AtomicBool::new(false));
        let handler = move |context: Context| {
            noted.note(&context);
            let mut is_found = false;
            if context.job().reservation().is_some() && !was_found.load(Ordering::SeqCst) {
                let _ = tell.send(context.clone());
                // This holds the only thread that the worker has.
                is_found = thawed.lock().expect("not poisoned").recv().expect("an answer");
                was_found.store(is_found, Ordering::SeqCst);
            }
            let tell_reason = tell_reason.clone();
            async move {
                if !is_found {
                    return Ok(());
                }
                let _ = tell_reason.send(context.stopped().await);
                Err(Failure::new("stopped"))
            }
        };
        let work = async move {
            let worker = Worker::new(&hive(&url).await).on(queue(), settings(4), handler);
            let shutdown = async {
                let _ = stopping.await;
            };
            worker.run(shutdown).await.expect("a worker that runs");
        };
        let thread = thread::spawn(|| {
            let runtime = runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(work);
        });
        Frozen { thread, thaw, stop, calls, contexts, stopped }
    }

    /// Feeds it until it stands still with an open reservation. Returns a job in it, which has begun for nobody else.
    async fn freeze(&mut self, feed: &mut Feed) -> Context {
        loop {
            let context = feed.until(self.contexts.recv()).await;
            if is_in_reservation(&feed.hive, &jid_of(&context)).await {
                return context;
            }
            // It was slow, and has told of the reservation before the handler came to its turn.
            self.thaw.send(false).expect("it waits");
        }
    }

    /// Lets it go on. Returns why it stopped the job.
    async fn thaw(&mut self) -> Option<Stop> {
        self.thaw.send(true).expect("it waits");
        self.stopped.recv().await
    }

    fn stop(self) {
        let _ = self.stop.send(());
        self.thread.join().expect("the worker did not panic");
    }
}

async fn is_in_reservation(hive: &Hive, jid: &Jid) -> bool {
    let reservations = open_reservations(hive).await;
    reservations
        .iter()
        .any(|reservation| reservation.split_whitespace().any(|word| word == jid.as_str()))
}

/// What is in an open reservation is no secret.
async fn check_is_taken(hive: &Hive, jid: &Jid) {
    assert_eq!(hive.job(jid).await.expect("the job").status(), Status::Queued);
    let why = hive.why(jid).await.expect("an answer");
    assert_eq!(why.explanation, "a worker has taken it a moment ago");
    let stats = hive.stats(&queue()).await.expect("stats");
    assert!(stats.running >= 1 && stats.workers[0].running == stats.running, "{stats:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_cancelled_while_its_reservation_is_open_is_told_so() {
    let server = RedisServer::start();
    let ours = hive(&server.url()).await;
    let mut frozen = Frozen::start(server.url());
    let mut feed = Feed::new(&ours);
    let jid = jid_of(&frozen.freeze(&mut feed).await);
    check_is_taken(&ours, &jid).await;
    ours.cancel(&jid).await.expect("canceled");
    assert_eq!(frozen.thaw().await, Some(Stop::Canceled));
    feed.check_all_completed(Some(&jid)).await;
    let job = ours.job(&jid).await.expect("the job");
    assert_eq!((job.status(), count(&job, "popped")), (Status::Canceled, 0));
    assert!(runs(&frozen.calls).into_values().all(|runs| runs == 1));
    frozen.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_comes_back_too_late_changes_nothing() {
    let server = RedisServer::start();
    let ours = hive(&server.url()).await;
    let mut frozen = Frozen::start(server.url());
    let mut feed = Feed::new(&ours);
    let context = frozen.freeze(&mut feed).await;
    let jid = jid_of(&context);
    check_is_taken(&ours, &jid).await;
    let gone = WorkerId::new(context.job().worker()).expect("a worker");
    ours.sweep(&queue(), &WorkerTimeouts::default(), "", &[gone]).await.expect("swept");
    assert_eq!(open_reservations(&ours).await, Vec::<String>::new());
    let calls = Calls::default();
    let running = Running::start(Worker::new(&ours).on(queue(), settings(4), calls.handler()));
    let job = wait_for_status(&ours, &jid, Status::Completed).await;
    assert_eq!((job.attempts(), job.deaths()), (2, 1));
    let before = job.history();
    assert_eq!(frozen.thaw().await, Some(Stop::Lost));
    feed.drained().await;
    running.stop().await;
    frozen.stop();
    assert_eq!(ours.job(&jid).await.expect("the job").history(), before);
    for jid in &feed.jids {
        let job = ours.job(jid).await.expect("the job");
        assert_eq!((job.status(), count(&job, "completed")), (Status::Completed, 1), "{jid}");
    }
    assert_eq!(open_reservations(&ours).await, Vec::<String>::new());
}
