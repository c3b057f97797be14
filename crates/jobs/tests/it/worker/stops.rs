//! Workers that stop, crash or fall silent, and jobs that are canceled under them.

use std::{sync::Arc, time::Duration};

use keyrack_jobs::bee::{
    Failure, Hive, Status, Verdict, WorkerTimeouts, keys,
    worker::{Stop, Worker},
};
use keyrack_store::Store;
use keyrack_testkit::{FaultProxy, RedisServer, on_every_store};
use tokio::{
    sync::{Notify, mpsc},
    time::timeout,
};

use super::bench::{Calls, Running, count, hive, queue, settings, submit, wait_for_status};

/// A worker whose handlers tell why they were stopped.
fn obedient(hive: &Hive) -> (Worker, mpsc::UnboundedReceiver<Option<Stop>>) {
    let (tell, told) = mpsc::unbounded_channel();
    let worker = Worker::new(hive).on(queue(), settings(2), move |context| {
        let tell = tell.clone();
        async move {
            let _ = tell.send(None);
            let reason = context.stopped().await;
            let _ = tell.send(Some(reason));
            Err::<(), _>(Failure::new("stopped"))
        }
    });
    (worker, told)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_canceled_job_stops_its_handler_on_another_hive() {
    on_every_store(async |store| {
        let ours = Hive::open(store.clone()).await.expect("a hive");
        let theirs = Hive::open(store).await.expect("a hive");
        let (worker, mut told) = obedient(&theirs);
        let running = Running::start(worker);
        let jid = submit(&ours, 1).await;
        assert_eq!(told.recv().await, Some(None), "the handler began");
        ours.cancel(&jid).await.expect("canceled");
        assert_eq!(told.recv().await, Some(Some(Stop::Canceled)));
        running.stop().await;
        let job = ours.job(&jid).await.expect("the job");
        assert_eq!((job.status(), count(&job, "exception")), (Status::Canceled, 0));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_stops_finishes_what_it_can_and_gives_back_the_rest() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (begins, goes) = (Arc::clone(&begun), Arc::clone(&go));
        let worker = Worker::new(&hive).drain(Duration::from_millis(300)).on(
            queue(),
            settings(2),
            move |context| {
                let (begun, go) = (Arc::clone(&begins), Arc::clone(&goes));
                async move {
                    begun.notify_one();
                    if context.job().args()[0] == 1 {
                        std::future::pending::<()>().await;
                    }
                    go.notified().await;
                    Ok(())
                }
            },
        );
        let running = Running::start(worker);
        let (stuck, quick) = (submit(&hive, 1).await, submit(&hive, 2).await);
        begun.notified().await;
        wait_for_status(&hive, &quick, Status::Running).await;
        let stopping = tokio::spawn(running.stop());
        go.notify_one();
        stopping.await.expect("stopped");
        assert_eq!(hive.job(&quick).await.expect("the job").status(), Status::Completed);
        let job = hive.job(&stuck).await.expect("the job");
        assert_eq!((job.status(), job.retries(), count(&job, "released")), (Status::Queued, 0, 1));
        // The next worker has it at once.
        let calls = Calls::default();
        let running = Running::start(Worker::new(&hive).on(queue(), settings(1), calls.handler()));
        wait_for_status(&hive, &stuck, Status::Completed).await;
        running.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_jobs_of_a_worker_whose_connection_closed_go_to_another() {
    let server = RedisServer::start();
    let proxy = FaultProxy::start(server.addr()).await;
    let (worker, mut told) = obedient(&hive(&proxy.redis_url()).await);
    let doomed = Running::start(worker);
    let ours = hive(&server.url()).await;
    let jid = submit(&ours, 1).await;
    assert_eq!(told.recv().await, Some(None), "the handler began");
    proxy.refuse(true).await;
    proxy.cut();
    let calls = Calls::default();
    let running = Running::start(Worker::new(&ours).on(queue(), settings(1), calls.handler()));
    let began = std::time::Instant::now();
    let job = wait_for_status(&ours, &jid, Status::Completed).await;
    // Long before its lock would have expired.
    assert!(began.elapsed() < WorkerTimeouts::KEYRACK.lock, "{:?}", began.elapsed());
    assert_eq!((job.deaths(), count(&job, "expiredLock"), count(&job, "completed")), (1, 1, 1));
    // Back again, the first worker learns that the job is not its own any more.
    proxy.refuse(false).await;
    assert_eq!(told.recv().await, Some(Some(Stop::Lost)));
    doomed.stop().await;
    running.stop().await;
    let job = ours.job(&jid).await.expect("the job");
    assert_eq!((job.status(), count(&job, "exception")), (Status::Completed, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_jobs_of_a_worker_that_fell_silent_go_to_another_within_fifteen_seconds() {
    let server = RedisServer::start();
    let ours = hive(&server.url()).await;
    // Its connection stays open, so only its missing heartbeats tell.
    let silent = ours.new_worker(&queue()).expect("a worker");
    let jid = submit(&ours, 1).await;
    let claimed =
        ours.claim(&queue(), &silent, 1, WorkerTimeouts::KEYRACK.lock).await.expect("claimed");
    assert_eq!(claimed.jobs.len(), 1);
    let calls = Calls::default();
    let running = Running::start(Worker::new(&ours).on(queue(), settings(1), calls.handler()));
    let began = std::time::Instant::now();
    loop {
        if ours.job(&jid).await.expect("the job").status() == Status::Completed {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(15), "the job still waits");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_crashed_in_this_process_loses_its_jobs_too() {
    let store = Store::open("embedded:memory").await.expect("a store");
    let hive = Hive::open(store).await.expect("a hive");
    let (worker, mut told) = obedient(&hive);
    let doomed = Running::start(worker);
    let jid = submit(&hive, 1).await;
    assert_eq!(told.recv().await, Some(None), "the handler began");
    doomed.crash();
    let calls = Calls::default();
    let running = Running::start(Worker::new(&hive).on(queue(), settings(1), calls.handler()));
    let job = wait_for_status(&hive, &jid, Status::Completed).await;
    assert_eq!(job.deaths(), 1);
    running.stop().await;
}

/// Node publishes a canceled job in its queue, and knows nothing of the channel of a worker.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_with_nodes_timings_hears_what_node_cancels() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let (worker, mut told) = obedient(&hive);
        let running = Running::start(worker.timeouts(WorkerTimeouts::BEE));
        let jid = submit(&hive, 1).await;
        assert_eq!(told.recv().await, Some(None), "the handler began");
        let job = hive.job(&jid).await.expect("the job");
        let message = |worker: &str| {
            let job = serde_json::json!({"jid": jid.as_str(), "worker": worker, "status": "canceled"});
            serde_json::json!({"job": job, "jid": jid.as_str(), "queue": "emails", "type": "canceled"})
        };
        let channel = keys::queue_events(&queue(), &queue().group());
        let publish = async |worker: &str| {
            hive.store().publish(&channel, message(worker).to_string()).await.expect("published");
        };
        publish("host:1:another:emails").await;
        // The worker begins to listen beside its first job, so the message may have to be repeated.
        let stopped = loop {
            publish(job.worker()).await;
            if let Ok(stopped) = timeout(Duration::from_millis(50), told.recv()).await {
                break stopped;
            }
        };
        assert_eq!(stopped, Some(Some(Stop::Canceled)));
        running.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_learns_of_a_shutdown_before_its_time_is_over() {
    let hive = hive("embedded:memory").await;
    let (begun, mut has_begun) = mpsc::unbounded_channel();
    let worker = Worker::new(&hive).on(queue(), settings(1), move |context| {
        let begun = begun.clone();
        async move {
            let _ = begun.send(context.is_shutting_down());
            context.shutting_down().await;
            assert_eq!(context.stop_reason(), None, "it may go on for the drain time");
            Ok("in good order")
        }
    });
    let running = Running::start(worker);
    let jid = submit(&hive, 1).await;
    assert_eq!(has_begun.recv().await, Some(false));
    running.stop().await;
    let job = hive.job(&jid).await.expect("the job");
    assert_eq!(job.result(), Some("\"in good order\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_handlers_for_one_queue_are_refused() {
    let hive = hive("embedded:memory").await;
    let calls = Calls::default();
    let worker = Worker::new(&hive).on(queue(), settings(1), calls.handler()).on(
        queue(),
        settings(2),
        calls.handler(),
    );
    let refused = worker.run(std::future::ready(())).await;
    assert!(refused.expect_err("one would starve").to_string().contains("has two handlers"));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_is_told_whether_an_end_counts() {
    let hive = hive("embedded:memory").await;
    let (go, goes) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begins, goes_on) = (Arc::clone(&goes), Arc::clone(&go));
    let (tell, mut told) = mpsc::unbounded_channel();
    let worker = Worker::new(&hive)
        .on(queue(), settings(1), move |_| {
            let (begins, goes_on) = (Arc::clone(&begins), Arc::clone(&goes_on));
            async move {
                begins.notify_one();
                goes_on.notified().await;
                Ok(())
            }
        })
        .on_settled(Arc::new(move |outcome, verdict| {
            let _ = tell.send((outcome.jid.clone(), verdict));
        }));
    let running = Running::start(worker);
    for verdict in [Verdict::Ok, Verdict::Canceled] {
        let jid = submit(&hive, 1).await;
        goes.notified().await;
        if verdict == Verdict::Canceled {
            hive.cancel(&jid).await.expect("canceled");
        }
        go.notify_one();
        assert_eq!(told.recv().await, Some((jid.to_string(), verdict)));
    }
    running.stop().await;
}
