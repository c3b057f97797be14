//! Jobs carry the trace in which they were submitted, and metadata.

use std::collections::BTreeMap;

use keyrack_jobs::bee::{Change, Job, METADATA_BYTES_MAX, METADATA_MAX, Options, Submission};
use keyrack_trace::{TraceContext, within};

use super::fixture::{Fixture, completed, everywhere, failed, jid};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn context() -> TraceContext {
    TraceContext::parse(PARENT, Some("rojo=1")).expect("a context")
}

fn assert_has_context(job: &Job) {
    assert_eq!(job.trace(), Some(context()), "{job:?}");
}

#[tokio::test]
async fn a_job_has_its_trace_and_its_metadata_until_it_has_ended() {
    everywhere(async |fixture: Fixture| {
        let job = fixture.job().trace(context()).metadata("request", "r-7 \"é\"");
        let jid = fixture.submit(job.retries(1).retry_delay_ms(0.0, false)).await;
        let metadata = BTreeMap::from([("request".to_owned(), "r-7 \"é\"".to_owned())]);
        let first = fixture.claim_one().await;
        assert_has_context(&first);
        assert_eq!(first.options().metadata, metadata);
        fixture.settle(&first, failed("no")).await;
        assert_has_context(&fixture.claim_one().await);
        fixture.settle(&fixture.read(&jid).await, completed("1")).await;
        let ended = fixture.read(&jid).await;
        assert_has_context(&ended);
        assert_eq!(ended.options().metadata, metadata);

        let delayed = fixture.submit(fixture.job().trace(context()).delay_ms(60_000.0)).await;
        let change = Change { priority: Some(3.0), ..Change::default() };
        fixture.hive.change_job(&delayed, &change).await.expect("changed");
        assert_has_context(&fixture.read(&delayed).await);
    })
    .await;
}

#[tokio::test]
async fn all_jobs_that_a_task_submits_are_in_its_trace_and_others_cost_nothing() {
    everywhere(async |fixture: Fixture| {
        let (hive, plain) = (&fixture.hive, || fixture.job());
        let jids = within(Some(context()), async {
            let mut jids = vec![hive.submit(plain()).await.expect("submitted")];
            let each = hive.submit_many(vec![plain(), plain().priority(3.0)]).await;
            jids.extend(each.expect("submitted").into_iter().map(|jid| jid.expect("submitted")));
            let whole = hive.submit_whole(vec![plain()]).await.expect("submitted");
            jids.extend(whole.into_iter().map(|stored| stored.jid));
            jids
        });
        for jid in jids.await {
            assert_has_context(&fixture.read(&jid).await);
        }
        let outside = fixture.submit(plain()).await;
        let stored = fixture.read(&outside).await;
        assert_eq!(stored.trace(), None);
        assert_eq!(stored.options_json(), Options::default().to_json());
    })
    .await;
}

#[tokio::test]
async fn a_request_that_is_sent_again_is_the_same_in_whatever_trace() {
    everywhere(async |fixture: Fixture| {
        let job = || fixture.job().id(jid("once")).remembered();
        let first = fixture.submit(job().trace(context()).metadata("a", "1")).await;
        let again = job().metadata("a", "1");
        assert!(fixture.hive.is_repeat(&first, &again).await.expect("asked"));
        let other = job().metadata("a", "2");
        assert!(!fixture.hive.is_repeat(&first, &other).await.expect("asked"));
    })
    .await;
}

#[test]
fn metadata_is_bounded() {
    let refused = |job: Submission| job.validate().expect_err("too much").to_string();
    let job = || Submission::new("emails").expect("a queue");
    let full = (0..METADATA_MAX).fold(job(), |job, n| job.metadata(format!("k{n}"), "1"));
    full.validate().expect("as many as are taken");
    assert!(refused(full.metadata("more", "1")).starts_with("metadata: 17 entries; at most 16"));
    let text = "x".repeat(METADATA_BYTES_MAX);
    job().metadata("a", &text[1..]).validate().expect("as long as is taken");
    assert!(refused(job().metadata("a", text)).starts_with("metadata: 4097 bytes; at most 4096"));
    for name in [String::new(), "x".repeat(65), "a\nb".into()] {
        assert!(refused(job().metadata(name, "1")).starts_with("metadata: the name "));
    }
}
