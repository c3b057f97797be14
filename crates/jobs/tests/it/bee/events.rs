//! What is published when, on which channel, and in which words.

use std::collections::BTreeSet;

use keyrack_jobs::bee::keys::{self, Hostname};
use keyrack_store::{Event, Subscription};
use serde_json::{Value as Json, json};

use super::rig::{LOCK_MS, Rig, TTL_MS, completed, everywhere, failed, failed_for_good, jid};

/// A message that shows that all before it have arrived.
const MARK: &str = r#"{"type":"mark"}"#;

struct Ears<'r> {
    rig: &'r Rig,
    messages: Subscription,
}

impl Ears<'_> {
    async fn on(rig: &Rig) -> Ears<'_> {
        let group = rig.queue.group();
        let host = Hostname::new(format!("host-{}", rig.queue)).expect("a host");
        let channels = [
            keys::queue_events(&rig.queue, &group),
            keys::host_events(&host, &group),
            keys::worker_events(&rig.worker, &group),
        ];
        let messages = rig.hive.store().subscribe(&channels).await.expect("a subscription");
        Ears { rig, messages }
    }

    /// What was published since the last time, with the channel it came on.
    async fn heard(&mut self) -> Vec<(String, Json)> {
        let mut heard = Vec::new();
        self.rig
            .hive
            .store()
            .publish(&self.rig.of_queue(keys::queue_events), MARK)
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
        let channel = self.rig.of_queue(keys::queue_events);
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
    everywhere(async |rig| {
        new_jobs_are_announced_when_they_can_be_claimed(&rig.on("q1")).await;
        a_preferred_host_hears_first(&rig.on("q2")).await;
        ends_are_announced_and_what_is_tried_again(&rig.on("q3")).await;
        cancelled_children_come_before_their_parents(&rig.on("q4")).await;
        workers_hear_what_they_have_lost(&rig.on("q5")).await;
        progress_is_published_and_not_stored(&rig.on("q6")).await;
    })
    .await;
}

async fn new_jobs_are_announced_when_they_can_be_claimed(rig: &Rig) {
    let mut ears = Ears::on(rig).await;
    let base = rig.put("n1").await;
    let heard = ears.heard().await;
    let body = json!({"queue": "q1", "jid": "n1", "type": "new"});
    assert_eq!(heard, [(rig.of_queue(keys::queue_events).name().to_owned(), body)]);
    rig.submit(rig.job().id(jid("n2")).delay_ms(1_000.0)).await;
    rig.submit(rig.job().id(jid("n3")).after(base)).await;
    let till = rig.now() + 1_000;
    let due = json!({"queue": "q1", "jid": "n2", "type": "delayed", "till": till});
    let heard = ears.heard().await;
    assert_eq!(heard, [(rig.of_queue(keys::queue_events).name().to_owned(), due)], "not yet");
    rig.submit(rig.job().id(jid("n4")).delay_ms(60_000.0)).await;
    assert!(ears.heard().await.is_empty(), "another is due before");
    rig.clock.advance_ms(1_000);
    let jobs = rig.claim(2).await;
    assert_eq!(ears.types().await, ["new n2"], "due");
    rig.settle(&jobs[0], completed("1")).await;
    assert_eq!(ears.types().await, ["completed n1", "new n3"], "released");
    rig.clock.advance_ms(LOCK_MS);
    rig.sweep().await;
    assert_eq!(ears.types().await, ["new n2"], "taken from its worker");
}

async fn a_preferred_host_hears_first(rig: &Rig) {
    let mut ears = Ears::on(rig).await;
    let host = Hostname::new("host-q2").expect("a host");
    rig.submit(rig.job().id(jid("h1")).preferred_host(&host)).await;
    let heard = ears.heard().await;
    let channels: Vec<&str> = heard.iter().map(|(on, _)| on.as_str()).collect();
    let expected = ["bee:ch:host:host-q2", "bee:ch:q:q2"];
    // A cluster's channels arrive over connections of their own.
    match rig.hive.store().kind() {
        keyrack_store::Kind::Cluster => {
            assert_eq!(BTreeSet::from_iter(channels), BTreeSet::from(expected));
        }
        _ => assert_eq!(channels, expected),
    }
    assert_eq!(heard[0].1, heard[1].1);
}

async fn ends_are_announced_and_what_is_tried_again(rig: &Rig) {
    let mut ears = Ears::on(rig).await;
    rig.submit(rig.job().id(jid("e1")).retry_delay_ms(0.0, false)).await;
    assert_eq!(ears.types().await, ["new e1"]);
    let job = rig.claim_one().await;
    rig.settle(&job, failed("not yet")).await;
    rig.hive.set_tags(&jid("e1"), &[]).await.expect("tags");
    assert_eq!(ears.types().await, ["delayed e1"], "no event for popped or tags");
    let job = rig.claim_one().await;
    rig.check_duplicate(&job, "same").await;
    rig.settle(&job, failed_for_good("never")).await;
    assert_eq!(ears.types().await, ["new e1", "failed e1"]);
    rig.put("e2").await;
    let job = rig.claim_one().await;
    rig.check_duplicate(&job, "same").await;
    assert_eq!(ears.types().await, ["new e2", "duplicate e2"]);
    rig.clock.advance_ms(TTL_MS);
    rig.sweep().await;
    assert!(ears.types().await.is_empty(), "no event for expired");
    rig.hive.cancel(&jid("e1")).await.expect("cancelled");
    assert_eq!(ears.types().await, ["canceled e1"]);
}

