//! Ends of jobs that are written down for webhooks: which, where, and until when.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use keyrack_jobs::bee::{
    JobEnd, OutboxKinds,
    keys::{self, QueueName, Tag},
};
use serde_json::json;

use super::fixture::{Fixture, completed, everywhere, failed_for_good};

fn kinds(of: &[(Option<&QueueName>, &[&'static str])]) -> OutboxKinds {
    let entry = |(queue, words): &(Option<&QueueName>, &[&'static str])| {
        (queue.cloned(), words.iter().copied().collect::<BTreeSet<_>>())
    };
    of.iter().map(entry).collect()
}

async fn ends(fixture: &Fixture) -> Vec<JobEnd> {
    let pages = fixture.hive.outbox(1_000).await.expect("the outbox");
    pages.into_iter().flat_map(|page| page.ends).collect()
}

fn told(ends: &[JobEnd]) -> Vec<(&str, &str)> {
    ends.iter().map(|end| (end.status.as_str(), end.jid.as_str())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_down_unless_somebody_asks() {
    everywhere(async |fixture| {
        fixture.run(fixture.job(), completed("1")).await;
        assert!(ends(&fixture).await.is_empty());
        let other = QueueName::new("other").expect("a name");
        fixture
            .hive
            .set_outbox_kinds(&kinds(&[(Some(&other), &["completed"])]))
            .await
            .expect("set");
        fixture.run(fixture.job(), completed("1")).await;
        assert!(ends(&fixture).await.is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_end_that_is_asked_for_is_there_once_and_in_order() {
    everywhere(async |fixture| {
        let all = kinds(&[(None, &["failed", "canceled"]), (Some(&fixture.queue), &["completed"])]);
        // On a cluster, a group exists from its first queue on.
        fixture.hive.set_outbox_kinds(&all).await.expect("set");
        let job = fixture.job().arg("alice").tag(Tag::new("welcome").expect("a tag"));
        let first = fixture.run(job, completed("{\"sent\":1}")).await;
        let second = fixture.run(fixture.job(), failed_for_good("no such user")).await;
        let third = fixture.submit(fixture.job()).await;
        fixture.hive.cancel(&third).await.expect("canceled");
        let found = ends(&fixture).await;
        assert_eq!(
            told(&found),
            [
                ("completed", first.as_str()),
                ("failed", second.as_str()),
                ("canceled", third.as_str())
            ]
        );
        assert_eq!(found[0].fields["data"], json!(["alice"]));
        assert_eq!(found[0].fields["tags"], json!(["welcome"]));
        assert_eq!(found[0].fields["result"], json!({"sent": 1}));
        assert_eq!(found[1].fields["failed_reason"], json!("no such user"));
        assert_eq!((found[0].at, found[0].queue.as_str()), (fixture.now(), "emails"));
        let ids: BTreeSet<_> = found.iter().map(JobEnd::id).collect();
        assert_eq!(ids.len(), 3);
        fixture.hive.set_outbox_kinds(&BTreeMap::new()).await.expect("set");
        fixture.run(fixture.job(), completed("1")).await;
        assert_eq!(ends(&fixture).await.len(), 3);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_handed_on_is_taken_out_once() {
    everywhere(async |fixture| {
        let wanted = kinds(&[(Some(&fixture.queue), &["completed"])]);
        fixture.hive.set_outbox_kinds(&wanted).await.expect("set");
        for _ in 0..5 {
            fixture.run(fixture.job(), completed("1")).await;
        }
        let page =
            async || fixture.hive.outbox(2).await.expect("the outbox").pop().expect("a page");
        // Two servers read the same; only one of them takes it out.
        let (one, other) = (page().await, page().await);
        assert_eq!(one.ends.len(), 2);
        fixture.hive.handed_on(one).await.expect("taken out");
        fixture.hive.handed_on(other).await.expect("seen");
        assert_eq!(ends(&fixture).await.len(), 3);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_data_is_left_out_and_the_end_is_not() {
    everywhere(async |fixture| {
        let wanted = kinds(&[(Some(&fixture.queue), &["completed"])]);
        fixture.hive.set_outbox_kinds(&wanted).await.expect("set");
        let job = fixture.job().arg("x".repeat(9_000));
        fixture.run(job, completed(&json!("y".repeat(9_000)).to_string())).await;
        let found = ends(&fixture).await;
        assert_eq!(found.len(), 1);
        assert!(!found[0].fields.contains_key("data") && !found[0].fields.contains_key("result"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queue_that_is_new_is_among_all_queues() {
    everywhere(async |fixture| {
        fixture.hive.set_outbox_kinds(&kinds(&[(None, &["completed"])])).await.expect("set");
        let fixture = fixture.on("fresh/emails");
        let jid = fixture.run(fixture.job(), completed("1")).await;
        assert_eq!(told(&ends(&fixture).await), [("completed", jid.as_str())]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicates_and_jobs_that_did_not_start_in_time_are_written_down() {
    everywhere(async |fixture| {
        let wanted = kinds(&[(Some(&fixture.queue), &["duplicate", "expired"])]);
        fixture.hive.set_outbox_kinds(&wanted).await.expect("set");
        fixture.submit(fixture.job()).await;
        let second = fixture.submit(fixture.job()).await;
        let claimed = fixture.claim(2).await;
        fixture.check_duplicate(&claimed[0], "h").await;
        fixture.check_duplicate(&claimed[1], "h").await;
        let job = fixture.job().start_within(Duration::from_secs(3));
        let late = fixture.submit(job).await;
        fixture.clock.advance_ms(3_000);
        fixture.sweep().await;
        let found = ends(&fixture).await;
        assert_eq!(told(&found), [("duplicate", second.as_str()), ("expired", late.as_str())]);
        assert_eq!(found[1].fields["failed_reason"], json!("not started within 3000 ms"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ends_that_nobody_hands_on_are_bounded_and_counted() {
    everywhere(async |fixture| {
        let wanted = kinds(&[(Some(&fixture.queue), &["completed"])]);
        fixture.hive.set_outbox_kinds(&wanted).await.expect("set");
        let first = fixture.run(fixture.job(), completed("1")).await;
        assert_eq!(ends(&fixture).await[0].jid, first.as_str());
        // Like a hundred thousand more, but quicker.
        let outbox = keys::outbox(&fixture.queue.group());
        let entries = vec!["{}"; 3_333];
        for _ in 0..30 {
            let _: usize = fixture.ask("RPUSH", &outbox, &entries).await;
        }
        let _: usize = fixture.ask("RPUSH", &outbox, &["{}"; 9]).await;
        assert_eq!(fixture.hive.outbox_dropped().await.expect("a number"), 0);
        let last = fixture.run(fixture.job(), completed("1")).await;
        let length: usize = fixture.ask("LLEN", &outbox, &[]).await;
        assert_eq!((length, fixture.hive.outbox_dropped().await.expect("a number")), (100_000, 1));
        let newest: String = fixture.ask("LINDEX", &outbox, &["-1"]).await;
        assert!(newest.contains(last.as_str()), "{newest}");
    })
    .await;
}
