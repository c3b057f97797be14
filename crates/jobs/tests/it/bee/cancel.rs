//! Cancelling, tags, and what becomes of those who waited.

use std::collections::BTreeSet;

use keyrack_jobs::{
    Error,
    bee::{
        Status,
        keys::{self, Group},
    },
};

use super::fixture::{Fixture, TTL_MS, completed, everywhere, failed_for_good, jid, tag};

#[tokio::test]
async fn cancelling_takes_a_job_and_its_children_out_wherever_they_are() {
    everywhere(async |fixture| {
        children_are_canceled_before_their_parents(&fixture.on("q1")).await;
        a_canceled_job_waits_nowhere_and_dies(&fixture.on("q2")).await;
        those_who_waited_are_released_and_perhaps_canceled_at_once(&fixture.on("q3")).await;
        nobody_cannot_be_canceled(&fixture.on("q4")).await;
        a_job_run_again_waits_for_nobody(&fixture.on("q5")).await;
        completed_children_of_a_canceled_parent_keep_their_result(&fixture.on("q6")).await;
    })
    .await;
}

async fn children_are_canceled_before_their_parents(fixture: &Fixture) {
    let top = fixture.put("top").await;
    let middle = fixture.submit(fixture.job().id(jid("middle")).parent(top.clone())).await;
    fixture.submit(fixture.job().id(jid("bottom")).parent(middle)).await;
    let other = fixture.on("q1b");
    fixture.submit(other.job().id(jid("side")).parent(top.clone())).await;
    let canceled = fixture.hive.cancel(&top).await.expect("canceled");
    let place = |id: &str| canceled.iter().position(|jid| jid == id).expect("canceled");
    assert_eq!(canceled.len(), 4, "across queues");
    assert!(place("bottom") < place("middle") && place("middle") < place("top"));
    assert!(place("side") < place("top"));
    let late = fixture.hive.submit(fixture.job().parent(top)).await;
    assert!(matches!(late, Err(Error::ParentCanceled { .. })), "{late:?}");
}

async fn a_canceled_job_waits_nowhere_and_dies(fixture: &Fixture) {
    let base = fixture.put("base").await;
    let waiting = fixture.submit(fixture.job().after(base.clone())).await;
    let delayed = fixture.submit(fixture.job().delay_ms(1_000.0)).await;
    for jid in [&waiting, &delayed, &base] {
        fixture.hive.cancel(jid).await.expect("canceled");
        assert_eq!(fixture.status(jid).await, Status::Canceled);
        fixture.assert_expires_in(&keys::job(jid, &jid.group()), TTL_MS).await;
    }
    for key in [keys::queue, keys::delayed, keys::waiting, keys::expires, keys::locks] {
        assert!(!fixture.exists(&fixture.of_queue(key)).await);
    }
    fixture.clock.advance_ms(2_000);
    assert!(fixture.claim(10).await.is_empty());
}

async fn those_who_waited_are_released_and_perhaps_canceled_at_once(fixture: &Fixture) {
    let parent = fixture.put("parent").await;
    let first = fixture.submit(fixture.job().id(jid("first")).parent(parent.clone())).await;
    let second = fixture.job().id(jid("second")).parent(parent.clone()).after(first.clone());
    let second = fixture.submit(second).await;
    let outside = fixture.submit(fixture.job().id(jid("outside")).after(first)).await;
    fixture.hive.cancel(&parent).await.expect("canceled");
    assert_eq!(fixture.status(&second).await, Status::Canceled);
    assert_eq!(fixture.status(&outside).await, Status::Queued);
    assert_eq!(fixture.in_queue(keys::queue).await, ["outside"]);
}

async fn nobody_cannot_be_canceled(fixture: &Fixture) {
    let refused = fixture.hive.cancel(&jid("nobody")).await;
    assert!(matches!(refused, Err(Error::NoSuchJob { .. })), "{refused:?}");
}

async fn a_job_run_again_waits_for_nobody(fixture: &Fixture) {
    let base = fixture.put("root").await;
    let waiting = fixture.submit(fixture.job().id(jid("waiting")).after(base.clone())).await;
    fixture.hive.cancel(&waiting).await.expect("canceled");
    fixture.hive.retry(&waiting).await.expect("again");
    assert!(!fixture.exists(&keys::dependencies(&waiting, &waiting.group())).await);
    fixture.hive.cancel(&base).await.expect("canceled");
    let events = fixture.events_of(&waiting).await;
    let expected = ["submitted", "dependancyWaiting", "canceled", "retriedByHand", "queued"];
    assert_eq!(events, expected, "queued once");
}

