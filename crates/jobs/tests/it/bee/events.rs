//! What is published when, on which channel, and in which words.

use std::collections::BTreeSet;

use keyrack_jobs::bee::{
    Progress,
    keys::{self, Hostname},
};
use keyrack_store::{Event, Subscription};
use serde_json::{Value as Json, json};

use super::fixture::{
    Fixture, LOCK_MS, TTL_MS, completed, everywhere, failed, failed_for_good, jid,
};

/// A message that shows that all before it have arrived.
const MARK: &str = r#"{"type":"mark"}"#;

struct Listener<'r> {
    fixture: &'r Fixture,
    messages: Subscription,
}

impl Listener<'_> {
    async fn on(fixture: &Fixture) -> Listener<'_> {
        let group = fixture.queue.group();
        let host = Hostname::new(format!("host-{}", fixture.queue)).expect("a host");
        let channels = [
            keys::queue_events(&fixture.queue, &group),
            keys::host_events(&host, &group),
            keys::worker_events(&fixture.worker, &group),
        ];
        let messages = fixture.hive.store().subscribe(&channels).await.expect("a subscription");
        Listener { fixture, messages }
    }

    /// What was published since the last time, with the channel it came on.
    async fn heard(&mut self) -> Vec<(String, Json)> {
        let mut heard = Vec::new();
        self.fixture
            .hive
            .store()
            .publish(&self.fixture.of_queue(keys::queue_events), MARK)
            .await
            .expect("published");
        loop {
            match self.messages.next().await.expect("an event") {
                Event::Message(message) if message.payload == MARK.as_bytes() => return heard,
                Event::Message(message) => {
                    let body = serde_json::from_slice(&message.payload).expect("JSON");
                    heard.push((message.channel.to_string(), body));
                }
                Event::Gap => panic!("messages were missed"),
            }
        }
    }

    /// The types of what was published on the queue's channel, with the job each is about.
    async fn types(&mut self) -> Vec<String> {
        let channel = self.fixture.of_queue(keys::queue_events);
        let heard = self.heard().await.into_iter();
        let here = heard.filter(|(on, _)| on == channel.name());
        here.map(|(_, body)| format!("{} {}", text(&body, "type"), text(&body, "jid"))).collect()
    }
}

fn text<'j>(body: &'j Json, name: &str) -> &'j str {
    body[name].as_str().expect("a text")
}

#[tokio::test]
async fn every_step_that_others_wait_for_is_published() {
    everywhere(async |fixture| {
        new_jobs_are_announced_when_they_can_be_claimed(&fixture.on("q1")).await;
        a_preferred_host_hears_first(&fixture.on("q2")).await;
        ends_are_announced_and_what_is_tried_again(&fixture.on("q3")).await;
        canceled_children_come_before_their_parents(&fixture.on("q4")).await;
        workers_hear_what_they_have_lost(&fixture.on("q5")).await;
        progress_is_published_with_its_message(&fixture.on("q6")).await;
    })
    .await;
}

async fn new_jobs_are_announced_when_they_can_be_claimed(fixture: &Fixture) {
    let mut listener = Listener::on(fixture).await;
    let base = fixture.put("n1").await;
    let heard = listener.heard().await;
    let body = json!({"queue": "q1", "jid": "n1", "type": "new"});
    assert_eq!(heard, [(fixture.of_queue(keys::queue_events).name().to_owned(), body)]);
    fixture.submit(fixture.job().id(jid("n2")).delay_ms(1_000.0)).await;
    fixture.submit(fixture.job().id(jid("n3")).after(base)).await;
    let till = fixture.now() + 1_000;
    let due = json!({"queue": "q1", "jid": "n2", "type": "delayed", "till": till});
    let heard = listener.heard().await;
    assert_eq!(heard, [(fixture.of_queue(keys::queue_events).name().to_owned(), due)], "not yet");
    fixture.submit(fixture.job().id(jid("n4")).delay_ms(60_000.0)).await;
    assert!(listener.heard().await.is_empty(), "another is due before");
    fixture.clock.advance_ms(1_000);
    let jobs = fixture.claim(2).await;
    assert_eq!(listener.types().await, ["new n2"], "due");
    fixture.settle(&jobs[0], completed("1")).await;
    assert_eq!(listener.types().await, ["completed n1", "new n3"], "released");
    fixture.clock.advance_ms(LOCK_MS);
    fixture.sweep().await;
    assert_eq!(listener.types().await, ["new n2"], "taken from its worker");
}

async fn a_preferred_host_hears_first(fixture: &Fixture) {
    let mut listener = Listener::on(fixture).await;
    let host = Hostname::new("host-q2").expect("a host");
    fixture.submit(fixture.job().id(jid("h1")).preferred_host(&host)).await;
    let heard = listener.heard().await;
    let channels: Vec<&str> = heard.iter().map(|(on, _)| on.as_str()).collect();
    let expected = ["bee:ch:host:host-q2", "bee:ch:q:q2"];
    // A cluster's channels arrive over connections of their own.
    match fixture.hive.store().kind() {
        keyrack_store::Kind::Cluster => {
            assert_eq!(BTreeSet::from_iter(channels), BTreeSet::from(expected));
        }
        _ => assert_eq!(channels, expected),
    }
    assert_eq!(heard[0].1, heard[1].1);
}

