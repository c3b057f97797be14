use keyrack_testkit::on_every_store;

use super::*;
use crate::bee::{
    End, Failure, Submission, WorkerTimeouts,
    keys::Tenant,
    test_support::{NOW, completed, queue, simulated_hive},
};

#[tokio::test]
async fn every_place_of_a_job_is_counted() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let worker = hive.worker();
        let empty = hive.stats(&queue()).await.expect("stats");
        assert_eq!(empty, Stats { queue: "emails".into(), ..Stats::default() });

        let (first, _) = (hive.put("a").await, hive.put("b").await);
        hive.submit(Submission::to(queue()).delay_ms(60_000.0)).await.expect("submitted");
        hive.submit(Submission::to(queue()).after(first)).await.expect("submitted");
        let tenant = Tenant::new("ac:me").expect("a tenant");
        for _ in 0..3 {
            hive.submit(Submission::to(queue()).tenant(tenant.clone())).await.expect("submitted");
        }
        hive.put("c").await;
        let info = WorkerInfo {
            started_at: 7,
            concurrency: 3,
            lock_ms: 10_000,
            listens: false,
            isolates: false,
            stop_ms: None,
            version: None,
        };
        hive.heartbeat(&queue(), &worker, WorkerTimeouts::KEYRACK.lock, Some(&info))
            .await
            .expect("alive");
        let running = hive.take(&worker, 2).await;
        hive.end(&worker, &running[1], End::Failed(Failure::fatal("no"))).await;

        let stats = hive.stats(&queue()).await.expect("stats");
        let counts = (stats.queued, stats.delayed, stats.waiting, stats.parked, stats.tenants);
        assert_eq!(counts, (2, 1, 1, 2, 1));
        assert_eq!((stats.running, stats.ended, stats.failed), (1, 1, 1));
        assert!(stats.oldest_ms.is_some_and(|age| age < 60_000), "{stats:?}");
        assert!(stats.next_due_at.is_some_and(|at| at > hive.now_ms()), "{stats:?}");
        let [known] = &stats.workers[..] else { panic!("{stats:?}") };
        assert_eq!((known.worker.as_str(), known.running), (worker.as_str(), 1));
        assert_eq!(known.info, Some(info));
        let sum = |count: fn(&Minute) -> u64| stats.minutes.iter().map(count).sum::<u64>();
        let sums =
            (sum(|m| m.submitted), sum(|m| m.started), sum(|m| m.completed), sum(|m| m.failed));
        assert_eq!(sums, (8, 2, 0, 1));
    })
    .await;
}

#[tokio::test]
async fn minutes_of_the_last_hour_are_told_one_by_one() {
    let (hive, clock) = simulated_hive().await;
    let worker = hive.worker();
    hive.put("a").await;
    clock.advance_ms(MINUTE_MS);
    let job = hive.take(&worker, 1).await.remove(0);
    hive.end(&worker, &job, completed("1")).await;
    let first = NOW / MINUTE_MS * MINUTE_MS;
    let minutes = hive.stats(&queue()).await.expect("stats").minutes;
    let expected = [
        Minute { at: first, submitted: 1, ..Minute::default() },
        Minute { at: first + MINUTE_MS, started: 1, completed: 1, ..Minute::default() },
    ];
    assert_eq!(minutes, expected);
    clock.advance_ms(59 * MINUTE_MS);
    assert_eq!(hive.stats(&queue()).await.expect("stats").minutes, expected[1..]);
}

#[test]
fn counters_that_nobody_of_us_wrote_do_no_harm() {
    let counters = ["x", "7", "x:started", ":", "18446744073709551615:started", "29911823:odd"];
    let counters = counters.map(|field| (field.to_owned(), "1".to_owned()));
    let minutes = minutes_of(Minutes::new(&counters, &counters), NOW);
    assert!(minutes.iter().all(|minute| minute.submitted == 0), "{minutes:?}");
}

#[test]
fn why_takes_the_same_workers_for_alive() {
    let line = format!("local ALIVE_MS = {SILENT_MS}\n");
    assert!(include_str!("../why.lua").contains(&line), "not in why.lua: {line}");
}
