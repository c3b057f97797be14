//! How an attempt ends: completed, failed, given back, found to be a duplicate; and who may say so.

use keyrack_jobs::{
    Error,
    bee::{Checked, End, Failure, Outcome, Status, Verdict, keys},
};
use serde_json::json;

use super::fixture::{
    Fixture, LOCK_MS, TIMEOUTS, TTL_MS, completed, everywhere, failed, failed_for_good, jid,
};

#[tokio::test]
async fn only_the_worker_that_has_a_job_can_end_it_and_only_once() {
    everywhere(async |fixture| {
        an_end_counts_once(&fixture.on("q1")).await;
        a_late_end_changes_nothing(&fixture.on("q2")).await;
        an_end_after_a_cancel_is_told_so(&fixture.on("q3")).await;
        the_attempt_tells_two_runs_on_one_worker_apart(&fixture.on("q4")).await;
        the_same_end_of_the_same_attempt_is_answered_alike(&fixture.on("q6")).await;
        results_that_are_no_json_are_refused_before_anything_happens(&fixture.on("q5")).await;
    })
    .await;
}

async fn an_end_counts_once(fixture: &Fixture) {
    let jid = fixture.put("once").await;
    let job = fixture.claim_one().await;
    for (end, verdict) in [
        (completed("1"), Verdict::Ok),
        (completed("2"), Verdict::Lost),
        (failed_for_good("no"), Verdict::Lost),
        (End::Released, Verdict::Lost),
    ] {
        assert_eq!(fixture.settle(&job, end).await, verdict);
    }
    let stored = fixture.read(&jid).await;
    assert_eq!((stored.status(), stored.result()), (Status::Completed, Some("1")));
    let both = [Outcome::of(&job, completed("3")), Outcome::of(&job, completed("4"))];
    fixture.put("twice-in-one-call").await;
    let job = fixture.claim_one().await;
    let both = both.map(|outcome| Outcome { jid: job.jid().into(), ..outcome });
    let settled =
        fixture.hive.settle(&fixture.queue, &fixture.worker, &both, 0, TIMEOUTS.lock).await;
    assert_eq!(settled.expect("settled").verdicts, [Verdict::Ok, Verdict::Lost]);
}

async fn the_same_end_of_the_same_attempt_is_answered_alike(fixture: &Fixture) {
    let completed_jid = fixture.put("completed").await;
    let job = fixture.claim_one().await;
    let quick = End::Completed { result: "1".into(), ttl_ms: Some(1_000) };
    assert_eq!(fixture.settle(&job, completed("1")).await, Verdict::Ok);
    let before = fixture.fields(&completed_jid).await;
    for end in [completed("1"), quick] {
        assert_eq!(fixture.settle(&job, end).await, Verdict::Ok);
    }
    let other = fixture.with_worker("w2");
    assert_eq!(other.settle(&job, completed("1")).await, Verdict::Lost, "of another worker");
    assert_eq!(fixture.fields(&completed_jid).await, before);

    let failed_jid = fixture.submit(fixture.job().retries(1).retry_delay_ms(100.0, false)).await;
    for status in [Status::Retried, Status::Queued, Status::Failed] {
        if status == Status::Queued {
            fixture.clock.advance_ms(100);
            fixture.hive.promote(&fixture.queue).await.expect("promoted");
        } else {
            let job = fixture.claim_one().await;
            assert_eq!(fixture.settle(&job, failed("no")).await, Verdict::Ok);
        }
        let stored = fixture.read(&failed_jid).await;
        assert_eq!(stored.status(), status);
        assert_eq!(fixture.settle(&stored, failed("no")).await, Verdict::Ok, "{status}");
        assert_eq!(fixture.settle(&stored, failed("other")).await, Verdict::Lost, "{status}");
        assert_eq!(fixture.settle(&stored, completed("1")).await, Verdict::Lost, "{status}");
        assert_eq!(fixture.read(&failed_jid).await, stored);
    }
    assert_eq!(fixture.hive.stats(&fixture.queue).await.expect("stats").ended, 2);

    let acme = keys::Tenant::new("acme").expect("a tenant");
    for job in [fixture.job(), fixture.job().tenant(acme)] {
        let released_jid = fixture.submit(job).await;
        let job = fixture.claim_one().await;
        assert_eq!(fixture.settle(&job, End::Released).await, Verdict::Ok);
        let before = fixture.fields(&released_jid).await;
        assert_eq!(fixture.settle(&job, End::Released).await, Verdict::Ok, "given back already");
        assert_eq!(fixture.settle(&job, completed("1")).await, Verdict::Lost);
        assert_eq!(other.settle(&job, End::Released).await, Verdict::Lost, "of another worker");
        assert_eq!(fixture.fields(&released_jid).await, before);
        let again = fixture.claim_one().await;
        assert_eq!(fixture.settle(&job, End::Released).await, Verdict::Lost, "of another attempt");
        assert_eq!(fixture.settle(&again, completed("1")).await, Verdict::Ok);
    }
}