async fn cancelled_children_come_before_their_parents(rig: &Rig) {
    let mut ears = Ears::on(rig).await;
    let parent = rig.put("c1").await;
    let child = rig.submit(rig.job().id(jid("c2")).parent(parent.clone())).await;
    rig.submit(rig.job().id(jid("c3")).after(child)).await;
    ears.heard().await;
    rig.hive.cancel(&parent).await.expect("cancelled");
    assert_eq!(ears.types().await, ["canceled c2", "new c3", "canceled c1"]);
}

async fn workers_hear_what_they_have_lost(rig: &Rig) {
    let mut ears = Ears::on(rig).await;
    rig.put("w1").await;
    rig.put("w2").await;
    rig.claim(2).await;
    ears.heard().await;
    let channel = keys::worker_events(&rig.worker, &rig.queue.group()).name().to_owned();
    let mut to_worker = async || -> Vec<Json> {
        let heard = ears.heard().await.into_iter();
        heard.filter(|(on, _)| *on == channel).map(|(_, body)| body).collect()
    };
    rig.hive.cancel(&jid("w1")).await.expect("cancelled");
    assert_eq!(
        to_worker().await,
        [json!({"type": "canceled", "jid": "w1", "queue": "q5", "attempt": 1})]
    );
    rig.clock.advance_ms(LOCK_MS);
    rig.sweep().await;
    assert_eq!(
        to_worker().await,
        [json!({"type": "lost", "jid": "w2", "queue": "q5", "attempt": 1})]
    );
    assert!(rig.hive.is_listening(&rig.queue, &rig.worker).await.expect("asked"));
    let other = rig.with_worker("nobody");
    assert!(!rig.hive.is_listening(&rig.queue, &other.worker).await.expect("asked"));
}

async fn progress_is_published_and_not_stored(rig: &Rig) {
    let mut ears = Ears::on(rig).await;
    rig.put("p1").await;
    let job = rig.claim_one().await;
    let before = rig.fields(&jid("p1")).await;
    ears.heard().await;
    rig.hive.report_progress(&job, &json!({"done": 40})).await.expect("told");
    let body = json!({"type": "progress", "jid": "p1", "queue": "q6", "progress": {"done": 40}});
    assert_eq!(ears.heard().await[0].1, body);
    assert_eq!(rig.fields(&jid("p1")).await, before);
}

#[tokio::test]
async fn an_end_carries_the_whole_job() {
    everywhere(async |rig| {
        let mut ears = Ears::on(&rig).await;
        let parent = jid("nobody");
        let plain = rig.run(rig.job().id(jid("plain")), completed(r#"{"n":[1]}"#)).await;
        let (_, body) = ears.heard().await.remove(1);
        let keys: BTreeSet<&str> = body.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(keys, ["job", "jid", "queue", "type"].into());
        let history = rig.json(&plain, "history").await;
        assert_eq!(body["job"], json!({
            "jid": "plain", "parent": false, "data": [], "queue": "emails", "worker": rig.worker.as_str(), "hash": false,
            "status": "completed", "options": rig.json(&plain, "options").await, "submitted": rig.now(), "retries": 0,
            "tags": [], "result": {"n": [1]}, "failedReason": false, "duplicate": false, "history": history,
            "dependants": {},
        }));
        // Everything that can be missing is there.
        let job = rig.job().id(jid("full")).parent(parent).arg("x").tag(super::rig::tag("red"));
        rig.submit(job.retries(0)).await;
        rig.submit(rig.job().id(jid("after")).after(jid("full"))).await;
        let job = rig.claim_one().await;
        rig.check_duplicate(&job, "same").await;
        rig.settle(&job, failed("\"no\" luck")).await;
        let heard = ears.heard().await;
        let full = &heard.iter().find(|(_, body)| body["type"] == "failed").expect("failed").1["job"];
        let some = ["parent", "hash", "failedReason", "tags", "dependants", "data"];
        let expected = json!(["nobody", "same", "\"no\" luck", ["red"], ["after"], ["x"]]);
        assert_eq!(json!(some.map(|name| &full[name])), expected);
        let job = rig.claim_one().await;
        rig.check_duplicate(&job, "same").await;
        let heard = ears.heard().await;
        let duplicate = &heard.iter().find(|(_, body)| body["type"] == "duplicate").expect("duplicate").1;
        let original = json!({"jid": "full", "status": "failed", "result": {}, "failedReason": "\"no\" luck"});
        assert_eq!(duplicate["job"]["duplicate"], original);
    })
    .await;
}
