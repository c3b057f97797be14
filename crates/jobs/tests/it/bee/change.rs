//! Changing jobs that wait.

use keyrack_jobs::{
    Error,
    bee::{Bulk, Change, End, Filter, Hive, JobState, Unique, keys::Jid},
};

use super::fixture::{Fixture, everywhere, jid, queue};

fn changed(change: impl FnOnce(&mut Change)) -> Change {
    let mut asked = Change::default();
    change(&mut asked);
    asked
}

fn priority(priority: f64) -> Change {
    changed(|change| change.priority = Some(priority))
}

async fn change(hive: &Hive, jid: &Jid, change: Change) -> bool {
    hive.change_job(jid, &change).await.expect("changed")
}

async fn refused(hive: &Hive, jid: &Jid, change: Change) -> String {
    hive.change_job(jid, &change).await.expect_err("refused").to_string()
}

async fn order(f: &Fixture) -> Vec<String> {
    let filter = Filter { place: JobState::Queued, text: None, tag: None, error: None };
    let page = f.hive.list(&f.queue, &filter, None, 100).await.expect("listed");
    page.jobs.iter().map(|job| job.jid().to_owned()).collect()
}

async fn claimed(f: &Fixture) -> Vec<String> {
    f.claim(10).await.iter().map(|job| job.jid().to_owned()).collect()
}

#[tokio::test]
async fn a_priority_moves_a_job_within_its_queue() {
    everywhere(async |f| {
        for name in ["a", "b", "c", "d"] {
            f.put(name).await;
            f.clock.advance_ms(1_000);
        }
        assert!(change(&f.hive, &jid("d"), priority(10.0)).await);
        assert!(!change(&f.hive, &jid("d"), priority(10.0)).await, "it has it");
        assert!(change(&f.hive, &jid("a"), priority(-5.0)).await);
        assert!(change(&f.hive, &jid("c"), priority(0.001)).await);
        assert_eq!(claimed(&f).await, ["d", "b", "c", "a"]);
    })
    .await;
}

#[tokio::test]
async fn who_runs_now_is_first_also_before_priority_ten() {
    everywhere(async |f| {
        f.submit(f.job().id(jid("urgent")).priority(10.0)).await;
        f.submit(f.job().id(jid("later")).delay_ms(60_000.0)).await;
        f.put("last").await;
        let now = || changed(|change| change.run_now = true);
        assert!(change(&f.hive, &jid("last"), now()).await);
        f.clock.advance_ms(5);
        assert!(change(&f.hive, &jid("later"), now()).await);
        assert_eq!(claimed(&f).await, ["last", "later", "urgent"]);
    })
    .await;
}

