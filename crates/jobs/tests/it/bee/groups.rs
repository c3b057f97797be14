//! Groups of queues: jobs that may know each other, on one node of a cluster.

use keyrack_jobs::{
    Error,
    bee::{Status, Submission, keys},
};
use keyrack_keys::Layout;

use super::rig::{completed, everywhere, jid, queue, tag};

#[tokio::test]
async fn jobs_of_one_group_may_know_each_other_and_others_may_not() {
    everywhere(async |rig| {
        let (send, bounce) = (rig.on("mail/send"), rig.on("mail/bounce"));
        let first = send.submit(send.job().tag(tag("red"))).await;
        assert!(first.as_str().starts_with("mail~"), "{first}");
        let after = bounce.submit(bounce.job().after(first.clone()).parent(first.clone())).await;
        let by_tag = bounce.submit(bounce.job().tag(tag("red")).after_tags()).await;
        assert_eq!(rig.status(&after).await, Status::New);
        assert_eq!(rig.status(&by_tag).await, Status::New);

        let own = rig.put("own").await;
        let strangers = [
            send.job().after(own.clone()),
            send.job().parent(own.clone()),
            send.job().id(own),
            rig.job().after(first.clone()),
            rig.job().parent(first.clone()),
            Submission::new("post/send").expect("a queue").after(first.clone()),
        ];
        for job in strangers {
            let refused = rig.hive.submit(job).await;
            assert!(matches!(refused, Err(Error::Invalid { .. })), "on every store: {refused:?}");
        }
        let other = rig.hive.search(&rig.queue.group(), &[tag("red")]).await.expect("found");
        let mine = rig.hive.search(&send.queue.group(), &[tag("red")]).await.expect("found");
        match rig.hive.store().layout() {
            Layout::Cluster => assert!(other.is_empty(), "the tags of another group: {other:?}"),
            Layout::Documented => assert_eq!(other.len(), mine.len()),
        }
        assert_eq!(mine.len(), 2);
        let some = async |tags: &[keys::Tag], max| {
            rig.hive.search_some(&send.queue.group(), tags, max).await.expect("found")
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
        assert_eq!(rig.status(&after).await, Status::Queued);
        assert_eq!(rig.status(&by_tag).await, Status::Queued);
        rig.hive.cancel_even_completed(&first).await.expect("cancelled");
        assert_eq!(rig.status(&after).await, Status::Canceled, "a child in another queue");
    })
    .await;
}

#[tokio::test]
async fn a_group_changes_names_on_a_cluster_only() {
    everywhere(async |rig| {
        let rig = rig.on("mail/send");
        rig.submit(rig.job().id(jid("mail~1"))).await;
        let key = keys::queue(&queue("mail/send"), &rig.queue.group());
        let placed = rig.hive.store().place(&key).into_owned();
        let expected = match rig.hive.store().layout() {
            Layout::Cluster => "{mail}bee:ss:queue:mail/send",
            Layout::Documented => "bee:ss:queue:mail/send",
        };
        assert_eq!(placed, expected);
        assert!(rig.exists(&key).await);
    })
    .await;
}