async fn a_late_end_changes_nothing(fixture: &Fixture) {
    let jid = fixture.put("late").await;
    let first = fixture.claim_one().await;
    fixture.clock.advance_ms(LOCK_MS);
    assert_eq!(fixture.sweep().await.taken_away, 1);
    for end in [completed("1"), failed("no"), End::Released] {
        assert_eq!(fixture.settle(&first, end).await, Verdict::Lost, "while it waits");
    }
    let other = fixture.with_worker("w2");
    let second = other.claim_one().await;
    let before = fixture.fields(&jid).await;
    assert_eq!(
        fixture.settle(&first, completed("1")).await,
        Verdict::Lost,
        "while another runs it"
    );
    assert_eq!(fixture.fields(&jid).await, before);
    assert_eq!(other.settle(&second, completed("2")).await, Verdict::Ok);
    assert_eq!(fixture.read(&jid).await.result(), Some("2"));
}

async fn an_end_after_a_cancel_is_told_so(fixture: &Fixture) {
    let jid = fixture.put("canceled").await;
    let job = fixture.claim_one().await;
    fixture.hive.cancel(&jid).await.expect("canceled");
    let before = fixture.fields(&jid).await;
    for end in [completed("1"), failed("no"), End::Released] {
        assert_eq!(fixture.settle(&job, end).await, Verdict::Canceled);
    }
    assert_eq!(fixture.fields(&jid).await, before);
}

async fn the_attempt_tells_two_runs_on_one_worker_apart(fixture: &Fixture) {
    fixture.put("again").await;
    let first = fixture.claim_one().await;
    fixture.clock.advance_ms(LOCK_MS);
    fixture.sweep().await;
    let second = fixture.claim_one().await;
    assert_eq!((first.attempts(), second.attempts()), (1, 2));
    assert_eq!(fixture.settle(&first, completed("1")).await, Verdict::Lost);
    assert_eq!(fixture.settle(&second, completed("2")).await, Verdict::Ok);
}

async fn results_that_are_no_json_are_refused_before_anything_happens(fixture: &Fixture) {
    let jid = fixture.put("bad").await;
    fixture.put("good").await;
    let jobs = fixture.claim(2).await;
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
        let refused =
            fixture.hive.settle(&fixture.queue, &fixture.worker, &both, 0, TIMEOUTS.lock).await;
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{:?}: {refused:?}", both[1]);
    }
    assert_eq!(fixture.status(&jid).await, Status::Running);
    assert_eq!(fixture.settle(good, completed("1")).await, Verdict::Ok, "nothing was settled yet");
}

#[tokio::test]
async fn a_failure_is_tried_again_as_the_job_and_the_worker_say() {
    everywhere(async |fixture| {
        retries_wait_for_their_delay(&fixture.on("q1")).await;
        progressive_delays_grow_with_each_retry(&fixture.on("q2")).await;
        the_reason_of_the_last_failure_depends_on_why_it_is_the_last(&fixture.on("q3")).await;
        a_job_with_poor_options_still_ends(&fixture.on("q4")).await;
        long_messages_are_cut(&fixture.on("q5")).await;
    })
    .await;
}

async fn due_in(fixture: &Fixture) -> u64 {
    let scores = fixture.scores(&fixture.of_queue(keys::delayed)).await;
    scores[0].1.parse::<u64>().expect("a time") - fixture.now()
}

async fn retries_wait_for_their_delay(fixture: &Fixture) {
    fixture.submit(fixture.job().id(jid("again"))).await;
    let job = fixture.claim_one().await;
    fixture.settle(&job, failed("no")).await;
    assert_eq!(due_in(fixture).await, 30_000, "the default");
    let history = fixture.json(&jid("again"), "history").await;
    let till = json!({
        "event": "delayed", "timestamp": fixture.now(), "hive": super::fixture::HIVE, "till": fixture.now() + 30_000
    });
    assert_eq!(history.as_array().and_then(|all| all.last()), Some(&till));
    fixture.clock.advance_ms(30_000);
    let job = fixture.claim_one().await;
    let sooner = Failure { retry_delay: Some(1_000.0), ..Failure::new("no") };
    fixture.settle(&job, End::Failed(sooner)).await;
    assert_eq!(due_in(fixture).await, 1_000, "the worker's request");
    for senseless in [f64::NAN, f64::INFINITY, -1.0] {
        fixture.clock.advance_ms(30_000);
        let job = fixture.claim_one().await;
        let failure = Failure { retry_delay: Some(senseless), ..Failure::new("no") };
        fixture.settle(&job, End::Failed(failure)).await;
        assert_eq!(due_in(fixture).await, 30_000, "{senseless}");
    }
}

