//! Where a job stands in its queue.

use keyrack_jobs::bee::{
    End,
    keys::{self, Tenant},
};

use super::rig::{NOW, Rig, completed, everywhere, failed, jid};

#[tokio::test]
async fn a_job_stands_where_the_original_would_put_it_to_the_last_digit() {
    everywhere(async |rig| {
        scores_are_those_that_were_measured(&rig.on("q1")).await;
        an_empty_queue_makes_all_priorities_equal(&rig.on("q2")).await;
        equal_scores_go_by_id(&rig.on("q3")).await;
        a_job_that_comes_back_is_scored_by_its_stored_priority(&rig.on("q4")).await;
    })
    .await;
}

#[tokio::test]
async fn among_jobs_of_one_millisecond_the_priority_decides() {
    everywhere(async |rig| {
        priority_10_runs_next_after_a_batch_of_the_same_millisecond(&rig.on("q1")).await;
        priorities_count_within_one_batch(&rig.on("q2")).await;
        a_job_that_is_given_back_runs_next(&rig.on("q3")).await;
        what_node_takes_and_what_is_canceled_leaves_no_rank(&rig.on("q4")).await;
        priorities_of_one_millisecond_count_for_a_tenant(&rig.on("q5")).await;
    })
    .await;
}

async fn priority_10_runs_next_after_a_batch_of_the_same_millisecond(rig: &Rig) {
    let batch = (0..300).map(|n| rig.job().id(jid(&format!("a{n:03}")))).collect();
    rig.hive.submit_many(batch).await.expect("submitted");
    for id in ["z1", "z2"] {
        rig.submit(rig.job().id(jid(id)).priority(10.0)).await;
    }
    rig.submit(rig.job().id(jid("00")).priority(-1.0)).await;
    let score: String = rig.ask("ZSCORE", &rig.of_queue(keys::queue), &["z1"]).await;
    assert_eq!(score, NOW.to_string(), "Node reads the documented score");
    let order = async |max: usize| -> Vec<String> {
        rig.claim(max).await.iter().map(|job| job.jid().to_owned()).collect()
    };
    assert_eq!(order(1).await, ["z1"]);
    assert_eq!(order(2).await, ["z2", "a000"]);
    rig.clock.advance_ms(5_000);
    rig.submit(rig.job().id(jid("z3")).priority(10.0)).await;
    assert_eq!(order(2).await, ["z3", "a001"], "also later");
    let rest = order(1_000).await;
    assert_eq!((rest.len(), rest[297].as_str()), (299, "a299"));
    assert_eq!(rest[298], "00", "a negative priority comes last");
    assert!(!rig.exists(&rig.of_queue(keys::ranked)).await);
}

async fn priorities_count_within_one_batch(rig: &Rig) {
    let priorities = [0.0, -3.0, 5.0, 10.0, 2.5, 0.0, 20.0, -0.5];
    let jobs = priorities.iter().enumerate();
    let jobs = jobs.map(|(n, priority)| rig.job().id(jid(&format!("b{n}"))).priority(*priority));
    rig.hive.submit_many(jobs.collect()).await.expect("submitted");
    let order: Vec<String> = rig.claim(10).await.iter().map(|job| job.jid().to_owned()).collect();
    assert_eq!(order, ["b3", "b6", "b2", "b4", "b0", "b5", "b7", "b1"]);
}

async fn a_job_that_is_given_back_runs_next(rig: &Rig) {
    for id in ["c1", "c2", "c3"] {
        rig.put(id).await;
    }
    let jobs = rig.claim(3).await;
    rig.settle(&jobs[1], End::Released).await;
    rig.submit(rig.job().id(jid("c0")).priority(10.0)).await;
    let order: Vec<String> = rig.claim(10).await.iter().map(|job| job.jid().to_owned()).collect();
    assert_eq!(order, ["c2", "c0"]);
}

async fn what_node_takes_and_what_is_canceled_leaves_no_rank(rig: &Rig) {
    for id in ["d1", "d2", "d3"] {
        rig.submit(rig.job().id(jid(id)).priority(5.0)).await;
    }
    rig.hive.cancel(&jid("d1")).await.expect("canceled");
    rig.ask::<()>("ZREM", &rig.of_queue(keys::queue), &["d2"]).await;
    rig.ask::<()>("HSET", &keys::job(&jid("d2"), &jid("d2").group()), &["status", "running"]).await;
    rig.sweep().await;
    let ranked = rig.in_queue(keys::ranked).await;
    assert_eq!(ranked, ["0000000006.000000:d3"]);
    rig.claim_one().await;
    assert!(!rig.exists(&rig.of_queue(keys::ranked)).await);
}

async fn priorities_of_one_millisecond_count_for_a_tenant(rig: &Rig) {
    let tenant = || Tenant::new("acme").expect("a tenant");
    for (id, priority) in [("e1", 0.0), ("e2", 0.0), ("e3", 5.0), ("e4", 10.0), ("e5", -1.0)] {
        rig.submit(rig.job().id(jid(id)).tenant(tenant()).priority(priority)).await;
    }
    let order: Vec<String> = rig.claim(10).await.iter().map(|job| job.jid().to_owned()).collect();
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

async fn scores_are_those_that_were_measured(rig: &Rig) {
    let queue = rig.of_queue(keys::queue);
    for (n, (at, priority, score)) in MEASURED.into_iter().enumerate() {
        rig.clock.advance_ms(NOW + at - rig.now());
        let id = format!("job{n}");
        rig.submit(rig.job().id(jid(&id)).priority(priority)).await;
        let stored: String = rig.ask("ZSCORE", &queue, &[&id]).await;
        assert_eq!(stored, score, "priority {priority} at +{at}");
    }
    let claimed = rig.claim(10).await;
    let order: Vec<&str> = claimed.iter().map(|job| job.jid()).collect();
    assert_eq!(order, ["job2", "job0", "job1", "job4", "job3"], "10 and more run next");
}

async fn an_empty_queue_makes_all_priorities_equal(rig: &Rig) {
    for (n, priority) in [-7.0, 0.5, 10.0].into_iter().enumerate() {
        rig.clock.advance_ms(10);
        rig.submit(rig.job().id(jid(&format!("lone{n}"))).priority(priority)).await;
        let scores = rig.scores(&rig.of_queue(keys::queue)).await;
        assert_eq!(scores, [(format!("lone{n}"), rig.now().to_string())]);
        rig.claim(1).await;
    }
}

async fn equal_scores_go_by_id(rig: &Rig) {
    for id in ["b", "c", "a", "B"] {
        rig.put(id).await;
    }
    let claimed = rig.claim(10).await;
    let order: Vec<&str> = claimed.iter().map(|job| job.jid()).collect();
    assert_eq!(order, ["B", "a", "b", "c"]);
}

async fn a_job_that_comes_back_is_scored_by_its_stored_priority(rig: &Rig) {
    let urgent = rig.job().id(jid("urgent")).priority(10.0).retry_delay_ms(1_000.0, false);
    rig.submit(urgent).await;
    let job = rig.claim_one().await;
    rig.settle(&job, failed("not yet")).await;
    rig.put("first").await;
    let first = rig.now().to_string();
    rig.clock.advance_ms(2_000);
    rig.put("second").await;
    let claimed = rig.claim(1).await.remove(0);
    assert_eq!(claimed.jid(), "urgent", "it moved up to what was first, and runs before it");
    let scores = rig.scores(&rig.of_queue(keys::queue)).await;
    assert_eq!(scores[0], ("first".to_owned(), first));
    rig.settle(&claimed, completed("1")).await;
}
