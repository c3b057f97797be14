//! Cancelling, tags, and what becomes of those who waited.

use std::collections::BTreeSet;

use keyrack_jobs::{
    Error,
    bee::{
        Status,
        keys::{self, Group},
    },
};

use super::rig::{Rig, TTL_MS, completed, everywhere, failed_for_good, jid, tag};

#[tokio::test]
async fn cancelling_takes_a_job_and_its_children_out_wherever_they_are() {
    everywhere(async |rig| {
        children_are_cancelled_before_their_parents(&rig.on("q1")).await;
        a_cancelled_job_waits_nowhere_and_dies(&rig.on("q2")).await;
        those_who_waited_are_released_and_perhaps_cancelled_at_once(&rig.on("q3")).await;
        nobody_cannot_be_cancelled(&rig.on("q4")).await;
        a_job_run_again_waits_for_nobody(&rig.on("q5")).await;
    })
    .await;
}

async fn children_are_cancelled_before_their_parents(rig: &Rig) {
    let top = rig.put("top").await;
    let middle = rig.submit(rig.job().id(jid("middle")).parent(top.clone())).await;
    rig.submit(rig.job().id(jid("bottom")).parent(middle)).await;
    let other = rig.on("q1b");
    rig.submit(other.job().id(jid("side")).parent(top.clone())).await;
    let canceled = rig.hive.cancel(&top).await.expect("cancelled");
    let place = |id: &str| canceled.iter().position(|jid| jid == id).expect("cancelled");
    assert_eq!(canceled.len(), 4, "across queues");
    assert!(place("bottom") < place("middle") && place("middle") < place("top"));
    assert!(place("side") < place("top"));
    let late = rig.hive.submit(rig.job().parent(top)).await;
    assert!(matches!(late, Err(Error::ParentCanceled { .. })), "{late:?}");
}

async fn a_cancelled_job_waits_nowhere_and_dies(rig: &Rig) {
    let base = rig.put("base").await;
    let waiting = rig.submit(rig.job().after(base.clone())).await;
    let delayed = rig.submit(rig.job().delay_ms(1_000.0)).await;
    for jid in [&waiting, &delayed, &base] {
        rig.hive.cancel(jid).await.expect("cancelled");
        assert_eq!(rig.status(jid).await, Status::Canceled);
        rig.assert_expires_in(&keys::job(jid, &jid.group()), TTL_MS).await;
    }
    for key in [keys::queue, keys::delayed, keys::waiting, keys::expires, keys::locks] {
        assert!(!rig.exists(&rig.of_queue(key)).await);
    }
    rig.clock.advance_ms(2_000);
    assert!(rig.claim(10).await.is_empty());
}

async fn those_who_waited_are_released_and_perhaps_cancelled_at_once(rig: &Rig) {
    let parent = rig.put("parent").await;
    let first = rig.submit(rig.job().id(jid("first")).parent(parent.clone())).await;
    let second = rig.job().id(jid("second")).parent(parent.clone()).after(first.clone());
    let second = rig.submit(second).await;
    let outside = rig.submit(rig.job().id(jid("outside")).after(first)).await;
    rig.hive.cancel(&parent).await.expect("cancelled");
    assert_eq!(rig.status(&second).await, Status::Canceled);
    assert_eq!(rig.status(&outside).await, Status::Queued);
    assert_eq!(rig.in_queue(keys::queue).await, ["outside"]);
}

async fn nobody_cannot_be_cancelled(rig: &Rig) {
    let refused = rig.hive.cancel(&jid("nobody")).await;
    assert!(matches!(refused, Err(Error::NoSuchJob { .. })), "{refused:?}");
}

async fn a_job_run_again_waits_for_nobody(rig: &Rig) {
    let base = rig.put("root").await;
    let waiting = rig.submit(rig.job().id(jid("waiting")).after(base.clone())).await;
    rig.hive.cancel(&waiting).await.expect("cancelled");
    rig.hive.retry(&waiting).await.expect("again");
    assert!(!rig.exists(&keys::dependencies(&waiting, &waiting.group())).await);
    rig.hive.cancel(&base).await.expect("cancelled");
    let events = rig.events_of(&waiting).await;
    let expected = ["submitted", "dependancyWaiting", "canceled", "retriedByHand", "queued"];
    assert_eq!(events, expected, "queued once");
}

#[tokio::test]
async fn every_end_releases_those_who_waited_and_only_those() {
    everywhere(async |rig| {
        for end in ["completed", "failed", "canceled"] {
            let rig = rig.on(end);
            let (base, other) = (rig.put("base").await, rig.put("other").await);
            let one = rig.submit(rig.job().after(base.clone())).await;
            let both = rig.submit(rig.job().after(base.clone()).after(other)).await;
            let job = rig.claim(1).await.remove(0);
            assert_eq!(job.jid(), "base");
            match end {
                "completed" => drop(rig.settle(&job, completed("1")).await),
                "failed" => drop(rig.settle(&job, failed_for_good("no")).await),
                _ => drop(rig.hive.cancel(&base).await.expect("cancelled")),
            }
            assert_eq!(rig.status(&one).await, Status::Queued, "{end}: whatever the end");
            assert_eq!(rig.status(&both).await, Status::New, "{end}: it still waits");
            for jid in [jid("base"), jid("other")] {
                rig.hive.cancel_even_completed(&jid).await.expect("cancelled");
                rig.ask::<()>("DEL", &keys::job(&jid, &jid.group()), &[]).await;
            }
            assert_eq!(rig.status(&both).await, Status::Queued);
        }
    })
    .await;
}

#[tokio::test]
async fn jobs_are_found_by_all_of_their_tags() {
    everywhere(async |rig| {
        let group: Group = rig.queue.group();
        let found = async |tags: &[&str]| -> BTreeSet<String> {
            let tags: Vec<_> = tags.iter().map(|name| tag(name)).collect();
            let found = rig.hive.search(&group, &tags).await.expect("found");
            found.into_iter().collect()
        };
        let both = rig.submit(rig.job().id(jid("both")).tag(tag("red")).tag(tag("big"))).await;
        rig.submit(rig.job().id(jid("one")).tag(tag("red"))).await;
        assert_eq!(found(&["red"]).await, ["both".into(), "one".into()].into());
        assert_eq!(found(&["red", "big"]).await, ["both".into()].into());
        assert_eq!(found(&["red", "none"]).await, BTreeSet::new());
        assert_eq!(found(&[]).await, BTreeSet::new());
        rig.hive.set_tags(&both, &[tag("ein Wort: grün*")]).await.expect("tags");
        assert_eq!(rig.fields(&both).await["tags"], r#"["ein Wort: grün*"]"#);
        assert_eq!(found(&["red"]).await, ["one".into()].into(), "not by what it no longer has");
        assert_eq!(found(&["ein Wort: grün*"]).await, ["both".into()].into());
        let refused = rig.hive.set_tags(&jid("nobody"), &[tag("red")]).await;
        assert!(matches!(refused, Err(Error::NoSuchJob { .. })), "{refused:?}");
        let too_many: Vec<_> = (0..65).map(|n| tag(&format!("t{n}"))).collect();
        let refused = rig.hive.set_tags(&both, &too_many).await;
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
    })
    .await;
}