async fn completed_children_of_a_canceled_parent_keep_their_result(fixture: &Fixture) {
    let parent = fixture.run(fixture.job().id(jid("p")), failed_for_good("no")).await;
    let child = fixture.job().id(jid("child")).parent(parent.clone());
    let child = fixture.run(child, completed("7")).await;
    let grandchild =
        fixture.submit(fixture.job().id(jid("grandchild")).parent(child.clone())).await;
    let canceled = fixture.hive.cancel(&parent).await.expect("canceled");
    assert_eq!(canceled, ["grandchild", "p"]);
    assert_eq!(fixture.status(&grandchild).await, Status::Canceled);
    let stored = fixture.read(&child).await;
    assert_eq!((stored.status(), stored.result()), (Status::Completed, Some("7")));
    assert_eq!(fixture.in_queue(keys::expires).await, ["child"], "it is kept for its time");
    let refused = fixture.hive.retry(&child).await;
    assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");
    let canceled = fixture.hive.cancel_even_completed(&parent).await.expect("as Node does");
    assert_eq!(canceled, ["child", "p"]);
}

#[tokio::test]
async fn every_end_releases_those_who_waited_and_only_those() {
    everywhere(async |fixture| {
        for end in ["completed", "failed", "canceled"] {
            let fixture = fixture.on(end);
            let (base, other) = (fixture.put("base").await, fixture.put("other").await);
            let one = fixture.submit(fixture.job().after(base.clone())).await;
            let both = fixture.submit(fixture.job().after(base.clone()).after(other)).await;
            let job = fixture.claim(1).await.remove(0);
            assert_eq!(job.jid(), "base");
            match end {
                "completed" => drop(fixture.settle(&job, completed("1")).await),
                "failed" => drop(fixture.settle(&job, failed_for_good("no")).await),
                _ => drop(fixture.hive.cancel(&base).await.expect("canceled")),
            }
            assert_eq!(fixture.status(&one).await, Status::Queued, "{end}: whatever the end");
            assert_eq!(fixture.status(&both).await, Status::New, "{end}: it still waits");
            for jid in [jid("base"), jid("other")] {
                fixture.hive.cancel_even_completed(&jid).await.expect("canceled");
                fixture.ask::<()>("DEL", &keys::job(&jid, &jid.group()), &[]).await;
            }
            assert_eq!(fixture.status(&both).await, Status::Queued);
        }
    })
    .await;
}

#[tokio::test]
async fn jobs_are_found_by_all_of_their_tags() {
    everywhere(async |fixture| {
        let group: Group = fixture.queue.group();
        let found = async |tags: &[&str]| -> BTreeSet<String> {
            let tags: Vec<_> = tags.iter().map(|name| tag(name)).collect();
            let found = fixture.hive.search(&group, &tags).await.expect("found");
            found.into_iter().collect()
        };
        let both =
            fixture.submit(fixture.job().id(jid("both")).tag(tag("red")).tag(tag("big"))).await;
        fixture.submit(fixture.job().id(jid("one")).tag(tag("red"))).await;
        assert_eq!(found(&["red"]).await, ["both".into(), "one".into()].into());
        assert_eq!(found(&["red", "big"]).await, ["both".into()].into());
        assert_eq!(found(&["red", "none"]).await, BTreeSet::new());
        assert_eq!(found(&[]).await, BTreeSet::new());
        fixture.hive.set_tags(&both, &[tag("ein Wort: grün*")]).await.expect("tags");
        assert_eq!(fixture.fields(&both).await["tags"], r#"["ein Wort: grün*"]"#);
        assert_eq!(found(&["red"]).await, ["one".into()].into(), "not by what it no longer has");
        assert_eq!(found(&["ein Wort: grün*"]).await, ["both".into()].into());
        let refused = fixture.hive.set_tags(&jid("nobody"), &[tag("red")]).await;
        assert!(matches!(refused, Err(Error::NoSuchJob { .. })), "{refused:?}");
        let too_many: Vec<_> = (0..65).map(|n| tag(&format!("t{n}"))).collect();
        let refused = fixture.hive.set_tags(&both, &too_many).await;
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
    })
    .await;
}
