//! Queues that share the places of one worker.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use keyrack_jobs::{
    Error,
    bee::{
        Hive, Submission,
        keys::QueueName,
        worker::{Context, Settings, Worker},
    },
};
use keyrack_testkit::wait_until_async;
use tokio::sync::Semaphore;

use super::bench::{Running, hive, settings};

const N_JOBS: usize = 60;

fn named(name: &str) -> QueueName {
    QueueName::new(name).expect("a queue")
}

async fn fill(hive: &Hive, queue: &str) {
    let jobs = (0..N_JOBS).map(|n| Submission::to(named(queue)).arg(n)).collect();
    hive.submit_many(jobs).await.expect("submitted");
}

/// The queues of the jobs that have begun, in order, of which each waits until it may end.
#[derive(Clone)]
struct Gate {
    begun: Arc<Mutex<Vec<String>>>,
    may_end: Arc<Semaphore>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Gate {
    fn closed() -> Gate {
        let (begun, may_end) = (Arc::default(), Arc::new(Semaphore::new(0)));
        Gate { begun, may_end, running: Arc::default(), most: Arc::default() }
    }

    async fn pass(&self, context: Context) -> Result<(), keyrack_jobs::bee::Failure> {
        self.begun.lock().expect("a lock").push(context.job().queue().to_owned());
        self.most.fetch_max(self.running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        self.may_end.acquire().await.expect("open").forget();
        self.running.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }

    fn n_begun(&self, queue: &str) -> usize {
        self.begun.lock().expect("a lock").iter().filter(|of| *of == queue).count()
    }
}

fn serve(worker: Worker, queue: &str, settings: Settings, gate: &Gate) -> Worker {
    let gate = gate.clone();
    worker.on(named(queue), settings, move |context| {
        let gate = gate.clone();
        async move { gate.pass(context).await }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_of_weight_3_starts_three_jobs_for_one_of_weight_1() {
    let hive = hive("embedded:memory").await;
    for queue in ["big", "small"] {
        fill(&hive, queue).await;
    }
    let gate = Gate::closed();
    let worker = Worker::new(&hive).shared_concurrency(2);
    let worker = serve(worker, "big", Settings { weight: 3, ..settings(2) }, &gate);
    let worker = serve(worker, "small", settings(2), &gate);
    let running = Running::start(worker);
    // Each end lets one job begin, so that no queue runs dry because its turns come too fast.
    for n in 0..60 {
        let begun = gate.begun.clone();
        wait_until_async("two more jobs", async || begun.lock().expect("a lock").len() >= n + 2)
            .await;
        gate.may_end.add_permits(1);
    }
    let begun = gate.begun.lock().expect("a lock").clone();
    // The queues do not hear at the same time that there are jobs.
    let later = &begun[20..60];
    let n_big = later.iter().filter(|queue| *queue == "big").count();
    assert!((28..=32).contains(&n_big), "{n_big} of {}: {begun:?}", later.len());
    assert_eq!(gate.most.load(Ordering::SeqCst), 2);
    gate.may_end.add_permits(1_000);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_queue_without_jobs_does_not_use_is_for_the_others() {
    let hive = hive("embedded:memory").await;
    fill(&hive, "small").await;
    let gate = Gate::closed();
    let worker = Worker::new(&hive).shared_concurrency(5);
    let worker = serve(worker, "big", Settings { weight: 100, ..settings(5) }, &gate);
    let worker = serve(worker, "small", settings(5), &gate);
    let running = Running::start(worker);
    wait_until_async("all places to be used", async || gate.n_begun("small") == 5).await;
    gate.may_end.add_permits(1_000);
    wait_until_async("all jobs to run", async || gate.n_begun("small") == N_JOBS).await;
    assert!(gate.most.load(Ordering::SeqCst) <= 5);
    // A queue that had no jobs is served when it has.
    fill(&hive, "big").await;
    wait_until_async("the others to run", async || gate.n_begun("big") == N_JOBS).await;
    running.stop().await;
}

#[tokio::test]
async fn weights_and_shared_places_out_of_range_are_refused() {
    let hive = hive("embedded:memory").await;
    let run = async |shared: usize, weight: u32| {
        let worker = Worker::new(&hive).shared_concurrency(shared);
        let worker = serve(worker, "q", Settings { weight, ..settings(1) }, &Gate::closed());
        worker.run(std::future::ready(())).await
    };
    for (shared, weight, expected) in [
        (1, 0, "weight: 0; give 1 to 100"),
        (1, 101, "weight: 101; give 1 to 100"),
        (0, 1, "shared_concurrency: 0; give at least 1"),
    ] {
        let error: Error = run(shared, weight).await.expect_err("out of range");
        assert_eq!(error.to_string(), expected);
    }
    run(1, 100).await.expect("in range");
}
