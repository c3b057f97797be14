use std::time::Duration;

use keyrack_store::Store;
use keyrack_testkit::{FaultProxy, RedisServer, on_every_store, wait_until_async};

use super::*;
use crate::bee::{
    Failure, keys,
    settle::End,
    test_support::{completed, queue},
};

/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn the_outcome_of_a_job_is_waited_for() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let worker = hive.worker();
        let ends = [
            (completed("7"), Status::Completed),
            (End::Failed(Failure::fatal("no")), Status::Failed),
        ];
        for (end, status) in ends {
            let jid = hive.put("a").await;
            assert_eq!(hive.outcome(&jid, Duration::ZERO).await.expect("looked"), None);
            let job = hive.take(&worker, 1).await.remove(0);
            let (outcome, ()) =
                tokio::join!(hive.outcome(&jid, PATIENCE), hive.end(&worker, &job, end));
            let outcome = outcome.expect("no error").expect("in time");
            assert_eq!((outcome.jid(), outcome.status()), (jid.as_str(), status));
            let again = hive.outcome(&jid, Duration::ZERO).await.expect("looked");
            assert_eq!(
                again.expect("has ended").status(),
                status,
                "an end that has come is told at once"
            );
        }
        let jid = hive.put("a").await;
        let cancel = async { hive.cancel(&jid).await.expect("canceled") };
        let (outcome, _) = tokio::join!(hive.outcome(&jid, PATIENCE), cancel);
        assert_eq!(outcome.expect("no error").expect("in time").status(), Status::Canceled);

        let nobody = Jid::new("nobody").expect("an id");
        let refused = hive.outcome(&nobody, PATIENCE).await;
        assert!(matches!(refused, Err(Error::NoSuchJob { .. })), "{refused:?}");
    })
    .await;
}

#[tokio::test]
async fn a_duplicate_ends_as_its_original_does() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let worker = hive.worker();
        let (first, second) = (hive.put("a").await, hive.put("a").await);
        let jobs = hive.take(&worker, 2).await;
        let waiting = hive.outcome(&second, PATIENCE);
        let running = async {
            for job in &jobs {
                let hash = keys::JobHash::new("same").expect("a hash");
                hive.check_duplicates(&queue(), &worker, &[(job, hash)]).await.expect("checked");
            }
            let original = jobs.iter().find(|job| job.jid() == first.as_str()).expect("the first");
            hive.end(&worker, original, completed("7")).await;
        };
        let (outcome, ()) = tokio::join!(waiting, running);
        let outcome = outcome.expect("no error").expect("in time");
        assert_eq!((outcome.jid(), outcome.result()), (first.as_str(), Some("7")));
        let again = hive.outcome(&second, Duration::ZERO).await.expect("looked").expect("ended");
        assert_eq!(again.jid(), first.as_str());
    })
    .await;
}

#[tokio::test]
async fn an_end_that_nobody_could_hear_is_found_after_the_gap() {
    let server = RedisServer::start();
    let proxy = FaultProxy::start(server.addr()).await;
    let near =
        Hive::open(Store::open(&server.url()).await.expect("a store")).await.expect("a hive");
    let far =
        Hive::open(Store::open(&proxy.redis_url()).await.expect("a store")).await.expect("a hive");
    let worker = near.worker();
    let jid = near.put("a").await;
    let job = near.take(&worker, 1).await.remove(0);

    let waiting = tokio::spawn(async move { far.outcome(&jid, PATIENCE).await });
    let channel = keys::queue_events(&queue(), &queue().group());
    wait_until_async("the other side to listen", async || {
        near.store().publish(&channel, "").await.expect("published") > 0
    })
    .await;
    proxy.refuse(true).await;
    proxy.cut();
    near.end(&worker, &job, completed("7")).await;
    proxy.refuse(false).await;
    let outcome = waiting.await.expect("no panic").expect("no error").expect("in time");
    assert_eq!(outcome.result(), Some("7"));
}

#[tokio::test]
async fn all_who_wait_at_a_queue_share_one_subscription() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let worker = hive.worker();
        let mut jids = Vec::new();
        for _ in 0..200 {
            jids.push(hive.put("a").await);
        }
        let jobs = hive.take(&worker, 200).await;
        assert_eq!(jobs.len(), 200);
        let (waiting, its) = (hive.clone(), jids.clone());
        let twice: Vec<Jid> = its.iter().chain(&its).cloned().collect();
        let waiting = tokio::spawn(async move { waiting.outcomes(twice, PATIENCE).await });
        let counts = || {
            let queues = hive.ends().queues.lock();
            let standing: Vec<_> = queues.values().filter_map(Weak::upgrade).collect();
            let listeners = |ends: &Arc<QueueEnds>| {
                ends.listeners.state.lock().by_jid.values().map(Vec::len).sum::<usize>()
            };
            (standing.len(), standing.iter().map(listeners).sum::<usize>())
        };
        wait_until_async("all to listen", async || counts() == (1, 400)).await;
        for (n, job) in jobs.iter().enumerate() {
            hive.end(&worker, job, completed(&n.to_string())).await;
        }
        let outcomes = waiting.await.expect("no panic");
        for (jid, outcome) in its.iter().chain(&its).zip(&outcomes) {
            let job = outcome.as_ref().expect("no error").as_ref().expect("in time");
            assert_eq!((job.jid(), job.status()), (jid.as_str(), Status::Completed));
        }
        assert_eq!(counts(), (0, 0), "nobody waits, nobody listens");
    })
    .await;
}

#[tokio::test]
async fn some_outcomes_are_there_and_some_are_not() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let worker = hive.worker();
        let (done, waits) = (hive.put("a").await, hive.put("b").await);
        let jobs = hive.take(&worker, 2).await;
        let first = jobs.iter().find(|job| job.jid() == done.as_str()).expect("the first");
        hive.end(&worker, first, completed("7")).await;
        let nobody = Jid::new("nobody").expect("an id");
        let jids = [waits, nobody, done.clone()];
        let outcomes = hive.outcomes(jids.into(), Duration::from_millis(20)).await;
        assert!(matches!(outcomes[0], Ok(None)), "{outcomes:?}");
        assert!(matches!(outcomes[1], Err(Error::NoSuchJob { .. })), "{outcomes:?}");
        let ended = outcomes[2].as_ref().expect("no error").as_ref().expect("has ended");
        assert_eq!((ended.jid(), ended.result()), (done.as_str(), Some("7")));
        assert_eq!(hive.outcomes(Vec::new(), PATIENCE).await.len(), 0);
    })
    .await;
}
