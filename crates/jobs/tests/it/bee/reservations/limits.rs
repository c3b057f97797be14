//! How much goes into a reservation, and when there is none.

use keyrack_jobs::bee::{
    Blocked, Limits, NamedLimit, Rate, Status, Verdict,
    keys::{self, LimitName, Tenant},
};

use super::{
    super::fixture::{Fixture, everywhere, jid},
    ask, complete_all, ids, open_reservations, put_many, quick, reservation_name, take,
};

#[tokio::test]
async fn limits_come_before_reservations() {
    everywhere(async |fixture| {
        a_queue_with_a_limit_gives_claims(&fixture.on("q1")).await;
        a_queue_with_tenants_gives_claims(&fixture.on("q2")).await;
        a_paused_queue_gives_nothing_and_takes_back_what_is_out(&fixture.on("q3")).await;
        no_reservation_is_more_than_a_share(&fixture.on("q4")).await;
    })
    .await;
}

/// Jobs count against a limit that they name from when it is set, and these were taken before.
#[tokio::test]
async fn reserved_jobs_that_name_a_limit_end_even_if_it_is_set_meanwhile() {
    everywhere(async |fixture| {
        let gpu = LimitName::new("gpu").expect("a limit");
        for is_set in [false, true] {
            let mut jids = Vec::new();
            for _ in 0..3 {
                jids.push(fixture.submit(fixture.job().limit(&gpu)).await);
            }
            let jobs = take(&fixture, 1, 10).await;
            assert_eq!(jobs.len(), 3);
            if is_set {
                let rate = Some(Rate { max: 1, per_ms: 60_000 });
                let named = NamedLimit { concurrency: Some(1), rate };
                let named = [("gpu".to_owned(), named)].into();
                limit(&fixture, Limits { named, ..Limits::default() }).await;
            }
            assert_eq!(complete_all(&fixture, 1, &jobs).await, [Verdict::Ok; 3], "{is_set}");
            for jid in &jids {
                assert_eq!(fixture.status(jid).await, Status::Completed);
            }
        }
    })
    .await;
}

async fn limit(fixture: &Fixture, limits: Limits) {
    fixture.hive.set_limits(&fixture.queue, &limits).await.expect("limits");
}

async fn a_queue_with_a_limit_gives_claims(fixture: &Fixture) {
    let limits = [
        Limits { concurrency: Some(2), ..Limits::default() },
        Limits { rate: Some(Rate { max: 2, per_ms: 60_000 }), ..Limits::default() },
    ];
    for (round, limits) in limits.into_iter().enumerate() {
        let names = ["a", "b", "c"].map(|name| format!("{name}{round}"));
        put_many(fixture, &names.each_ref().map(String::as_str)).await;
        let why = if limits.rate.is_some() { Blocked::Rate } else { Blocked::Concurrency };
        limit(fixture, limits).await;
        let settled = ask(fixture, 1, 10).await;
        assert_eq!((settled.reserved.len(), settled.claimed.blocked), (0, Some(why)));
        assert_eq!(ids(&settled.claimed.jobs), names[..2]);
        assert!(!fixture.exists(&fixture.of_queue(keys::reserved)).await);
        for job in &settled.claimed.jobs {
            assert_eq!(
                (job.reservation(), fixture.settle(job, quick("1")).await),
                (None, Verdict::Ok)
            );
        }
        limit(fixture, Limits::default()).await;
        let jobs = take(fixture, 1, 10).await;
        assert_eq!(ids(&jobs), names[2..], "without a limit it is a reservation");
        assert_eq!(complete_all(fixture, 1, &jobs).await, [Verdict::Ok]);
    }
}

async fn a_queue_with_tenants_gives_claims(fixture: &Fixture) {
    limit(fixture, Limits { tenant_concurrency: Some(1), ..Limits::default() }).await;
    fixture.put("before").await;
    let before = take(fixture, 1, 10).await;
    assert_eq!(ids(&before), ["before"], "a limit for tenants is none for others");
    let acme = Tenant::new("acme").expect("a tenant");
    for id in ["t1", "t2"] {
        fixture.submit(fixture.job().id(jid(id)).tenant(acme.clone())).await;
    }
    fixture.put("nobodys").await;
    assert_eq!(complete_all(fixture, 1, &before).await, [Verdict::Ok]);
    let settled = ask(fixture, 2, 10).await;
    assert_eq!(settled.reserved, Vec::<String>::new());
    assert_eq!(ids(&settled.claimed.jobs), ["nobodys", "t1"]);
    for job in &settled.claimed.jobs {
        assert_eq!(fixture.settle(job, quick("1")).await, Verdict::Ok);
    }
    let last = ask(fixture, 3, 10).await.claimed.jobs;
    assert_eq!(fixture.settle(&last[0], quick("1")).await, Verdict::Ok);
    fixture.put("after").await;
    assert_eq!(ids(&take(fixture, 4, 10).await), ["after"], "when no tenant is left");
}