async fn progressive_delays_grow_with_each_retry(fixture: &Fixture) {
    fixture.submit(fixture.job().retry_delay_ms(1_000.0, true)).await;
    for wait in [1_000, 2_000, 3_000] {
        let job = fixture.claim_one().await;
        fixture.settle(&job, failed("no")).await;
        assert_eq!(due_in(fixture).await, wait);
        fixture.clock.advance_ms(wait);
    }
    let job = fixture.claim_one().await;
    let plain = Failure { progressive_delay: Some(false), ..Failure::new("no") };
    fixture.settle(&job, End::Failed(plain)).await;
    assert_eq!(due_in(fixture).await, 1_000, "the worker's request");
}

async fn the_reason_of_the_last_failure_depends_on_why_it_is_the_last(fixture: &Fixture) {
    let final_reason = async |retries: u32, end: &dyn Fn() -> End| {
        let jid = fixture.submit(fixture.job().retries(retries).retry_delay_ms(0.0, false)).await;
        while let Some(job) = fixture.claim(1).await.pop() {
            fixture.settle(&job, end()).await;
        }
        fixture.read(&jid).await.failed_reason().map(str::to_owned)
    };
    let plain = || failed("Error: boo");
    assert_eq!(final_reason(0, &plain).await.as_deref(), Some("Error: boo"));
    let out = final_reason(2, &plain).await;
    assert_eq!(out.as_deref(), Some("No more retries available"));
    let fatal = || failed_for_good("Error: never");
    assert_eq!(final_reason(2, &fatal).await.as_deref(), Some("Error: never"));
    let jid = fixture.submit(fixture.job().retries(0)).await;
    fixture.claim_one().await;
    fixture.clock.advance_ms(LOCK_MS);
    fixture.sweep().await;
    let reason = fixture.read(&jid).await.failed_reason().map(str::to_owned);
    assert_eq!(reason.as_deref(), Some("no more retries available"), "as the original writes it");
}

/// What another program has left must not stop the worker that gets it.
async fn a_job_with_poor_options_still_ends(fixture: &Fixture) {
    for options in ["{}", "not json", "[1]", r#"{"ttl":"soon","retries":"many"}"#] {
        for end in [completed("1"), failed("no")] {
            let jid = fixture.put("poor").await;
            let key = keys::job(&jid, &jid.group());
            fixture.ask::<()>("HSET", &key, &["options", options]).await;
            let job = fixture.claim_one().await;
            assert_eq!(fixture.settle(&job, end).await, Verdict::Ok, "{options}");
            assert!(!fixture.exists(&fixture.of_queue(keys::locks)).await, "{options}");
            fixture.hive.cancel_even_completed(&jid).await.expect("canceled");
            fixture.assert_expires_in(&key, TTL_MS).await;
            fixture.ask::<()>("DEL", &key, &[]).await;
        }
    }
}

async fn long_messages_are_cut(fixture: &Fixture) {
    let jid = fixture.run(fixture.job(), failed_for_good(&"ü".repeat(100_000))).await;
    let reason = fixture.read(&jid).await.failed_reason().map(str::to_owned).expect("a reason");
    assert!(reason.len() < 20_000 && reason.starts_with("üüü"), "{} bytes", reason.len());
    assert!(reason.ends_with('…'), "says that there was more");
}

#[tokio::test]
async fn duplicates_end_in_place_of_running() {
    everywhere(async |fixture| {
        the_first_with_a_hash_runs_and_the_others_end(&fixture.on("q1")).await;
        an_original_that_failed_and_is_run_again_runs(&fixture.on("q2")).await;
        a_hash_is_found_again_only_while_its_original_is_there(&fixture.on("q3")).await;
        a_failed_original_stops_others_no_longer_than_a_result_would(&fixture.on("q5")).await;
        the_hash_of_the_data_is_that_of_the_original_program(&fixture.on("q4")).await;
    })
    .await;
}