#[tokio::test]
async fn a_delay_holds_for_a_job_wherever_it_waits() {
    everywhere(async |f| {
        let delay = |ms: f64| changed(|change| change.delay = Some(ms));
        f.put("a").await;
        f.submit(f.job().id(jid("b")).delay_ms(1_000.0)).await;
        for name in ["a", "b"] {
            assert!(change(&f.hive, &jid(name), delay(5_000.0)).await);
        }
        f.clock.advance_ms(4_999);
        assert!(f.claim(10).await.is_empty());
        f.clock.advance_ms(1);
        assert_eq!(claimed(&f).await, ["a", "b"]);

        f.put("first").await;
        f.submit(f.job().id(jid("second")).after(jid("first"))).await;
        let word = refused(&f.hive, &jid("second"), delay(1.0)).await;
        assert!(
            word.contains("is waiting for other jobs; it starts when they have ended"),
            "{word}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_job_moves_to_another_queue_with_all_it_waits_for() {
    everywhere(async |f| {
        let other = f.on("letters");
        let to = || changed(|change| change.queue = Some("letters".into()));
        let unknown = f.hive.change_job(&f.put("a").await, &to()).await;
        assert!(matches!(unknown, Err(Error::NoSuchQueue { .. })), "{unknown:?}");
        other.put("there").await;
        f.clock.advance_ms(5);
        f.submit(f.job().id(jid("b")).delay_ms(1_000.0)).await;
        let within = std::time::Duration::from_millis(1_500);
        f.submit(f.job().id(jid("c")).after(jid("a")).start_within(within)).await;
        for name in ["a", "b", "c"] {
            assert!(change(&f.hive, &jid(name), to()).await, "{name}");
            assert!(!change(&f.hive, &jid(name), to()).await, "it is there");
        }
        assert!(f.claim(10).await.is_empty());
        f.hive.delete_queue(&f.queue).await.expect("nothing is left in it");
        let jobs = other.claim(10).await;
        assert_eq!(jobs.iter().map(|job| job.jid()).collect::<Vec<_>>(), ["there", "a"]);
        f.clock.advance_ms(1_000);
        assert_eq!(claimed(&other).await, ["b"]);
        f.clock.advance_ms(500);
        assert!(other.claim(1).await.is_empty());
        let job = f.hive.job(&jid("c")).await.expect("a job");
        assert_eq!(job.failed_reason(), Some("not started within 1500 ms"));
    })
    .await;
}

#[tokio::test]
async fn a_job_stays_in_its_group() {
    everywhere(async |f| {
        let other = f.on("mail/send");
        other.submit(other.job()).await;
        let a = f.put("a").await;
        let move_out = changed(|change| change.queue = Some("mail/send".into()));
        let word = refused(&f.hive, &a, move_out).await;
        assert!(word.starts_with("queue: \"mail/send\" belongs to the group \"mail\""), "{word}");
        assert_eq!(order(&f).await, ["a"]);
    })
    .await;
}

#[tokio::test]
async fn a_job_that_runs_or_has_ended_is_not_changed() {
    everywhere(async |f| {
        let a = f.put("a").await;
        let job = f.claim_one().await;
        let much = || changed(|change| (change.priority, change.delay) = (Some(3.0), Some(9.0)));
        let before = f.hive.job(&a).await.expect("a job");
        let word = refused(&f.hive, &a, much()).await;
        assert_eq!(word, "the job \"a\" is running; only a job that waits can be changed");
        assert_eq!(f.hive.job(&a).await.expect("a job"), before);
        f.settle(&job, End::Completed { result: "1".into(), ttl_ms: None }).await;
        let word = refused(&f.hive, &a, much()).await;
        assert!(word.contains("is completed; only a job that waits"), "{word}");
        let gone = f.hive.change_job(&jid("nobody"), &much()).await;
        assert!(matches!(gone, Err(Error::NoSuchJob { .. })), "{gone:?}");
    })
    .await;
}

#[tokio::test]
async fn a_job_with_other_arguments_stands_for_its_old_ones_no_longer() {
    everywhere(async |f| {
        let job = |n: u8| f.job().arg(n).unique(Unique::by_args());
        let first = f.submit(job(1)).await;
        assert_eq!(f.submit(job(1)).await, first);
        let asked = Change::default().with_args(&[2]).expect("JSON");
        assert!(change(&f.hive, &first, asked).await);
        let second = f.submit(job(1)).await;
        assert_ne!(second, first);
        assert_eq!(f.hive.job(&first).await.expect("a job").data(), "[2]");
    })
    .await;
}

#[tokio::test]
async fn many_jobs_are_due_together_and_met_once() {
    everywhere(async |f| {
        for n in 0..20 {
            f.submit(f.job().id(jid(&format!("j{n}"))).delay_ms(f64::from(n) * 100.0 + 1.0)).await;
        }
        let filter = Filter { place: JobState::Delayed, text: None, tag: None, error: None };
        let what = Bulk::Change(Box::new(changed(|change| change.delay = Some(700.0))));
        let dry = f.hive.bulk(&f.queue, &filter, &what, true, None).await.expect("counted");
        assert_eq!((dry.matched, dry.changed), (20, 0));
        let done = f.hive.bulk(&f.queue, &filter, &what, false, None).await.expect("changed");
        assert_eq!((done.matched, done.changed, done.next), (20, 20, None));
        f.clock.advance_ms(700);
        assert_eq!(f.claim(100).await.len(), 20);
        let unknown = Bulk::Change(Box::new(changed(|change| change.queue = Some("no".into()))));
        let refused = f.hive.bulk(&queue("emails"), &filter, &unknown, false, None).await;
        assert!(matches!(refused, Err(Error::NoSuchQueue { .. })), "{refused:?}");
    })
    .await;
}
