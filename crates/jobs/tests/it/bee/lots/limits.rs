//! How much goes into a lot, and when there is none.

use keyrack_jobs::bee::{
    Blocked, Limits, Rate, Verdict,
    keys::{self, Tenant},
};

use super::{
    super::rig::{Rig, everywhere, jid},
    ask, complete_all, ids, lot_name, open_lots, put_many, quick, take,
};

#[tokio::test]
async fn limits_come_before_lots() {
    everywhere(async |rig| {
        a_queue_with_a_limit_gives_claims(&rig.on("q1")).await;
        a_queue_with_tenants_gives_claims(&rig.on("q2")).await;
        a_paused_queue_gives_nothing_and_takes_back_what_is_out(&rig.on("q3")).await;
        no_lot_is_more_than_a_share(&rig.on("q4")).await;
    })
    .await;
}

async fn limit(rig: &Rig, limits: Limits) {
    rig.hive.set_limits(&rig.queue, &limits).await.expect("limits");
}

async fn a_queue_with_a_limit_gives_claims(rig: &Rig) {
    let limits = [
        Limits { concurrency: Some(2), ..Limits::default() },
        Limits { rate: Some(Rate { max: 2, per_ms: 60_000 }), ..Limits::default() },
    ];
    for (round, limits) in limits.into_iter().enumerate() {
        let names = ["a", "b", "c"].map(|name| format!("{name}{round}"));
        put_many(rig, &names.each_ref().map(String::as_str)).await;
        let why = if limits.rate.is_some() { Blocked::Rate } else { Blocked::Concurrency };
        limit(rig, limits).await;
        let settled = ask(rig, 1, 10).await;
        assert_eq!((settled.reserved.len(), settled.claimed.blocked), (0, Some(why)));
        assert_eq!(ids(&settled.claimed.jobs), names[..2]);
        assert!(!rig.exists(&rig.of_queue(keys::reserved)).await);
        for job in &settled.claimed.jobs {
            assert_eq!((job.lot(), rig.settle(job, quick("1")).await), (None, Verdict::Ok));
        }
        limit(rig, Limits::default()).await;
        let jobs = take(rig, 1, 10).await;
        assert_eq!(ids(&jobs), names[2..], "without a limit it is a lot");
        assert_eq!(complete_all(rig, 1, &jobs).await, [Verdict::Ok]);
    }
}

async fn a_queue_with_tenants_gives_claims(rig: &Rig) {
    limit(rig, Limits { tenant_concurrency: Some(1), ..Limits::default() }).await;
    rig.put("before").await;
    let before = take(rig, 1, 10).await;
    assert_eq!(ids(&before), ["before"], "a limit for tenants is none for others");
    let acme = Tenant::new("acme").expect("a tenant");
    for id in ["t1", "t2"] {
        rig.submit(rig.job().id(jid(id)).tenant(acme.clone())).await;
    }
    rig.put("nobodys").await;
    assert_eq!(complete_all(rig, 1, &before).await, [Verdict::Ok]);
    let settled = ask(rig, 2, 10).await;
    assert_eq!(settled.reserved, Vec::<String>::new());
    assert_eq!(ids(&settled.claimed.jobs), ["nobodys", "t1"]);
    for job in &settled.claimed.jobs {
        assert_eq!(rig.settle(job, quick("1")).await, Verdict::Ok);
    }
    let last = ask(rig, 3, 10).await.claimed.jobs;
    assert_eq!(rig.settle(&last[0], quick("1")).await, Verdict::Ok);
    rig.put("after").await;
    assert_eq!(ids(&take(rig, 4, 10).await), ["after"], "when no tenant is left");
}

async fn a_paused_queue_gives_nothing_and_takes_back_what_is_out(rig: &Rig) {
    put_many(rig, &["a3", "b3"]).await;
    let jobs = take(rig, 1, 1).await;
    rig.hive.pause(&rig.queue).await.expect("paused");
    let settled = ask(rig, 2, 10).await;
    assert_eq!((settled.reserved.len(), settled.claimed.blocked), (0, Some(Blocked::Paused)));
    assert_eq!(settled.claimed.jobs, []);
    assert_eq!(ask(rig, 1, 10).await.reserved, ["a3"], "it has it already");
    assert_eq!(complete_all(rig, 1, &jobs).await, [Verdict::Ok]);
    rig.hive.resume(&rig.queue).await.expect("resumed");
    assert_eq!(ids(&take(rig, 2, 10).await), ["b3"]);
}