async fn the_first_with_a_hash_runs_and_the_others_end(fixture: &Fixture) {
    fixture.put("o").await;
    let original = fixture.claim_one().await;
    assert_eq!(fixture.check_duplicate(&original, "h1").await, Checked::Original);
    fixture.put("d").await;
    fixture.submit(fixture.job().id(jid("waits")).after(jid("d"))).await;
    let duplicate = fixture.claim_one().await;
    let found = fixture.check_duplicate(&duplicate, "h1").await;
    assert_eq!(found, Checked::DuplicateOf("o".into()), "even while the original runs");
    assert_eq!(fixture.status(&jid("waits")).await, Status::Queued, "dependants do not wait on");
    let stored = fixture.read(&jid("d")).await;
    assert_eq!((stored.duplicate_of(), stored.hash()), (Some("o"), Some("h1")));
    assert_eq!(fixture.check_duplicate(&original, "h1").await, Checked::Original, "asked again");
    assert_eq!(fixture.check_duplicate(&duplicate, "h1").await, Checked::NotOurs(Verdict::Lost));
    fixture.clock.advance_ms(LOCK_MS);
    fixture.sweep().await;
    assert_eq!(fixture.check_duplicate(&original, "h1").await, Checked::NotOurs(Verdict::Lost));
}

async fn an_original_that_failed_and_is_run_again_runs(fixture: &Fixture) {
    for id in ["o2", "d2"] {
        fixture.put(id).await;
        let job = fixture.claim_one().await;
        if fixture.check_duplicate(&job, "h2").await == Checked::Original {
            fixture.settle(&job, failed_for_good("no")).await;
        }
    }
    fixture.hive.retry(&jid("o2")).await.expect("again");
    let job = fixture.claim_one().await;
    assert_eq!(
        fixture.check_duplicate(&job, "h2").await,
        Checked::Original,
        "not of its own duplicate"
    );
    fixture.settle(&job, completed("1")).await;
    assert_eq!(fixture.status(&jid("o2")).await, Status::Completed);
}

async fn a_failed_original_stops_others_no_longer_than_a_result_would(fixture: &Fixture) {
    fixture.put("o5").await;
    let original = fixture.claim_one().await;
    fixture.check_duplicate(&original, "h5").await;
    fixture.settle(&original, failed_for_good("no")).await;
    fixture.clock.advance_ms(TTL_MS - 1);
    fixture.put("d5").await;
    let duplicate = fixture.claim_one().await;
    let found = fixture.check_duplicate(&duplicate, "h5").await;
    assert_eq!(found, Checked::DuplicateOf("o5".into()));
    fixture.clock.advance_ms(1);
    fixture.put("n5").await;
    let new = fixture.claim_one().await;
    assert_eq!(fixture.check_duplicate(&new, "h5").await, Checked::Original);
    assert_eq!(fixture.status(&jid("o5")).await, Status::Failed, "it is kept all the same");
    let group = jid("d5").group();
    fixture.assert_expires_in(&keys::job(&jid("d5"), &group), TTL_MS).await;
    fixture.assert_stays(&keys::job(&jid("o5"), &group)).await;
}

async fn a_hash_is_found_again_only_while_its_original_is_there(fixture: &Fixture) {
    fixture.put("old").await;
    let old = fixture.claim_one().await;
    fixture.check_duplicate(&old, "h3").await;
    fixture.hive.cancel(&jid("old")).await.expect("canceled");
    fixture.put("new").await;
    let new = fixture.claim_one().await;
    assert_eq!(fixture.check_duplicate(&new, "h3").await, Checked::Original);
    fixture.hive.cancel(&jid("old")).await.expect("canceled");
    let key = keys::job(&jid("new"), &jid("new").group());
    fixture.assert_stays(&key).await;
    assert_eq!(
        fixture.settle(&new, completed("1")).await,
        Verdict::Ok,
        "whatever becomes of the old"
    );
}

async fn the_hash_of_the_data_is_that_of_the_original_program(fixture: &Fixture) {
    for (data, hash) in [
        ("[1]", "f629ae44b7b3dcfed444d363e626edf411ec69a8"),
        (r#"["x/y",0.3]"#, "ca565f0abbfe6c6025d06b04b29767c7606e8d4c"),
        (r#"[5,{"k":[]}]"#, "41badf0f60a4aa763e6774201aea11ec034ebf2f"),
        ("[]", "bf21a9e8fbc5a3846fb05b4fa0859e0917b2202f"),
    ] {
        fixture.submit(fixture.job().args_json(data).expect("JSON")).await;
        let job = fixture.claim_one().await;
        assert_eq!(job.data_hash().expect("JSON"), hash, "{data}");
    }
}
