//! Groups of queues: jobs that may know each other, on one node of a cluster.

use keyrack_jobs::{
    Error,
    bee::{Status, Submission, keys},
};
use keyrack_keys::Layout;

use super::fixture::{completed, everywhere, jid, queue, tag};

#[tokio::test]
async fn jobs_of_one_group_may_know_each_other_and_others_may_not() {
    everywhere(async |fixture| {
        let (send, bounce) = (fixture.on("mail/send"), fixture.on("mail/bounce"));
        let first = send.submit(send.job().tag(tag("red"))).await;
        assert!(first.as_str().starts_with("mail~"), "{first}");
        let after = bounce.submit(bounce.job().after(first.clone()).parent(first.clone())).await;
        let by_tag = bounce.submit(bounce.job().tag(tag("red")).after_tags()).await;
        assert_eq!(fixture.status(&after).await, Status::New);
        assert_eq!(fixture.status(&by_tag).await, Status::New);

        let own = fixture.put("own").await;
        let strangers = [
            send.job().after(own.clone()),
            send.job().parent(own.clone()),
            send.job().id(own),
            fixture.job().after(first.clone()),
            fixture.job().parent(first.clone()),
            Submission::new("post/send").expect("a queue").after(first.clone()),
        ];
        for job in strangers {
            let refused = fixture.hive.submit(job).await;
            assert!(matches!(refused, Err(Error::Invalid { .. })), "on every store: {refused:?}");
        }
        let other =
            fixture.hive.search(&fixture.queue.group(), &[tag("red")]).await.expect("found");
        let mine = fixture.hive.search(&send.queue.group(), &[tag("red")]).await.expect("found");
        match fixture.hive.store().layout() {
            Layout::Cluster => assert!(other.is_empty(), "the tags of another group: {other:?}"),
            Layout::Documented => assert_eq!(other.len(), mine.len()),
        }
        assert_eq!(mine.len(), 2);
        let some = async |tags: &[keys::Tag], max| {
            fixture.hive.search_some(&send.queue.group(), tags, max).await.expect("found")
        };
        let (mut first_ones, total) = some(&[tag("red")], 10).await;
        first_ones.sort_unstable();
        let mut all = mine.clone();
        all.sort_unstable();
        assert_eq!((&first_ones, total), (&all, 2));
        let (one, total) = some(&[tag("red"), tag("red")], 1).await;
        assert_eq!((one.len(), total), (1, 2));
        assert_eq!(some(&[tag("red"), tag("nobody's")], 10).await, (vec![], 0));
        assert_eq!(some(&[], 10).await, (vec![], 0));

        let job = send.claim_one().await;
        send.settle(&job, completed("1")).await;
        assert_eq!(fixture.status(&after).await, Status::Queued);
        assert_eq!(fixture.status(&by_tag).await, Status::Queued);
        fixture.hive.cancel_even_completed(&first).await.expect("canceled");
        assert_eq!(fixture.status(&after).await, Status::Canceled, "a child in another queue");
    })
    .await;
}

#[tokio::test]
async fn a_group_changes_names_on_a_cluster_only() {
    everywhere(async |fixture| {
        let fixture = fixture.on("mail/send");
        fixture.submit(fixture.job().id(jid("mail~1"))).await;
        let key = keys::queue(&queue("mail/send"), &fixture.queue.group());
        let placed = fixture.hive.store().place(&key).into_owned();
        let expected = match fixture.hive.store().layout() {
            Layout::Cluster => "{mail}bee:ss:queue:mail/send",
            Layout::Documented => "bee:ss:queue:mail/send",
        };
        assert_eq!(placed, expected);
        assert!(fixture.exists(&key).await);
    })
    .await;
}
