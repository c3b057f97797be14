//! How an attempt ends: completed, failed, given back, found to be a duplicate; and who may say so.

use keyrack_jobs::{
    Error,
    bee::{Checked, End, Failure, Outcome, Status, Verdict, keys},
};
use serde_json::json;

use super::rig::{CARE, LOCK_MS, Rig, TTL_MS, completed, everywhere, failed, failed_for_good, jid};

#[tokio::test]
async fn only_the_worker_that_has_a_job_can_end_it_and_only_once() {
    everywhere(async |rig| {
        an_end_counts_once(&rig.on("q1")).await;
        a_late_end_changes_nothing(&rig.on("q2")).await;
        an_end_after_a_cancel_is_told_so(&rig.on("q3")).await;
        the_attempt_tells_two_runs_on_one_worker_apart(&rig.on("q4")).await;
        the_same_end_of_the_same_attempt_is_answered_alike(&rig.on("q6")).await;
        results_that_are_no_json_are_refused_before_anything_happens(&rig.on("q5")).await;
    })
    .await;
}

async fn an_end_counts_once(rig: &Rig) {
    let jid = rig.put("once").await;
    let job = rig.claim_one().await;
    for (end, verdict) in [
        (completed("1"), Verdict::Ok),
        (completed("2"), Verdict::Lost),
        (failed_for_good("no"), Verdict::Lost),
        (End::Released, Verdict::Lost),
    ] {
        assert_eq!(rig.settle(&job, end).await, verdict);
    }
    let stored = rig.read(&jid).await;
    assert_eq!((stored.status(), stored.result()), (Status::Completed, Some("1")));
    let both = [Outcome::of(&job, completed("3")), Outcome::of(&job, completed("4"))];
    rig.put("twice-in-one-call").await;
    let job = rig.claim_one().await;
    let both = both.map(|outcome| Outcome { jid: job.jid().into(), ..outcome });
    let settled = rig.hive.settle(&rig.queue, &rig.worker, &both, 0, CARE.lock).await;
    assert_eq!(settled.expect("settled").verdicts, [Verdict::Ok, Verdict::Lost]);
}

async fn the_same_end_of_the_same_attempt_is_answered_alike(rig: &Rig) {
    let completed_jid = rig.put("completed").await;
    let job = rig.claim_one().await;
    let quick = End::Completed { result: "1".into(), ttl_ms: Some(1_000) };
    assert_eq!(rig.settle(&job, completed("1")).await, Verdict::Ok);
    let before = rig.fields(&completed_jid).await;
    for end in [completed("1"), quick] {
        assert_eq!(rig.settle(&job, end).await, Verdict::Ok);
    }
    let other = rig.with_worker("w2");
    assert_eq!(other.settle(&job, completed("1")).await, Verdict::Lost, "of another worker");
    assert_eq!(rig.fields(&completed_jid).await, before);

    let failed_jid = rig.submit(rig.job().retries(1).retry_delay_ms(100.0, false)).await;
    for status in [Status::Retried, Status::Queued, Status::Failed] {
        if status == Status::Queued {
            rig.clock.advance_ms(100);
            rig.hive.promote(&rig.queue).await.expect("promoted");
        } else {
            let job = rig.claim_one().await;
            assert_eq!(rig.settle(&job, failed("no")).await, Verdict::Ok);
        }
        let stored = rig.read(&failed_jid).await;
        assert_eq!(stored.status(), status);
        assert_eq!(rig.settle(&stored, failed("no")).await, Verdict::Ok, "{status}");
        assert_eq!(rig.settle(&stored, failed("other")).await, Verdict::Lost, "{status}");
        assert_eq!(rig.settle(&stored, completed("1")).await, Verdict::Lost, "{status}");
        assert_eq!(rig.read(&failed_jid).await, stored);
    }
    assert_eq!(rig.hive.stats(&rig.queue).await.expect("stats").ended, 2);
}

async fn a_late_end_changes_nothing(rig: &Rig) {
    let jid = rig.put("late").await;
    let first = rig.claim_one().await;
    rig.clock.advance_ms(LOCK_MS);
    assert_eq!(rig.sweep().await.taken_away, 1);
    for end in [completed("1"), failed("no"), End::Released] {
        assert_eq!(rig.settle(&first, end).await, Verdict::Lost, "while it waits");
    }
    let other = rig.with_worker("w2");
    let second = other.claim_one().await;
    let before = rig.fields(&jid).await;
    assert_eq!(rig.settle(&first, completed("1")).await, Verdict::Lost, "while another runs it");
    assert_eq!(rig.fields(&jid).await, before);
    assert_eq!(other.settle(&second, completed("2")).await, Verdict::Ok);
    assert_eq!(rig.read(&jid).await.result(), Some("2"));
}

