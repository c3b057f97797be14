//! Where a job stands in its queue.

use keyrack_jobs::bee::{
    End,
    keys::{self, Tenant},
};

use super::fixture::{Fixture, NOW, completed, everywhere, failed, jid};

#[tokio::test]
async fn a_job_stands_where_the_original_would_put_it_to_the_last_digit() {
    everywhere(async |fixture| {
        scores_are_those_that_were_measured(&fixture.on("q1")).await;
        an_empty_queue_makes_positive_priorities_equal(&fixture.on("q2")).await;
        equal_scores_go_by_id(&fixture.on("q3")).await;
        a_job_that_comes_back_is_scored_by_its_stored_priority(&fixture.on("q4")).await;
    })
    .await;
}

#[tokio::test]
async fn among_jobs_of_one_millisecond_the_priority_decides() {
    everywhere(async |fixture| {
        priority_10_runs_next_after_a_batch_of_the_same_millisecond(&fixture.on("q1")).await;
        priorities_count_within_one_batch(&fixture.on("q2")).await;
        a_job_that_is_given_back_runs_next(&fixture.on("q3")).await;
        what_node_takes_and_what_is_canceled_leaves_no_rank(&fixture.on("q4")).await;
        priorities_of_one_millisecond_count_for_a_tenant(&fixture.on("q5")).await;
    })
    .await;
}

#[tokio::test]
async fn a_negative_priority_counts_in_a_queue_without_backlog() {
    everywhere(async |fixture| {
        a_negative_priority_in_an_empty_queue_runs_last(&fixture.on("q1")).await;
        a_negative_priority_does_not_wait_for_ever(&fixture.on("q2")).await;
        priorities_count_while_only_negative_ones_wait(&fixture.on("q3")).await;
    })
    .await;
}

async fn order(fixture: &Fixture, max: usize) -> Vec<String> {
    fixture.claim(max).await.iter().map(|job| job.jid().to_owned()).collect()
}

async fn submit_after(fixture: &Fixture, ms: u64, id: &str, priority: f64) {
    fixture.clock.advance_ms(ms);
    fixture.submit(fixture.job().id(jid(id)).priority(priority)).await;
}

async fn a_negative_priority_in_an_empty_queue_runs_last(fixture: &Fixture) {
    for (id, priority) in [("f1", -5.0), ("f2", 0.0), ("f3", -1.0), ("f4", 0.0), ("f5", 3.0)] {
        submit_after(fixture, 20, id, priority).await;
    }
    assert_eq!(order(fixture, 1).await, ["f2"]);
    assert_eq!(order(fixture, 10).await, ["f4", "f5", "f3", "f1"]);
}

async fn a_negative_priority_does_not_wait_for_ever(fixture: &Fixture) {
    for (ms, id, priority) in [(0, "g1", -2.0), (119_000, "g2", 0.0), (2_000, "g3", 0.0)] {
        submit_after(fixture, ms, id, priority).await;
    }
    assert_eq!(order(fixture, 10).await, ["g2", "g1", "g3"], "two minutes later");
}

async fn priorities_count_while_only_negative_ones_wait(fixture: &Fixture) {
    for (id, priority) in [("h1", -5.0), ("h2", 10.0), ("h3", 0.0), ("h4", -7.0)] {
        submit_after(fixture, 20, id, priority).await;
    }
    assert_eq!(order(fixture, 10).await, ["h2", "h3", "h1", "h4"]);
}

async fn priority_10_runs_next_after_a_batch_of_the_same_millisecond(fixture: &Fixture) {
    let batch = (0..300).map(|n| fixture.job().id(jid(&format!("a{n:03}")))).collect();
    fixture.hive.submit_many(batch).await.expect("submitted");
    for id in ["z1", "z2"] {
        fixture.submit(fixture.job().id(jid(id)).priority(10.0)).await;
    }
    fixture.submit(fixture.job().id(jid("00")).priority(-1.0)).await;
    let score: String = fixture.ask("ZSCORE", &fixture.of_queue(keys::queue), &["z1"]).await;
    assert_eq!(score, NOW.to_string(), "Node reads the documented score");
    let order = async |max: usize| -> Vec<String> {
        fixture.claim(max).await.iter().map(|job| job.jid().to_owned()).collect()
    };
    assert_eq!(order(1).await, ["z1"]);
    assert_eq!(order(2).await, ["z2", "a000"]);
    fixture.clock.advance_ms(5_000);
    fixture.submit(fixture.job().id(jid("z3")).priority(10.0)).await;
    assert_eq!(order(2).await, ["z3", "a001"], "also later");
    let rest = order(1_000).await;
    assert_eq!((rest.len(), rest[297].as_str()), (299, "a299"));
    assert_eq!(rest[298], "00", "a negative priority comes last");
    assert!(!fixture.exists(&fixture.of_queue(keys::ranked)).await);
}

async fn priorities_count_within_one_batch(fixture: &Fixture) {
    let priorities = [0.0, -3.0, 5.0, 10.0, 2.5, 0.0, 20.0, -0.5];
    let jobs = priorities.iter().enumerate();
    let jobs =
        jobs.map(|(n, priority)| fixture.job().id(jid(&format!("b{n}"))).priority(*priority));
    fixture.hive.submit_many(jobs.collect()).await.expect("submitted");
    let order: Vec<String> =
        fixture.claim(10).await.iter().map(|job| job.jid().to_owned()).collect();
    assert_eq!(order, ["b3", "b6", "b2", "b4", "b0", "b5", "b7", "b1"]);
}

