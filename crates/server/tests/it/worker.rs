//! Running jobs over HTTP.

use std::time::Duration;

use keyrack_jobs::bee::{WorkerTimeouts, keys::QueueName};
use keyrack_testkit::wait_until_async;
use serde_json::{Value as Json, json};

use crate::site::Site;

fn id(job: &Json) -> String {
    job["jid"].as_str().expect("an id").to_owned()
}

/// What waits in a queue, and what runs.
async fn counts(site: &Site) -> (u64, u64) {
    let stats = site.get("/api/1/queues/emails").await.ok();
    let number = |name: &str| stats[name].as_u64().expect("a number");
    (number("queued"), number("running"))
}

#[tokio::test]
async fn a_job_is_claimed_reported_on_and_completed() {
    let site = Site::start().await;
    site.submit("emails", json!({"data": ["alice"], "tags": ["t"], "tenant": "acme"})).await;
    let claimed = site.post("/api/1/queues/emails/claim", json!({"max": 5})).await.ok();
    let worker = claimed["worker"].as_str().expect("an id").to_owned();
    let job = &claimed["jobs"][0];
    assert_eq!((&job["data"], &job["attempt"]), (&json!(["alice"]), &1.into()));
    assert_eq!((&job["queue"], &job["tenant"]), (&"emails".into(), &"acme".into()));

    let path = format!("/api/1/jobs/{}", id(job));
    let mut events = site.stream("/api/1/jobs/events?queue=emails", &[]).await;
    let told = site.post(&format!("{path}/progress"), json!({"progress": {"percent": 40}})).await;
    assert_eq!(told.status, 204);
    let event = events.next().await;
    assert_eq!(
        (event.kind.as_str(), &event.data["progress"]),
        ("progress", &json!({"percent": 40}))
    );

    let body = format!(
        r#"{{"worker": "{worker}", "attempt": 1, "result": {{"id": 12345678901234567890123}}}}"#
    );
    let done = site.send("POST", &format!("{path}/complete"), &[], &body).await.ok();
    assert_eq!(done["verdict"], "ok");
    let shown = site.get(&path).await;
    assert!(shown.body.contains("\"result\":{\"id\":12345678901234567890123}"), "{}", shown.body);
    assert_eq!(shown.ok()["status"], "completed");
    let late = site.post(&format!("{path}/progress"), json!({"progress": 100})).await;
    late.problem(409, "job_conflict");
}

#[tokio::test]
async fn an_end_told_twice_counts_once_and_is_answered_alike() {
    let site = Site::start().await;
    let jid = site.submit("emails", json!({"retries": 0})).await;
    site.claim("emails", "mailer", 1).await;
    let complete = format!("/api/1/jobs/{jid}/complete");
    let done = json!({"worker": "mailer", "attempt": 1, "result": [1]});
    assert_eq!(
        site.post(&complete, done.clone()).await.ok(),
        site.post(&complete, done).await.ok()
    );
    let other = json!({"worker": "mailer", "attempt": 1, "result": [2]});
    site.post(&complete, other).await.problem(409, "job_lost");
    let older = json!({"worker": "mailer", "attempt": 0, "result": [1]});
    site.post(&complete, older).await.problem(409, "job_lost");
    let settle = async |result: Json| {
        let outcome =
            json!({"jid": jid.as_str(), "attempt": 1, "end": "completed", "result": result});
        let body = json!({"worker": "mailer", "outcomes": [outcome]});
        site.post("/api/1/queues/emails/settle", body).await.ok()["verdicts"].clone()
    };
    assert_eq!(settle(json!([1])).await, json!(["ok"]), "settle answers as complete does");
    assert_eq!(settle(json!([2])).await, json!(["lost"]));
}

