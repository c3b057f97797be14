//! Reservations of a worker: handlers that take next to no time, and what happens to those among them that do not.

mod frozen;

use std::{
    collections::BTreeMap,
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use keyrack_jobs::bee::{
    Failure, Hive, Status, Submission,
    keys::{self, Jid, Tag, WorkerId},
    worker::{Context, Stop, Worker},
};
use keyrack_testkit::{on_every_store, wait_until_async};
use tokio::sync::{Notify, mpsc};

use super::bench::{Calls, Running, count, hive, queue, settings, wait_for_status};

const CONCURRENCY: usize = 4;
/// Far more than it takes to see a worker open a reservation.
const PATIENCE: Duration = Duration::from_secs(60);

/// The entries of the open reservations.
async fn open_reservations(hive: &Hive) -> Vec<String> {
    let key = keys::reserved(&queue(), &queue().group());
    let mut cmd = redis::cmd("HVALS");
    cmd.arg(&*hive.store().place(&key));
    cmd.query_async(&mut hive.store().connection()).await.expect("a reply")
}

/// A worker whose handlers end at once, except for the first job that comes in a reservation: that is for `odd`.
fn with_odd_one<R>(
    hive: &Hive,
    calls: &Calls,
    odd: impl Fn(Context) -> R + Send + Sync + 'static,
) -> Worker
where
    R: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let (calls, has_begun) = (calls.clone(), AtomicBool::new(false));
    Worker::new(hive).on(queue(), settings(CONCURRENCY), move |context| {
        calls.note(&context);
        let is_odd =
            context.job().reservation().is_some() && !has_begun.swap(true, Ordering::SeqCst);
        let odd = is_odd.then(|| odd(context));
        async move {
            match odd {
                Some(odd) => odd.await,
                None => Ok(()),
            }
        }
    })
}

/// Jobs without end, though never many at once: only a worker that is kept busy opens reservations.
struct Feed {
    hive: Hive,
    jids: Vec<Jid>,
}

impl Feed {
    fn new(hive: &Hive) -> Feed {
        Feed { hive: hive.clone(), jids: Vec::new() }
    }

    async fn submit(&mut self, n: usize) {
        let jobs = (0..n).map(|n| Submission::to(queue()).arg(n)).collect();
        let answers = self.hive.submit_many(jobs).await.expect("submitted");
        self.jids.extend(answers.into_iter().map(|jid| jid.expect("an id")));
    }

    /// Submits jobs until something happens.
    async fn until<T>(&mut self, event: impl Future<Output = Option<T>>) -> T {
        let mut event = pin!(event);
        let feeding = async {
            loop {
                if self.hive.stats(&queue()).await.expect("stats").queued < 500 {
                    self.submit(200).await;
                }
                tokio::select! {
                    value = &mut event => return value,
                    () = tokio::task::yield_now() => {}
                }
            }
        };
        let happened = tokio::time::timeout(PATIENCE, feeding).await;
        happened.expect("a worker that opens a reservation").expect("it was told")
    }

    /// Waits until nothing is left to do.
    async fn drained(&self) {
        wait_until_async("all jobs to end", async || {
            let stats = self.hive.stats(&queue()).await.expect("stats");
            stats.queued + stats.running == 0
        })
        .await;
    }

    /// Asserts that every job but one was completed once, and that nobody has any. A busy worker may have given jobs
    /// back that it did not get to.
    async fn check_all_completed(&self, but: Option<&Jid>) {
        self.drained().await;
        assert_eq!(open_reservations(&self.hive).await, Vec::<String>::new());
        for jid in self.jids.iter().filter(|jid| Some(*jid) != but) {
            let job = self.hive.job(jid).await.expect("the job");
            assert_eq!((job.status(), count(&job, "completed")), (Status::Completed, 1), "{jid}");
            let n_popped = count(&job, "released") + 1;
            assert_eq!((count(&job, "popped"), job.attempts()), (n_popped, n_popped as u64));
            assert_eq!((job.retries(), job.deaths()), (0, 0), "{jid}");
        }
    }
}

fn jid_of(context: &Context) -> Jid {
    context.job().id().expect("an id")
}

