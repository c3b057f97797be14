//! Jobs survive `kill -9`: of the server that stores them, and of the workers that run them.

mod times;

use std::{
    collections::HashMap,
    process::Stdio,
    sync::{Arc, Mutex},
    time::Duration,
};

use keyrack_jobs::bee::{
    Hive, Job, Status, Submission,
    keys::{Jid, QueueName},
    worker::{Settings, Worker},
};
use keyrack_store::Store;
use keyrack_testkit::{Port, Process, RedisServer, wait_until_async};
use tempfile::TempDir;

use crate::program::keyrack;

const KILLS: usize = 50;

fn queue() -> QueueName {
    QueueName::new("emails").expect("a queue")
}

async fn open(url: &str) -> Hive {
    let mut hive = None;
    wait_until_async("the store to open", async || {
        if let Ok(store) = Store::open(url).await {
            hive = Hive::open(store).await.ok();
        }
        hive.is_some()
    })
    .await;
    hive.expect("waited for it")
}

fn plain(n: u64) -> Submission {
    Submission::to(queue()).arg(n)
}

fn count(job: &Job, event: &str) -> usize {
    job.history().iter().filter(|entry| entry.event == event).count()
}

/// When the job was completed, if it is.
fn completed_at(job: &Job) -> Option<f64> {
    let history = job.history();
    let end = history.iter().find(|entry| entry.event == "completed")?;
    (job.status() == Status::Completed).then_some(end.timestamp)
}

/// Submits jobs until told to stop; returns those that were acknowledged. The jobs are numbered.
fn load(
    hive: &Hive,
    every: Duration,
    job: fn(u64) -> Submission,
) -> (tokio::sync::oneshot::Sender<()>, tokio::task::JoinHandle<Vec<Jid>>) {
    let hive = hive.clone();
    let (stop, mut stopped) = tokio::sync::oneshot::channel();
    let submitting = tokio::spawn(async move {
        let (mut jids, mut numbers) = (Vec::new(), 0..);
        while stopped.try_recv().is_err() {
            let jobs = numbers.by_ref().take(5).map(job).collect();
            if let Ok(answers) = hive.submit_many(jobs).await {
                jids.extend(answers.into_iter().filter_map(Result::ok));
            }
            tokio::time::sleep(every).await;
        }
        jids
    });
    (stop, submitting)
}

/// Waits until every job has ended, and checks that each did so once.
async fn check_ends(hive: &Hive, jids: &[Jid]) {
    for jid in jids {
        let mut job = None;
        wait_until_async("every job to end", async || {
            job = hive.job(jid).await.ok();
            job.as_ref().is_some_and(|job| job.status().is_final())
        })
        .await;
        let job = job.expect("an acknowledged job is never lost");
        let ends = count(&job, "completed") + count(&job, "failed");
        assert_eq!(ends, 1, "{jid} ended {ends} times: {:?}", job.history());
    }
}

fn serve(dir: &TempDir, port: &Port) -> Process {
    let mut command = keyrack(dir.path());
    let resp = format!("127.0.0.1:{}", port.number());
    command.args(["serve", "--http", "127.0.0.1:0", "--resp", &resp]).stderr(Stdio::null());
    Process::spawn("keyrack serve", command)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_fifty_times_loses_nothing_it_acknowledged() {
    let (dir, port) = (TempDir::new().expect("a folder"), Port::lease());
    let mut server = serve(&dir, &port);
    let hive = open(&format!("redis://127.0.0.1:{}", port.number())).await;
    let ended = Arc::new(Mutex::new(Vec::new()));
    let ends = Arc::clone(&ended);
    let worker = Worker::new(&hive).on(queue(), Settings::default(), move |context| {
        ends.lock().expect("not poisoned").push(context.job().jid().to_owned());
        std::future::ready(Ok(()))
    });
    let (stop_worker, worker_stopped) = tokio::sync::oneshot::channel::<()>();
    let working = tokio::spawn(worker.run(async {
        let _ = worker_stopped.await;
    }));
    let (stop_load, submitting) = load(&hive, Duration::from_millis(1), plain);

    let mut seen_completed = HashMap::new();
    for round in 0..KILLS {
        let before = ended.lock().expect("not poisoned").len();
        wait_until_async("jobs to be run", async || {
            ended.lock().expect("not poisoned").len() > before + 20
        })
        .await;
        // What somebody has been told is completed must still be so later.
        let latest: Vec<String> =
            ended.lock().expect("not poisoned").iter().rev().take(50).cloned().collect();
        for jid in latest {
            let jid: Jid = jid.parse().expect("an id");
            if let Some(at) = hive.job(&jid).await.ok().as_ref().and_then(completed_at) {
                seen_completed.insert(jid, at);
            }
        }
        server.kill();
        server = serve(&dir, &port);
        assert!(server.exit_status().is_none(), "the server did not start again in round {round}");
    }
    let _ = stop_load.send(());
    let jids = submitting.await.expect("the load");
    check_ends(&hive, &jids).await;
    assert!(jids.len() > KILLS * 20 && seen_completed.len() > KILLS, "{} jobs", jids.len());
    for (jid, at) in &seen_completed {
        let job = hive.job(jid).await.expect("a completed job");
        assert_eq!(completed_at(&job), Some(*at), "{jid} was completed a second time");
    }
    let _ = stop_worker.send(());
    working.await.expect("no panic").expect("the worker ran");
}

fn work(dir: &TempDir, url: &str) -> Process {
    let mut command = keyrack(dir.path());
    command.args([
        "--store",
        url,
        "work",
        "emails",
        "--concurrency",
        "10",
        "--exec",
        "cat >/dev/null",
    ]);
    command.stderr(Stdio::null()).stdout(Stdio::null());
    Process::spawn("keyrack work", command)
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_end_once_though_their_workers_are_killed_fifty_times() {
    let (dir, server) = (TempDir::new().expect("a folder"), RedisServer::start());
    let hive = open(&server.url()).await;
    let (stop_load, submitting) = load(&hive, Duration::from_millis(20), plain);
    let mut workers = [work(&dir, &server.url()), work(&dir, &server.url())];
    for round in 0..KILLS {
        let victim = round % workers.len();
        let running = keyrack_jobs::bee::keys::locks(&queue(), &queue().group());
        wait_until_async("jobs to run", async || {
            let mut cmd = redis::cmd("ZCARD");
            cmd.arg(running.name());
            cmd.query_async::<usize>(&mut hive.store().connection()).await.is_ok_and(|n| n > 0)
        })
        .await;
        workers[victim].kill();
        workers[victim] = work(&dir, &server.url());
    }
    let _ = stop_load.send(());
    let jids = submitting.await.expect("the load");
    check_ends(&hive, &jids).await;
    for worker in &mut workers {
        assert!(worker.terminate().success(), "a worker that is told to stop ends well");
    }
}