async fn an_end_after_a_cancel_is_told_so(rig: &Rig) {
    let jid = rig.put("cancelled").await;
    let job = rig.claim_one().await;
    rig.hive.cancel(&jid).await.expect("cancelled");
    let before = rig.fields(&jid).await;
    for end in [completed("1"), failed("no"), End::Released] {
        assert_eq!(rig.settle(&job, end).await, Verdict::Canceled);
    }
    assert_eq!(rig.fields(&jid).await, before);
}

async fn the_attempt_tells_two_runs_on_one_worker_apart(rig: &Rig) {
    rig.put("again").await;
    let first = rig.claim_one().await;
    rig.clock.advance_ms(LOCK_MS);
    rig.sweep().await;
    let second = rig.claim_one().await;
    assert_eq!((first.attempts(), second.attempts()), (1, 2));
    assert_eq!(rig.settle(&first, completed("1")).await, Verdict::Lost);
    assert_eq!(rig.settle(&second, completed("2")).await, Verdict::Ok);
}

async fn results_that_are_no_json_are_refused_before_anything_happens(rig: &Rig) {
    let jid = rig.put("bad").await;
    rig.put("good").await;
    let jobs = rig.claim(2).await;
    let (bad, good) =
        (jobs.iter().find(|job| job.jid() == "bad"), jobs.iter().find(|job| job.jid() == "good"));
    let (bad, good) = (bad.expect("claimed"), good.expect("claimed"));
    let no_object = Outcome { options: Some("[]".into()), ..Outcome::of(bad, completed("1")) };
    for outcome in [
        Outcome::of(bad, completed("{")),
        Outcome::of(bad, completed("")),
        Outcome::of(bad, completed(&format!("\"{}\"", "x".repeat(1024 * 1024)))),
        Outcome { options: Some("{\"ttl\":".into()), ..no_object.clone() },
        no_object,
    ] {
        let both = [Outcome::of(good, completed("1")), outcome];
        let refused = rig.hive.settle(&rig.queue, &rig.worker, &both, 0, CARE.lock).await;
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{:?}: {refused:?}", both[1]);
    }
    assert_eq!(rig.status(&jid).await, Status::Running);
    assert_eq!(rig.settle(good, completed("1")).await, Verdict::Ok, "nothing was settled yet");
}

#[tokio::test]
async fn a_failure_is_tried_again_as_the_job_and_the_worker_say() {
    everywhere(async |rig| {
        retries_wait_for_their_delay(&rig.on("q1")).await;
        progressive_delays_grow_with_each_retry(&rig.on("q2")).await;
        the_reason_of_the_last_failure_depends_on_why_it_is_the_last(&rig.on("q3")).await;
        a_job_with_poor_options_still_ends(&rig.on("q4")).await;
        long_messages_are_cut(&rig.on("q5")).await;
    })
    .await;
}

async fn due_in(rig: &Rig) -> u64 {
    let scores = rig.scores(&rig.of_queue(keys::delayed)).await;
    scores[0].1.parse::<u64>().expect("a time") - rig.now()
}

async fn retries_wait_for_their_delay(rig: &Rig) {
    rig.submit(rig.job().id(jid("again"))).await;
    let job = rig.claim_one().await;
    rig.settle(&job, failed("no")).await;
    assert_eq!(due_in(rig).await, 30_000, "the default");
    let history = rig.json(&jid("again"), "history").await;
    let till = json!({
        "event": "delayed", "timestamp": rig.now(), "hive": super::rig::HIVE, "till": rig.now() + 30_000
    });
    assert_eq!(history.as_array().and_then(|all| all.last()), Some(&till));
    rig.clock.advance_ms(30_000);
    let job = rig.claim_one().await;
    let sooner = Failure { retry_delay: Some(1_000.0), ..Failure::new("no") };
    rig.settle(&job, End::Failed(sooner)).await;
    assert_eq!(due_in(rig).await, 1_000, "the worker's wish");
    for senseless in [f64::NAN, f64::INFINITY, -1.0] {
        rig.clock.advance_ms(30_000);
        let job = rig.claim_one().await;
        let failure = Failure { retry_delay: Some(senseless), ..Failure::new("no") };
        rig.settle(&job, End::Failed(failure)).await;
        assert_eq!(due_in(rig).await, 30_000, "{senseless}");
    }
}