async fn a_paused_queue_gives_nothing_and_takes_back_what_is_out(fixture: &Fixture) {
    put_many(fixture, &["a3", "b3"]).await;
    let jobs = take(fixture, 1, 1).await;
    fixture.hive.pause(&fixture.queue).await.expect("paused");
    let settled = ask(fixture, 2, 10).await;
    assert_eq!((settled.reserved.len(), settled.claimed.blocked), (0, Some(Blocked::Paused)));
    assert_eq!(settled.claimed.jobs, []);
    assert_eq!(ask(fixture, 1, 10).await.reserved, ["a3"], "it has it already");
    assert_eq!(complete_all(fixture, 1, &jobs).await, [Verdict::Ok]);
    fixture.hive.resume(&fixture.queue).await.expect("resumed");
    assert_eq!(ids(&take(fixture, 2, 10).await), ["b3"]);
}

async fn no_reservation_is_more_than_a_share(fixture: &Fixture) {
    let other = fixture.with_worker("w2");
    for worker in [fixture, &other] {
        worker.heartbeat().await;
    }
    put_many(fixture, &["a4", "b4", "c4", "d4"]).await;
    let settled = ask(fixture, 1, 10).await;
    assert_eq!((settled.reserved.len(), settled.claimed.blocked), (2, Some(Blocked::Share)));
    assert_eq!(settled.claimed.again_at, Some(fixture.now() + 250));
    assert_eq!(ask(&other, 1, 10).await.reserved, ["c4"], "of what is left");
}

#[tokio::test]
async fn asking_again_with_the_same_number_brings_the_same_jobs() {
    everywhere(async |fixture| {
        put_many(&fixture, &["a", "b", "c", "d"]).await;
        let first = ask(&fixture, 1, 2).await;
        assert_eq!(first.reserved, ["a", "b"]);
        fixture.clock.advance_ms(5);
        assert_eq!(ask(&fixture, 1, 10).await.reserved, first.reserved);
        assert_eq!(fixture.hive.stats(&fixture.queue).await.expect("stats").minutes[0].started, 2);
        let other = fixture.with_worker("w2");
        assert_eq!(ask(&other, 1, 1).await.reserved, ["c"], "the numbers are a worker's own");
        assert_eq!(ask(&fixture, 2, 10).await.reserved, ["d"]);
        let reservations = open_reservations(&fixture).await;
        let reservation =
            |fixture: &Fixture, number| reservations[&reservation_name(fixture, number)].join(" ");
        assert_eq!(
            [reservation(&fixture, 1), reservation(&fixture, 2), reservation(&other, 1)],
            ["a b", "d", "c"]
        );
        // An empty reservation is none, so whoever asks again may get one.
        assert_eq!(ask(&fixture, 3, 10).await.reserved, Vec::<String>::new());
        fixture.put("e").await;
        assert_eq!(ask(&fixture, 3, 10).await.reserved, ["e"]);
    })
    .await;
}

#[tokio::test]
async fn a_large_reservation_is_several() {
    everywhere(async |fixture| {
        let jobs = (0..1_500).map(|n| fixture.job().id(jid(&format!("l{n:04}")))).collect();
        fixture.hive.submit_many(jobs).await.expect("submitted");
        let reservations = [take(&fixture, 1, 5_000).await, take(&fixture, 2, 5_000).await];
        assert_eq!(reservations.each_ref().map(Vec::len), [1_000, 500]);
        for (reservation, jobs) in reservations.iter().enumerate() {
            let verdicts = complete_all(&fixture, reservation as u64 + 1, jobs).await;
            assert_eq!(verdicts, vec![Verdict::Ok; jobs.len()]);
        }
        assert_eq!(fixture.in_queue(keys::expires).await.len(), 1_500);
        let stats = fixture.hive.stats(&fixture.queue).await.expect("stats");
        assert_eq!((stats.running, stats.queued), (0, 0));
        assert_eq!((stats.minutes[0].started, stats.minutes[0].completed), (1_500, 1_500));
    })
    .await;
}

#[tokio::test]
async fn what_is_in_a_reservation_counts_for_a_limit_that_came_later() {
    everywhere(async |fixture| {
        put_many(&fixture, &["a", "b", "c", "d"]).await;
        let jobs = take(&fixture, 1, 2).await;
        limit(&fixture, Limits { concurrency: Some(2), ..Limits::default() }).await;
        let full = ask(&fixture, 2, 10).await;
        assert_eq!(ids(&full.claimed.jobs), Vec::<&str>::new());
        assert_eq!(full.claimed.blocked, Some(Blocked::Concurrency));
        assert_eq!(complete_all(&fixture, 1, &jobs).await, [Verdict::Ok; 2]);
        assert_eq!(ids(&ask(&fixture, 2, 10).await.claimed.jobs), ["c", "d"]);
    })
    .await;
}