#[tokio::test]
async fn a_failed_job_is_tried_again_unless_that_makes_no_sense() {
    let site = Site::start().await;
    let jid = site.submit("emails", json!({"retryDelay": 0})).await;
    let fail = format!("/api/1/jobs/{jid}/fail");
    site.claim("emails", "mailer", 1).await;
    site.post(&fail, json!({"worker": "mailer", "attempt": 1, "message": "busy"})).await.ok();
    let again = site.claim("emails", "mailer", 1).await.remove(0);
    assert_eq!((&again["attempt"], &again["retries"]), (&2.into(), &1.into()));
    let failed =
        json!({"worker": "mailer", "attempt": 2, "message": "no such address", "retry": false});
    site.post(&fail, failed).await.ok();
    let job = site.get(&format!("/api/1/jobs/{jid}")).await.ok();
    assert_eq!(
        (&job["status"], &job["failedReason"]),
        (&"failed".into(), &"no such address".into())
    );
    let unexplained = site.post(&fail, json!({"worker": "mailer"})).await;
    assert!(unexplained.problem(422, "invalid").contains("message"));
    let soon = json!({"worker": "mailer", "message": "m", "retryDelay": -5});
    let refused = site.post(&fail, soon).await;
    refused.problem(422, "invalid");
    assert_eq!(refused.field().as_deref(), Some("retryDelay"));
}

#[tokio::test]
async fn a_job_is_snoozed_and_no_failure_counts() {
    let site = Site::start().await;
    let jid = site.submit("emails", json!({"retries": 0, "backoff": "exponential"})).await;
    site.claim("emails", "mailer", 1).await;
    let snooze = format!("/api/1/jobs/{jid}/snooze");
    let later = json!({"worker": "mailer", "attempt": 1, "delay": 0});
    for _ in 0..2 {
        assert_eq!(
            site.post(&snooze, later.clone()).await.ok()["verdict"],
            "ok",
            "also if told twice"
        );
    }
    let again = site.claim("emails", "mailer", 1).await.remove(0);
    assert_eq!((&again["attempt"], &again["retries"]), (&2.into(), &0.into()));
    let outcome = json!({"jid": jid.as_str(), "attempt": 2, "end": "snoozed", "delay": 3_600_000});
    let body = json!({"worker": "mailer", "outcomes": [outcome]});
    let settled = site.post("/api/1/queues/emails/settle", body).await.ok();
    assert_eq!(settled["verdicts"], json!(["ok"]));
    assert_eq!(site.get(&format!("/api/1/jobs/{jid}")).await.ok()["status"], "new");
}