async fn progressive_delays_grow_with_each_retry(rig: &Rig) {
    rig.submit(rig.job().retry_delay_ms(1_000.0, true)).await;
    for wait in [1_000, 2_000, 3_000] {
        let job = rig.claim_one().await;
        rig.settle(&job, failed("no")).await;
        assert_eq!(due_in(rig).await, wait);
        rig.clock.advance_ms(wait);
    }
    let job = rig.claim_one().await;
    let plain = Failure { progressive_delay: Some(false), ..Failure::new("no") };
    rig.settle(&job, End::Failed(plain)).await;
    assert_eq!(due_in(rig).await, 1_000, "the worker's wish");
}

async fn the_reason_of_the_last_failure_depends_on_why_it_is_the_last(rig: &Rig) {
    let final_reason = async |retries: u32, end: &dyn Fn() -> End| {
        let jid = rig.submit(rig.job().retries(retries).retry_delay_ms(0.0, false)).await;
        while let Some(job) = rig.claim(1).await.pop() {
            rig.settle(&job, end()).await;
        }
        rig.read(&jid).await.failed_reason().map(str::to_owned)
    };
    let plain = || failed("Error: boo");
    assert_eq!(final_reason(0, &plain).await.as_deref(), Some("Error: boo"));
    let out = final_reason(2, &plain).await;
    assert_eq!(out.as_deref(), Some("No more retries available"));
    let fatal = || failed_for_good("Error: never");
    assert_eq!(final_reason(2, &fatal).await.as_deref(), Some("Error: never"));
    let jid = rig.submit(rig.job().retries(0)).await;
    rig.claim_one().await;
    rig.clock.advance_ms(LOCK_MS);
    rig.sweep().await;
    let reason = rig.read(&jid).await.failed_reason().map(str::to_owned);
    assert_eq!(reason.as_deref(), Some("no more retries available"), "as the original writes it");
}

/// What another program has left must not stop the worker that gets it.
async fn a_job_with_poor_options_still_ends(rig: &Rig) {
    for options in ["{}", "not json", "[1]", r#"{"ttl":"soon","retries":"many"}"#] {
        for end in [completed("1"), failed("no")] {
            let jid = rig.put("poor").await;
            let key = keys::job(&jid, &jid.group());
            rig.ask::<()>("HSET", &key, &["options", options]).await;
            let job = rig.claim_one().await;
            assert_eq!(rig.settle(&job, end).await, Verdict::Ok, "{options}");
            assert!(!rig.exists(&rig.of_queue(keys::locks)).await, "{options}");
            rig.hive.cancel_even_completed(&jid).await.expect("cancelled");
            rig.assert_expires_in(&key, TTL_MS).await;
            rig.ask::<()>("DEL", &key, &[]).await;
        }
    }
}

async fn long_messages_are_cut(rig: &Rig) {
    let jid = rig.run(rig.job(), failed_for_good(&"ü".repeat(100_000))).await;
    let reason = rig.read(&jid).await.failed_reason().map(str::to_owned).expect("a reason");
    assert!(reason.len() < 20_000 && reason.starts_with("üüü"), "{} bytes", reason.len());
    assert!(reason.ends_with('…'), "says that there was more");
}

#[tokio::test]
async fn duplicates_end_in_place_of_running() {
    everywhere(async |rig| {
        the_first_with_a_hash_runs_and_the_others_end(&rig.on("q1")).await;
        an_original_that_failed_and_is_run_again_runs(&rig.on("q2")).await;
        a_hash_is_found_again_only_while_its_original_is_there(&rig.on("q3")).await;
        a_failed_original_stops_others_no_longer_than_a_result_would(&rig.on("q5")).await;
        the_hash_of_the_data_is_that_of_the_original_program(&rig.on("q4")).await;
    })
    .await;
}

