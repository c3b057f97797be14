//! Where a job stands in its queue.

use keyrack_jobs::bee::keys;

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
    assert_eq!(order, ["job0", "job2", "job1", "job4", "job3"]);
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
    let claimed = rig.claim(1).await;
    assert_eq!(claimed[0].jid(), "first");
    let scores = rig.scores(&rig.of_queue(keys::queue)).await;
    assert_eq!(scores[0], ("urgent".to_owned(), first), "it moved up to what was first");
    rig.settle(&claimed[0], completed("1")).await;
}