#[tokio::test]
async fn a_worker_is_told_how_long_an_attempt_may_take_and_loses_the_job_then() {
    let site = Site::start().await;
    let short = site.submit("emails", json!({"timeout": 1, "retryDelay": 3_600_000})).await;
    let plain = site.submit("emails", json!({})).await;
    site.send("PUT", "/api/1/queues/emails/limits", &[], r#"{"timeout_ms": 60000}"#).await.ok();
    let claimed = site.claim("emails", "mailer", 2).await;
    let timeout =
        |jid: &str| claimed.iter().find(|job| job["jid"] == jid).map(|job| job["timeout"].clone());
    assert_eq!(timeout(short.as_str()), Some(1.into()));
    assert_eq!(timeout(plain.as_str()), Some(60_000.into()), "as its queue says");
    let queue = QueueName::new("emails").expect("a queue");
    wait_until_async("the attempt to fail", async || {
        // As the sweeper of a server does from time to time.
        site.hive.sweep(&queue, &WorkerTimeouts::KEYRACK, "", &[]).await.expect("swept");
        site.get(&format!("/api/1/jobs/{short}")).await.ok()["status"] == "retried"
    })
    .await;
    let heartbeat = json!({"worker": "mailer", "holding": [short.as_str(), plain.as_str()]});
    let held = site.post("/api/1/queues/emails/heartbeat", heartbeat).await.ok();
    assert_eq!(
        (&held["jobs"], &held["lost"]),
        (&json!([plain.as_str()]), &json!([short.as_str()]))
    );
}

#[tokio::test]
async fn a_claim_waits_for_a_job() {
    let site = Site::start().await;
    let body = json!({"worker": "mailer", "wait_s": 60});
    let claiming = site.post("/api/1/queues/emails/claim", body);
    let submitting = async {
        let stats = async || site.hive.queues().await.expect("queues");
        wait_until_async("the worker to be known", async || !stats().await.is_empty()).await;
        site.submit("emails", json!({"data": [7]})).await
    };
    let (claimed, jid) = tokio::join!(claiming, submitting);
    assert_eq!(claimed.ok()["jobs"][0]["jid"], jid.as_str());
    let empty = site.post("/api/1/queues/emails/claim", json!({"wait_s": 0.01})).await.ok();
    assert_eq!(empty["jobs"], json!([]));
}

#[tokio::test]
async fn a_client_that_went_away_swallows_no_job() {
    let site = Site::start().await;
    for _ in 0..20 {
        let body = json!({"wait_s": 60}).to_string();
        let gone = site.open("POST", "/api/1/queues/emails/claim", &[], &body).await;
        wait_until_async("the worker to be known", async || {
            !site.hive.queues().await.expect("queues").is_empty()
        })
        .await;
        drop(gone);
        // Whether the server has noticed by now or not.
        let jid = site.submit("emails", json!({})).await;
        let body = json!({"worker": "other", "wait_s": 60});
        let claimed = site.post("/api/1/queues/emails/claim", body).await.ok();
        assert_eq!(claimed["jobs"][0]["jid"], jid.as_str());
        site.delete(&format!("/api/1/jobs/{jid}")).await.ok();
    }
}

#[tokio::test]
async fn a_worker_without_a_name_and_without_jobs_is_forgotten() {
    let site = Site::start().await;
    let path = "/api/1/queues/emails/claim";
    let workers = async || {
        let stats = site.get("/api/1/queues/emails").await.ok();
        stats["workers"].as_array().expect("a list").len()
    };
    site.post(path, json!({})).await.ok();
    let waiting = site.open("POST", path, &[], r#"{"wait_s": 60}"#).await;
    wait_until_async("one to wait", async || workers().await == 1).await;
    drop(waiting);
    wait_until_async("all to be forgotten", async || workers().await == 0).await;
    site.submit("emails", json!({})).await;
    site.post(path, json!({})).await.ok();
    assert_eq!(workers().await, 1, "one that has a job is not");
    assert_eq!(counts(&site).await, (0, 1));
}

#[tokio::test]
async fn a_batch_is_settled_and_the_next_claimed_in_one_request() {
    let site = Site::start().await;
    for n in 0..6 {
        site.submit("emails", json!({"data": [n], "retries": 0})).await;
    }
    let jobs = site.claim("emails", "mailer", 4).await;
    let outcomes = json!([
        {"jid": id(&jobs[0]), "attempt": 1, "end": "completed", "result": {"a": 1}},
        {"jid": id(&jobs[1]), "attempt": 1, "end": "failed", "message": "no"},
        {"jid": id(&jobs[2]), "attempt": 1, "end": "released"},
        {"jid": id(&jobs[3]), "attempt": 9, "end": "completed"},
        {"jid": "nobody", "end": "completed"},
    ]);
    let body = json!({"worker": "mailer", "outcomes": outcomes, "max": 2, "wait_s": 60});
    let settled = site.post("/api/1/queues/emails/settle", body).await.ok();
    assert_eq!(settled["verdicts"], json!(["ok", "ok", "ok", "lost", "gone"]));
    assert_eq!(settled["worker"], "mailer:0:http:emails");
    assert_eq!(settled["jobs"].as_array().map(Vec::len), Some(2));
    assert_eq!(counts(&site).await, (1, 3));

    for (outcome, field) in [
        (json!({"jid": "x", "end": "completed", "message": "m"}), "[0].message"),
        (json!({"jid": "x", "end": "failed", "result": 1, "message": "m"}), "[0].result"),
        (json!({"jid": "x", "end": "failed"}), "[0].message"),
        (json!({"jid": "x", "end": "vanished"}), "outcomes[0].end"),
    ] {
        let body = json!({"worker": "mailer", "outcomes": [outcome]});
        let refused = site.post("/api/1/queues/emails/settle", body).await;
        refused.problem(422, "invalid");
        assert_eq!(refused.field().as_deref(), Some(field));
    }
}

#[tokio::test]
async fn a_settled_worker_waits_for_the_next_job() {
    let site = Site::start().await;
    let first = site.submit("emails", json!({})).await;
    site.claim("emails", "mailer", 1).await;
    let outcome = json!({"jid": first.as_str(), "attempt": 1, "end": "completed"});
    let body = json!({"worker": "mailer", "outcomes": [outcome], "max": 1, "wait_s": 60});
    let settling = site.post("/api/1/queues/emails/settle", body);
    let submitting = async {
        let path = format!("/api/1/jobs/{first}/outcome?wait_s=60");
        assert_eq!(site.get(&path).await.ok()["ended"], true);
        site.submit("emails", json!({})).await
    };
    let (settled, next) = tokio::join!(settling, submitting);
    let settled = settled.ok();
    assert_eq!(
        (&settled["verdicts"], &settled["jobs"][0]["jid"]),
        (&json!(["ok"]), &next.as_str().into())
    );
}

#[tokio::test]
async fn a_heartbeat_tells_what_is_lost_and_gives_back_what_was_never_heard_of() {
    let site = Site::start().await;
    for _ in 0..3 {
        site.submit("emails", json!({})).await;
    }
    let jobs = site.claim("emails", "mailer", 3).await;
    site.delete(&format!("/api/1/jobs/{}", id(&jobs[0]))).await.ok();
    let path = "/api/1/queues/emails/heartbeat";
    let alive = site.post(path, json!({"worker": "mailer"})).await.ok();
    assert_eq!(alive["jobs"].as_array().map(Vec::len), Some(2), "by itself it gives nothing back");

    let holding = json!([id(&jobs[0]), id(&jobs[1])]);
    let beat = json!({"worker": "mailer", "holding": holding, "lock_s": 1});
    let alive = site.post(path, beat.clone()).await.ok();
    assert_eq!(alive["lost"], json!([id(&jobs[0])]));
    assert_eq!(counts(&site).await, (0, 2), "the answer to the claim may be under way");
    wait_until_async("the answer to count as lost", async || {
        site.post(path, beat.clone()).await.ok()["jobs"] == json!([id(&jobs[1])])
    })
    .await;
    assert_eq!(counts(&site).await, (1, 1));
    site.post(path, json!({})).await.problem(422, "invalid");
}

#[tokio::test]
async fn heartbeats_beside_claims_make_no_job_run_twice() {
    let site = Site::start().await;
    const JOBS: usize = 200;
    for _ in 0..JOBS {
        site.submit("emails", json!({})).await;
    }
    let held = std::sync::Mutex::new(Vec::<String>::new());
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let work = async {
        let mut attempts = Vec::new();
        loop {
            let jobs = site.claim("emails", "mailer", 3).await;
            if jobs.is_empty() {
                break;
            }
            held.lock().expect("no panic").extend(jobs.iter().map(id));
            let outcomes: Vec<Json> = jobs
                .iter()
                .map(|job| json!({"jid": id(job), "attempt": job["attempt"], "end": "completed"}))
                .collect();
            attempts.extend(jobs.iter().map(|job| job["attempt"].clone()));
            let body = json!({"worker": "mailer", "outcomes": outcomes});
            let settled = site.post("/api/1/queues/emails/settle", body).await.ok();
            let verdicts = settled["verdicts"].as_array().expect("a list").clone();
            assert!(verdicts.iter().all(|verdict| verdict == "ok"), "{verdicts:?}");
            held.lock().expect("no panic").clear();
        }
        is_over.store(true, std::sync::atomic::Ordering::SeqCst);
        attempts
    };
    let beat = async {
        while !is_over.load(std::sync::atomic::Ordering::SeqCst) {
            let holding = held.lock().expect("no panic").clone();
            let body = json!({"worker": "mailer", "holding": holding});
            site.post("/api/1/queues/emails/heartbeat", body).await.ok();
        }
    };
    let (attempts, ()) = tokio::join!(work, beat);
    assert_eq!(attempts.len(), JOBS);
    assert!(attempts.iter().all(|attempt| attempt == 1), "{attempts:?}");
}

#[tokio::test]
async fn a_worker_without_a_lock_time_keeps_the_one_it_gave_before() {
    let site = Site::start().await;
    for _ in 0..2 {
        site.submit("emails", json!({})).await;
    }
    let claim = "/api/1/queues/emails/claim";
    site.post(claim, json!({"worker": "mailer", "lock_s": 600})).await.ok();
    site.post("/api/1/queues/emails/heartbeat", json!({"worker": "mailer"})).await.ok();
    site.post(claim, json!({"worker": "mailer"})).await.ok();
    let key = keyrack_jobs::bee::keys::locks;
    let queue = keyrack_jobs::bee::keys::QueueName::new("emails").expect("a queue");
    let store = site.hive.store();
    let locks: Vec<(String, f64)> = redis::cmd("ZRANGE")
        .arg(&*store.place(&key(&queue, &queue.group())))
        .arg(&["0", "-1", "WITHSCORES"])
        .query_async(&mut store.connection())
        .await
        .expect("locks");
    let soonest = site.hive.now_ms() as f64 + 500_000.0;
    assert_eq!(locks.len(), 2);
    assert!(locks.iter().all(|(_, until)| *until > soonest), "{locks:?}");
}

#[tokio::test]
async fn a_worker_that_restarts_under_its_name_gets_what_it_lost() {
    let site = Site::start().await;
    let jid = site.submit("emails", json!({})).await;
    site.claim("emails", "mailer", 1).await;
    let body = json!({"worker": "mailer", "holding": []});
    let claimed = site.post("/api/1/queues/emails/claim", body).await.ok();
    assert_eq!(
        (&claimed["jobs"][0]["jid"], &claimed["jobs"][0]["attempt"]),
        (&jid.as_str().into(), &2.into())
    );
}

#[tokio::test]
async fn jobs_are_given_back_one_by_one_or_all_at_once() {
    let site = Site::start().await;
    for _ in 0..3 {
        site.submit("emails", json!({})).await;
    }
    let jobs = site.claim("emails", "mailer", 3).await;
    let path = format!("/api/1/jobs/{}/release", id(&jobs[0]));
    site.post(&path, json!({"worker": "mailer", "attempt": 1})).await.ok();
    assert_eq!(counts(&site).await, (1, 2));
    let left = site.post("/api/1/queues/emails/leave", json!({"worker": "mailer"})).await.ok();
    assert_eq!(left["released"].as_array().map(Vec::len), Some(2));
    assert_eq!(counts(&site).await, (3, 0));
    assert_eq!(site.get("/api/1/queues/emails").await.ok()["workers"], json!([]));
}

#[tokio::test]
async fn who_does_not_have_a_job_cannot_end_it() {
    let site = Site::start().await;
    let jid = site.submit("emails", json!({})).await;
    let complete = format!("/api/1/jobs/{jid}/complete");
    let done = |worker: &str| json!({"worker": worker, "attempt": 1, "result": null});
    site.post(&complete, done("mailer")).await.problem(409, "job_lost");
    site.claim("emails", "mailer", 1).await;
    site.post(&complete, done("other")).await.problem(409, "job_lost");
    site.delete(&format!("/api/1/jobs/{jid}")).await.ok();
    let canceled = site.post(&complete, done("mailer")).await;
    assert!(canceled.problem(409, "job_canceled").contains("forget it"));
    site.post("/api/1/jobs/nobody/complete", done("mailer")).await.problem(404, "job_not_found");
}

#[tokio::test]
async fn a_server_that_stops_lets_go_of_those_who_wait() {
    let site = Site::start().await;
    let jid = site.submit("other", json!({})).await;
    let outcome = format!("/api/1/jobs/{jid}/outcome?wait_s=60");
    let (mut claim, mut outcome, events) = (
        site.open("POST", "/api/1/queues/emails/claim", &[], r#"{"wait_s": 60}"#).await,
        site.open("GET", &outcome, &[], "").await,
        site.stream("/api/1/jobs/events", &[]).await,
    );
    wait_until_async("the claim to wait", async || {
        site.hive.queues().await.expect("queues").len() == 2
    })
    .await;
    let stopping = tokio::time::timeout(Duration::from_secs(20), site.stop());
    let reading = async {
        for stream in [&mut claim, &mut outcome] {
            let mut answer = String::new();
            tokio::io::AsyncReadExt::read_to_string(stream, &mut answer).await.expect("an answer");
            assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        }
        events.ends().await;
    };
    let (stopped, ()) = tokio::join!(stopping, reading);
    stopped.expect("far sooner than those who wait would have had enough");
}

#[tokio::test]
async fn one_claim_takes_jobs_of_several_queues_by_their_weights() {
    let site = Site::start().await;
    for queue in ["big", "small"] {
        for n in 0..20 {
            site.submit(queue, json!({"data": [n]})).await;
        }
    }
    let queues = json!([{"queue": "big", "weight": 3}, {"queue": "small"}]);
    let claim = async |max: usize| {
        let body = json!({"worker": "w", "queues": queues, "max": max});
        let claimed = site.post("/api/1/claim", body).await.ok();
        claimed["jobs"].as_array().expect("jobs").clone()
    };
    let mut claimed = claim(12).await;
    for _ in 0..4 {
        claimed.extend(claim(1).await);
    }
    let n_big = claimed.iter().filter(|job| job["queue"] == "big").count();
    assert_eq!((claimed.len(), n_big), (16, 12));
    // Each is reported on by the worker's name.
    for job in &claimed {
        let done = json!({"worker": "w", "attempt": job["attempt"], "result": 1});
        site.post(&format!("/api/1/jobs/{}/complete", id(job)), done).await.ok();
    }
    site.post("/api/1/queues/big/pause", json!({})).await.ok();
    let body = json!({"worker": "w", "queues": queues, "max": 100});
    let rest = site.post("/api/1/claim", body).await.ok();
    assert_eq!(rest["jobs"].as_array().map(Vec::len), Some(16), "all of the other queue");
    assert_eq!(rest["blocked"], json!({"big": "paused"}));
}

#[tokio::test]
async fn a_claim_of_several_queues_waits_for_the_first_job_of_any() {
    let site = Site::start().await;
    let body = json!({"worker": "w", "queues": [{"queue": "a"}, {"queue": "b"}], "wait_s": 60});
    let waiting = site.post("/api/1/claim", body);
    let job = async {
        // Whoever is registered has begun to wait, or is about to.
        wait_until_async("the worker to be known", async || {
            let stats = site.get("/api/1/queues/b").await;
            stats.status == 200 && stats.json()["workers"] != json!([])
        })
        .await;
        site.submit("b", json!({"data": [1]})).await
    };
    let (claimed, jid) = tokio::join!(waiting, job);
    let claimed = claimed.ok();
    assert_eq!(claimed["jobs"][0]["jid"], jid.as_str());
    assert_eq!(claimed["jobs"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_claim_of_several_queues_says_what_is_wrong_with_it() {
    let site = Site::start().await;
    for (body, field) in [
        (json!({"worker": "w", "queues": []}), "queues"),
        (json!({"worker": "w", "queues": [{"queue": "a", "weight": 0}]}), "queues[0].weight"),
        (json!({"worker": "w", "queues": [{"queue": "a", "weight": 101}]}), "queues[0].weight"),
        (json!({"worker": "w", "queues": [{"queue": "a"}, {"queue": "a"}]}), "queues[1].queue"),
        (json!({"worker": "w:1", "queues": [{"queue": "a"}]}), "worker"),
        (json!({"worker": "w", "queues": [{"queue": "a"}], "max": 0}), "max"),
        (json!({"worker": "w", "queues": [{"queue": "a"}], "max": 1001}), "max"),
        (json!({"worker": "w", "queues": [{"queue": "a"}], "wait_s": 61}), "wait_s"),
        (json!({"worker": "w", "queues": [{"queue": "a"}], "lock_s": 0}), "lock_s"),
        (json!({"worker": "w", "queues": [{"queue": "a", "wait": 1}]}), "queues[0].wait"),
    ] {
        let refused = site.post("/api/1/claim", body.clone()).await;
        refused.problem(422, "invalid");
        assert_eq!(refused.field().as_deref(), Some(field), "{body}");
    }
    assert_eq!(site.get("/api/1/queues").await.ok()["queues"], json!([]), "nothing is stored");
    let unnamed =
        site.post("/api/1/claim", json!({"worker": "w", "queues": [{"queue": ""}]})).await;
    unnamed.problem(422, "bad_name");
    assert_eq!(unnamed.field().as_deref(), Some("queues[0].queue"));
}