async fn the_first_with_a_hash_runs_and_the_others_end(rig: &Rig) {
    rig.put("o").await;
    let original = rig.claim_one().await;
    assert_eq!(rig.check_duplicate(&original, "h1").await, Checked::Original);
    rig.put("d").await;
    rig.submit(rig.job().id(jid("waits")).after(jid("d"))).await;
    let duplicate = rig.claim_one().await;
    let found = rig.check_duplicate(&duplicate, "h1").await;
    assert_eq!(found, Checked::DuplicateOf("o".into()), "even while the original runs");
    assert_eq!(rig.status(&jid("waits")).await, Status::Queued, "dependants do not wait on");
    let stored = rig.read(&jid("d")).await;
    assert_eq!((stored.duplicate_of(), stored.hash()), (Some("o"), Some("h1")));
    assert_eq!(rig.check_duplicate(&original, "h1").await, Checked::Original, "asked again");
    assert_eq!(rig.check_duplicate(&duplicate, "h1").await, Checked::NotOurs(Verdict::Lost));
    rig.clock.advance_ms(LOCK_MS);
    rig.sweep().await;
    assert_eq!(rig.check_duplicate(&original, "h1").await, Checked::NotOurs(Verdict::Lost));
}

async fn an_original_that_failed_and_is_run_again_runs(rig: &Rig) {
    for id in ["o2", "d2"] {
        rig.put(id).await;
        let job = rig.claim_one().await;
        if rig.check_duplicate(&job, "h2").await == Checked::Original {
            rig.settle(&job, failed_for_good("no")).await;
        }
    }
    rig.hive.retry(&jid("o2")).await.expect("again");
    let job = rig.claim_one().await;
    assert_eq!(
        rig.check_duplicate(&job, "h2").await,
        Checked::Original,
        "not of its own duplicate"
    );
    rig.settle(&job, completed("1")).await;
    assert_eq!(rig.status(&jid("o2")).await, Status::Completed);
}

async fn a_failed_original_stops_others_no_longer_than_a_result_would(rig: &Rig) {
    rig.put("o5").await;
    let original = rig.claim_one().await;
    rig.check_duplicate(&original, "h5").await;
    rig.settle(&original, failed_for_good("no")).await;
    rig.clock.advance_ms(TTL_MS - 1);
    rig.put("d5").await;
    let duplicate = rig.claim_one().await;
    let found = rig.check_duplicate(&duplicate, "h5").await;
    assert_eq!(found, Checked::DuplicateOf("o5".into()));
    rig.clock.advance_ms(1);
    rig.put("n5").await;
    let new = rig.claim_one().await;
    assert_eq!(rig.check_duplicate(&new, "h5").await, Checked::Original);
    assert_eq!(rig.status(&jid("o5")).await, Status::Failed, "it is kept all the same");
    let group = jid("d5").group();
    rig.assert_expires_in(&keys::job(&jid("d5"), &group), TTL_MS).await;
    rig.assert_stays(&keys::job(&jid("o5"), &group)).await;
}

async fn a_hash_is_found_again_only_while_its_original_is_there(rig: &Rig) {
    rig.put("old").await;
    let old = rig.claim_one().await;
    rig.check_duplicate(&old, "h3").await;
    rig.hive.cancel(&jid("old")).await.expect("cancelled");
    rig.put("new").await;
    let new = rig.claim_one().await;
    assert_eq!(rig.check_duplicate(&new, "h3").await, Checked::Original);
    rig.hive.cancel(&jid("old")).await.expect("cancelled");
    let key = keys::job(&jid("new"), &jid("new").group());
    rig.assert_stays(&key).await;
    assert_eq!(rig.settle(&new, completed("1")).await, Verdict::Ok, "whatever becomes of the old");
}

async fn the_hash_of_the_data_is_that_of_the_original_program(rig: &Rig) {
    for (data, hash) in [
        ("[1]", "f629ae44b7b3dcfed444d363e626edf411ec69a8"),
        (r#"["x/y",0.3]"#, "ca565f0abbfe6c6025d06b04b29767c7606e8d4c"),
        (r#"[5,{"k":[]}]"#, "41badf0f60a4aa763e6774201aea11ec034ebf2f"),
        ("[]", "bf21a9e8fbc5a3846fb05b4fa0859e0917b2202f"),
    ] {
        rig.submit(rig.job().args_json(data).expect("JSON")).await;
        let job = rig.claim_one().await;
        assert_eq!(job.data_hash().expect("JSON"), hash, "{data}");
    }
}