async fn ends_are_announced_and_what_is_tried_again(fixture: &Fixture) {
    let mut listener = Listener::on(fixture).await;
    fixture.submit(fixture.job().id(jid("e1")).retry_delay_ms(0.0, false)).await;
    assert_eq!(listener.types().await, ["new e1"]);
    let job = fixture.claim_one().await;
    fixture.settle(&job, failed("not yet")).await;
    fixture.hive.set_tags(&jid("e1"), &[]).await.expect("tags");
    assert_eq!(listener.types().await, ["delayed e1"], "no event for popped or tags");
    let job = fixture.claim_one().await;
    fixture.check_duplicate(&job, "same").await;
    fixture.settle(&job, failed_for_good("never")).await;
    assert_eq!(listener.types().await, ["new e1", "failed e1"]);
    fixture.put("e2").await;
    let job = fixture.claim_one().await;
    fixture.check_duplicate(&job, "same").await;
    assert_eq!(listener.types().await, ["new e2", "duplicate e2"]);
    fixture.clock.advance_ms(TTL_MS);
    fixture.sweep().await;
    assert!(listener.types().await.is_empty(), "no event for expired");
    fixture.hive.cancel(&jid("e1")).await.expect("canceled");
    assert_eq!(listener.types().await, ["canceled e1"]);
}

async fn canceled_children_come_before_their_parents(fixture: &Fixture) {
    let mut listener = Listener::on(fixture).await;
    let parent = fixture.put("c1").await;
    let child = fixture.submit(fixture.job().id(jid("c2")).parent(parent.clone())).await;
    fixture.submit(fixture.job().id(jid("c3")).after(child)).await;
    listener.heard().await;
    fixture.hive.cancel(&parent).await.expect("canceled");
    assert_eq!(listener.types().await, ["canceled c2", "new c3", "canceled c1"]);
}

async fn workers_hear_what_they_have_lost(fixture: &Fixture) {
    let mut listener = Listener::on(fixture).await;
    fixture.put("w1").await;
    fixture.put("w2").await;
    fixture.claim(2).await;
    listener.heard().await;
    let channel = keys::worker_events(&fixture.worker, &fixture.queue.group()).name().to_owned();
    let mut to_worker = async || -> Vec<Json> {
        let heard = listener.heard().await.into_iter();
        heard.filter(|(on, _)| *on == channel).map(|(_, body)| body).collect()
    };
    fixture.hive.cancel(&jid("w1")).await.expect("canceled");
    assert_eq!(
        to_worker().await,
        [json!({"type": "canceled", "jid": "w1", "queue": "q5", "attempt": 1})]
    );
    fixture.clock.advance_ms(LOCK_MS);
    fixture.sweep().await;
    assert_eq!(
        to_worker().await,
        [json!({"type": "lost", "jid": "w2", "queue": "q5", "attempt": 1})]
    );
    assert!(fixture.hive.is_listening(&fixture.queue, &fixture.worker).await.expect("asked"));
    let other = fixture.with_worker("nobody");
    assert!(!fixture.hive.is_listening(&fixture.queue, &other.worker).await.expect("asked"));
}

async fn progress_is_published_with_its_message(fixture: &Fixture) {
    let mut listener = Listener::on(fixture).await;
    fixture.put("p1").await;
    let job = fixture.claim_one().await;
    listener.heard().await;
    let report = async |message: Option<&str>| {
        let message = message.map(str::to_owned);
        let progress = Progress::of(&job, json!({"done": 40}), message, fixture.now());
        fixture.hive.report_progress(&job, &progress.expect("small")).await.expect("told");
    };
    report(None).await;
    let body = json!({"type": "progress", "jid": "p1", "queue": "q6", "progress": {"done": 40}});
    assert_eq!(listener.heard().await[0].1, body);
    report(Some("nearly half")).await;
    assert_eq!(listener.heard().await[0].1["message"], "nearly half");
}

#[tokio::test]
async fn an_end_carries_the_whole_job() {
    everywhere(async |fixture| {
        let mut listener = Listener::on(&fixture).await;
        let parent = jid("nobody");
        let plain = fixture.run(fixture.job().id(jid("plain")), completed(r#"{"n":[1]}"#)).await;
        let (_, body) = listener.heard().await.remove(1);
        let keys: BTreeSet<&str> = body.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(keys, ["job", "jid", "queue", "type"].into());
        let history = fixture.json(&plain, "history").await;
        assert_eq!(body["job"], json!({
            "jid": "plain", "parent": false, "data": [], "queue": "emails", "worker": fixture.worker.as_str(), "hash": false,
            "status": "completed", "options": fixture.json(&plain, "options").await, "submitted": fixture.now(), "retries": 0,
            "tags": [], "result": {"n": [1]}, "failedReason": false, "duplicate": false, "history": history,
            "dependants": {},
        }));
        // Everything that can be missing is there.
        let job = fixture.job().id(jid("full")).parent(parent).arg("x").tag(super::fixture::tag("red"));
        fixture.submit(job.retries(0)).await;
        fixture.submit(fixture.job().id(jid("after")).after(jid("full"))).await;
        let job = fixture.claim_one().await;
        fixture.check_duplicate(&job, "same").await;
        fixture.settle(&job, failed("\"no\" luck")).await;
        let heard = listener.heard().await;
        let full = &heard.iter().find(|(_, body)| body["type"] == "failed").expect("failed").1["job"];
        let some = ["parent", "hash", "failedReason", "tags", "dependants", "data"];
        let expected = json!(["nobody", "same", "\"no\" luck", ["red"], ["after"], ["x"]]);
        assert_eq!(json!(some.map(|name| &full[name])), expected);
        let job = fixture.claim_one().await;
        fixture.check_duplicate(&job, "same").await;
        let heard = listener.heard().await;
        let duplicate = &heard.iter().find(|(_, body)| body["type"] == "duplicate").expect("duplicate").1;
        let original = json!({"jid": "full", "status": "failed", "result": {}, "failedReason": "\"no\" luck"});
        assert_eq!(duplicate["job"]["duplicate"], original);
    })
    .await;
}