/// How often handlers were called for each job.
fn runs(calls: &Calls) -> BTreeMap<String, usize> {
    let mut runs = BTreeMap::new();
    calls.all().into_iter().for_each(|jid| *runs.entry(jid).or_default() += 1);
    runs
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_takes_its_time_among_instant_ones_is_seen_running() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let (tell, mut told) = mpsc::unbounded_channel();
        let may_end = Arc::new(Notify::new());
        let waits = Arc::clone(&may_end);
        let calls = Calls::default();
        let running = Running::start(with_odd_one(&hive, &calls, move |context| {
            let (tell, waits) = (tell.clone(), Arc::clone(&waits));
            async move {
                let _ = tell.send(context);
                waits.notified().await;
                Ok(())
            }
        }));
        let mut feed = Feed::new(&hive);
        let context = feed.until(told.recv()).await;
        let jid = jid_of(&context);
        let job = wait_for_status(&hive, &jid, Status::Running).await;
        assert_eq!((job.worker(), job.attempts()), (context.job().worker(), 1));
        let is_in_reservation = |entry: &String| entry.split(' ').any(|word| word == jid.as_str());
        assert!(!open_reservations(&hive).await.iter().any(is_in_reservation));
        may_end.notify_one();
        let job = wait_for_status(&hive, &jid, Status::Completed).await;
        assert_eq!((count(&job, "popped"), count(&job, "completed")), (1, 1));
        feed.check_all_completed(None).await;
        running.stop().await;
        assert!(runs(&calls).into_values().all(|runs| runs == 1));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_was_taken_in_a_reservation_is_stopped_when_it_is_cancelled() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let (tell, mut told) = mpsc::unbounded_channel();
        let running = Running::start(with_odd_one(&hive, &Calls::default(), move |context| {
            let tell = tell.clone();
            async move {
                let _ = tell.send((jid_of(&context), None));
                let reason = context.stopped().await;
                let _ = tell.send((jid_of(&context), Some(reason)));
                Err(Failure::new("stopped"))
            }
        }));
        let mut feed = Feed::new(&hive);
        let (jid, _) = feed.until(told.recv()).await;
        wait_for_status(&hive, &jid, Status::Running).await;
        hive.cancel(&jid).await.expect("canceled");
        let stopped = told.recv().await;
        assert_eq!(stopped, Some((jid.clone(), Some(Stop::Canceled))));
        feed.check_all_completed(Some(&jid)).await;
        running.stop().await;
        let job = hive.job(&jid).await.expect("the job");
        assert_eq!((job.status(), count(&job, "exception")), (Status::Canceled, 0));
    })
    .await;
}