async fn no_lot_is_more_than_a_share(rig: &Rig) {
    let other = rig.with_worker("w2");
    for worker in [rig, &other] {
        worker.heartbeat().await;
    }
    put_many(rig, &["a4", "b4", "c4", "d4"]).await;
    let settled = ask(rig, 1, 10).await;
    assert_eq!((settled.reserved.len(), settled.claimed.blocked), (2, Some(Blocked::Share)));
    assert_eq!(settled.claimed.again_at, Some(rig.now() + 250));
    assert_eq!(ask(&other, 1, 10).await.reserved, ["c4"], "of what is left");
}

#[tokio::test]
async fn asking_again_with_the_same_number_brings_the_same_jobs() {
    everywhere(async |rig| {
        put_many(&rig, &["a", "b", "c", "d"]).await;
        let first = ask(&rig, 1, 2).await;
        assert_eq!(first.reserved, ["a", "b"]);
        rig.clock.advance_ms(5);
        assert_eq!(ask(&rig, 1, 10).await.reserved, first.reserved);
        assert_eq!(rig.hive.stats(&rig.queue).await.expect("stats").minutes[0].started, 2);
        let other = rig.with_worker("w2");
        assert_eq!(ask(&other, 1, 1).await.reserved, ["c"], "the numbers are a worker's own");
        assert_eq!(ask(&rig, 2, 10).await.reserved, ["d"]);
        let lots = open_lots(&rig).await;
        let lot = |rig: &Rig, number| lots[&lot_name(rig, number)].join(" ");
        assert_eq!([lot(&rig, 1), lot(&rig, 2), lot(&other, 1)], ["a b", "d", "c"]);
        // An empty lot is none, so whoever asks again may get one.
        assert_eq!(ask(&rig, 3, 10).await.reserved, Vec::<String>::new());
        rig.put("e").await;
        assert_eq!(ask(&rig, 3, 10).await.reserved, ["e"]);
    })
    .await;
}

#[tokio::test]
async fn a_large_lot_is_several() {
    everywhere(async |rig| {
        let jobs = (0..1_500).map(|n| rig.job().id(jid(&format!("l{n:04}")))).collect();
        rig.hive.submit_many(jobs).await.expect("submitted");
        let lots = [take(&rig, 1, 5_000).await, take(&rig, 2, 5_000).await];
        assert_eq!(lots.each_ref().map(Vec::len), [1_000, 500]);
        for (lot, jobs) in lots.iter().enumerate() {
            let verdicts = complete_all(&rig, lot as u64 + 1, jobs).await;
            assert_eq!(verdicts, vec![Verdict::Ok; jobs.len()]);
        }
        assert_eq!(rig.in_queue(keys::expires).await.len(), 1_500);
        let stats = rig.hive.stats(&rig.queue).await.expect("stats");
        assert_eq!((stats.running, stats.queued), (0, 0));
        assert_eq!((stats.minutes[0].started, stats.minutes[0].completed), (1_500, 1_500));
    })
    .await;
}

#[tokio::test]
async fn what_is_in_a_lot_counts_for_a_limit_that_came_later() {
    everywhere(async |rig| {
        put_many(&rig, &["a", "b", "c", "d"]).await;
        let jobs = take(&rig, 1, 2).await;
        limit(&rig, Limits { concurrency: Some(2), ..Limits::default() }).await;
        let full = ask(&rig, 2, 10).await;
        assert_eq!(ids(&full.claimed.jobs), Vec::<&str>::new());
        assert_eq!(full.claimed.blocked, Some(Blocked::Concurrency));
        assert_eq!(complete_all(&rig, 1, &jobs).await, [Verdict::Ok; 2]);
        assert_eq!(ids(&ask(&rig, 2, 10).await.claimed.jobs), ["c", "d"]);
    })
    .await;
}