async fn a_job_that_is_given_back_runs_next(fixture: &Fixture) {
    for id in ["c1", "c2", "c3"] {
        fixture.put(id).await;
    }
    let jobs = fixture.claim(3).await;
    fixture.settle(&jobs[1], End::Released).await;
    fixture.submit(fixture.job().id(jid("c0")).priority(10.0)).await;
    let order: Vec<String> =
        fixture.claim(10).await.iter().map(|job| job.jid().to_owned()).collect();
    assert_eq!(order, ["c2", "c0"]);
}

async fn what_node_takes_and_what_is_canceled_leaves_no_rank(fixture: &Fixture) {
    for id in ["d1", "d2", "d3"] {
        fixture.submit(fixture.job().id(jid(id)).priority(5.0)).await;
    }
    fixture.hive.cancel(&jid("d1")).await.expect("canceled");
    fixture.ask::<()>("ZREM", &fixture.of_queue(keys::queue), &["d2"]).await;
    fixture
        .ask::<()>("HSET", &keys::job(&jid("d2"), &jid("d2").group()), &["status", "running"])
        .await;
    fixture.sweep().await;
    let ranked = fixture.in_queue(keys::ranked).await;
    assert_eq!(ranked, ["0000000006.000000:d3"]);
    fixture.claim_one().await;
    assert!(!fixture.exists(&fixture.of_queue(keys::ranked)).await);
}

async fn priorities_of_one_millisecond_count_for_a_tenant(fixture: &Fixture) {
    let tenant = || Tenant::new("acme").expect("a tenant");
    for (id, priority) in [("e1", 0.0), ("e2", 0.0), ("e3", 5.0), ("e4", 10.0), ("e5", -1.0)] {
        fixture.submit(fixture.job().id(jid(id)).tenant(tenant()).priority(priority)).await;
    }
    let order: Vec<String> =
        fixture.claim(10).await.iter().map(|job| job.jid().to_owned()).collect();
    assert_eq!(order, ["e1", "e4", "e3", "e2", "e5"], "the first stands in the queue already");
}

/// What was measured: when a job is put, its priority, and the score it gets.
const MEASURED: [(u64, f64, &str); 5] = [
    (0, 0.0, "1794709387000"),
    (1_000, 5.0, "1794709387500"),
    (2_000, 20.0, "1794709387000"),
    (3_000, -3.0, "1794709390900"),
    (3_007, 3.0, "1794709389104.8999"),
];

async fn scores_are_those_that_were_measured(fixture: &Fixture) {
    let queue = fixture.of_queue(keys::queue);
    for (n, (at, priority, score)) in MEASURED.into_iter().enumerate() {
        fixture.clock.advance_ms(NOW + at - fixture.now());
        let id = format!("job{n}");
        fixture.submit(fixture.job().id(jid(&id)).priority(priority)).await;
        let stored: String = fixture.ask("ZSCORE", &queue, &[&id]).await;
        assert_eq!(stored, score, "priority {priority} at +{at}");
    }
    let claimed = fixture.claim(10).await;
    let order: Vec<&str> = claimed.iter().map(|job| job.jid()).collect();
    assert_eq!(order, ["job2", "job0", "job1", "job4", "job3"], "10 and more run next");
}

async fn an_empty_queue_makes_positive_priorities_equal(fixture: &Fixture) {
    for (n, priority) in [0.5, 5.0, 10.0].into_iter().enumerate() {
        fixture.clock.advance_ms(10);
        fixture.submit(fixture.job().id(jid(&format!("lone{n}"))).priority(priority)).await;
        let scores = fixture.scores(&fixture.of_queue(keys::queue)).await;
        assert_eq!(scores, [(format!("lone{n}"), fixture.now().to_string())]);
        fixture.claim(1).await;
    }
}

async fn equal_scores_go_by_id(fixture: &Fixture) {
    for id in ["b", "c", "a", "B"] {
        fixture.put(id).await;
    }
    let claimed = fixture.claim(10).await;
    let order: Vec<&str> = claimed.iter().map(|job| job.jid()).collect();
    assert_eq!(order, ["B", "a", "b", "c"]);
}

async fn a_job_that_comes_back_is_scored_by_its_stored_priority(fixture: &Fixture) {
    let urgent = fixture.job().id(jid("urgent")).priority(10.0).retry_delay_ms(1_000.0, false);
    fixture.submit(urgent).await;
    let job = fixture.claim_one().await;
    fixture.settle(&job, failed("not yet")).await;
    fixture.put("first").await;
    let first = fixture.now().to_string();
    fixture.clock.advance_ms(2_000);
    fixture.put("second").await;
    let claimed = fixture.claim(1).await.remove(0);
    assert_eq!(claimed.jid(), "urgent", "it moved up to what was first, and runs before it");
    let scores = fixture.scores(&fixture.of_queue(keys::queue)).await;
    assert_eq!(scores[0], ("first".to_owned(), first));
    fixture.settle(&claimed, completed("1")).await;
}