/// Does something of which others learn, and returns what the store knew of the job after that.
async fn act(context: &Context, what: &str) -> Status {
    let hive = context.hive();
    match what {
        "progress" => context.progress(40).await.expect("told"),
        "submit" => {
            let child = Submission::new("children").expect("a queue");
            let child = context.submit(child).await.expect("submitted");
            let child = hive.job(&child).await.expect("the child");
            assert_eq!(child.parent(), Some(context.job().jid()));
        }
        _ => context.set_tags(&[Tag::new("red").expect("a tag")]).await.expect("tags"),
    }
    hive.job(&jid_of(context)).await.expect("the job").status()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_handler_does_to_its_job_shows_the_job_running_first() {
    for what in ["progress", "submit", "tags"] {
        let hive = hive("embedded:memory").await;
        let (tell, mut told) = mpsc::unbounded_channel();
        let running = Running::start(with_odd_one(&hive, &Calls::default(), move |context| {
            let tell = tell.clone();
            async move {
                let _ = tell.send((jid_of(&context), act(&context, what).await));
                Ok(())
            }
        }));
        let mut feed = Feed::new(&hive);
        let (jid, status) = feed.until(told.recv()).await;
        assert_eq!(status, Status::Running, "{what}");
        let job = wait_for_status(&hive, &jid, Status::Completed).await;
        assert_eq!(job.tags().len(), usize::from(what == "tags"));
        feed.check_all_completed(None).await;
        running.stop().await;
    }
}

/// All handlers at once wait until the store knows of their jobs.
#[tokio::test(flavor = "multi_thread")]
async fn handlers_that_all_report_at_once_all_go_on() {
    let hive = hive("embedded:memory").await;
    let (tell, mut told) = mpsc::unbounded_channel();
    let worker = Worker::new(&hive).on(queue(), settings(CONCURRENCY), move |context| {
        let tell = tell.clone();
        async move {
            if context.job().reservation().is_some() {
                context.progress(50).await?;
                let _ = tell.send(());
            }
            Ok(())
        }
    });
    let running = Running::start(worker);
    let mut feed = Feed::new(&hive);
    for _ in 0..CONCURRENCY {
        feed.until(told.recv()).await;
    }
    feed.check_all_completed(None).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_stops_with_open_reservations_loses_nothing() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let (mut feed, calls) = (Feed::new(&hive), Calls::default());
        for _ in 0..3 {
            let (tell, mut told) = mpsc::unbounded_channel();
            let running = Running::start(with_odd_one(&hive, &calls, move |_| {
                let _ = tell.send(());
                async { Ok(()) }
            }));
            feed.until(told.recv()).await;
            running.stop().await;
            assert_eq!(open_reservations(&hive).await, Vec::<String>::new());
            let stats = hive.stats(&queue()).await.expect("stats");
            let left = feed.jids.len() as u64 - calls.all().len() as u64;
            assert_eq!((stats.running, stats.queued, stats.workers.len()), (0, left, 0));
        }
        let running = Running::start(Worker::new(&hive).on(queue(), settings(1), calls.handler()));
        feed.drained().await;
        running.stop().await;
        assert_eq!(calls.all().len(), feed.jids.len());
        assert_eq!(runs(&calls).len(), feed.jids.len(), "each once");
        for jid in &feed.jids {
            let job = hive.job(jid).await.expect("the job");
            assert_eq!((job.status(), count(&job, "completed")), (Status::Completed, 1));
            assert_eq!((job.retries(), job.deaths()), (0, 0), "giving back costs nothing");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_does_not_end_in_time_is_given_back_by_a_worker_that_stops() {
    let hive = hive("embedded:memory").await;
    let (tell, mut told) = mpsc::unbounded_channel();
    let worker = with_odd_one(&hive, &Calls::default(), move |context| {
        let _ = tell.send(jid_of(&context));
        std::future::pending()
    });
    let running = Running::start(worker.drain(Duration::from_millis(50)));
    let mut feed = Feed::new(&hive);
    let jid = feed.until(told.recv()).await;
    running.stop().await;
    let job = hive.job(&jid).await.expect("the job");
    assert_eq!((job.status(), count(&job, "released"), job.retries()), (Status::Queued, 1, 0));
    assert_eq!(open_reservations(&hive).await, Vec::<String>::new());
    assert_eq!(hive.stats(&queue()).await.expect("stats").running, 0);
}

/// Runs a worker until it has a reservation, and drops it. True if the reservation is still open then.
async fn crash_in_reservation(feed: &mut Feed) -> bool {
    let hive = feed.hive.clone();
    let (tell, mut told) = mpsc::unbounded_channel();
    let worker = Worker::new(&hive).on(queue(), settings(CONCURRENCY), move |context| {
        let is_last = context.job().reservation().is_some();
        if is_last {
            let _ = tell.send(WorkerId::new(context.job().worker()).expect("a worker"));
        }
        async move {
            if is_last {
                std::future::pending::<()>().await;
            }
            Ok(())
        }
    });
    let doomed = Running::start(worker);
    let worker = feed.until(told.recv()).await;
    doomed.crash();
    wait_until_async("the worker to be gone", async || {
        !hive.is_listening(&queue(), &worker).await.expect("an answer")
    })
    .await;
    !open_reservations(&hive).await.is_empty()
}

/// On one thread, where the crash comes before the worker's next turn: a reservation is open for milliseconds only.
#[tokio::test]
async fn the_jobs_of_a_worker_that_crashed_with_an_open_reservation_go_to_another() {
    let hive = hive("embedded:memory").await;
    let mut feed = Feed::new(&hive);
    wait_until_async("a reservation that its worker left open", async || {
        crash_in_reservation(&mut feed).await
    })
    .await;
    let reservations = open_reservations(&hive).await;
    let in_reservations: Vec<Jid> = reservations
        .iter()
        .flat_map(|reservation| reservation.split_whitespace().skip(1))
        .map(|jid| jid.parse().expect("an id"))
        .collect();
    assert!(!in_reservations.is_empty());
    let calls = Calls::default();
    let running = Running::start(Worker::new(&hive).on(queue(), settings(1), calls.handler()));
    for jid in &in_reservations {
        let job = wait_for_status(&hive, jid, Status::Completed).await;
        assert_eq!((job.deaths(), count(&job, "expiredLock")), (1, 1));
    }
    feed.drained().await;
    running.stop().await;
    assert_eq!(open_reservations(&hive).await, Vec::<String>::new());
    for jid in &feed.jids {
        let job = hive.job(jid).await.expect("the job");
        assert_eq!((job.status(), count(&job, "completed")), (Status::Completed, 1));
    }
    assert!(runs(&calls).into_values().all(|runs| runs == 1));
}

const N_JOBS: usize = 5_000;

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_handle_every_instant_job_once() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let mut feed = Feed::new(&hive);
        feed.submit(N_JOBS).await;
        let calls = Calls::default();
        let workers = [(); 2].map(|()| {
            let worker = Worker::new(&hive).on(queue(), settings(CONCURRENCY), calls.handler());
            Running::start(worker)
        });
        feed.check_all_completed(None).await;
        for worker in workers {
            worker.stop().await;
        }
        assert_eq!((calls.all().len(), runs(&calls).len()), (N_JOBS, N_JOBS));
        let minutes = hive.stats(&queue()).await.expect("stats").minutes;
        let total: u64 = minutes.iter().map(|minute| minute.completed).sum();
        assert_eq!(total, N_JOBS as u64);
    })
    .await;
}
