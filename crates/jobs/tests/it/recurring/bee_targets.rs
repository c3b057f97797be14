//! Recurring jobs that go to a Bee queue.

use keyrack_jobs::{
    bee::{
        Hive,
        keys::{QueueName, queue},
    },
    recurring::{Definition, Scheduler, keys},
};
use serde_json::json;

use super::world::{NOW, World, minutely, on_every_store_at, unix};

fn queue_name() -> QueueName {
    QueueName::new("mail/newsletter").expect("a good name")
}

fn newsletter() -> Definition {
    minutely("newsletter").kwarg("z", "1").kwarg("a", json!([2])).to_queue(queue_name())
}

async fn waiting(world: &World) -> Vec<String> {
    let queue = queue(&queue_name(), &queue_name().group());
    world.command("ZRANGE", &queue, (0, -1)).await
}

/// Runs turns until nothing is due.
async fn settle(scheduler: &mut Scheduler) -> u64 {
    let mut queued = 0;
    loop {
        let turn = scheduler.turn().await.expect("a turn");
        assert!(turn.fired.failed.is_empty(), "{:?}", turn.fired.failed);
        queued += turn.fired.queued;
        if !turn.pause.is_zero() {
            return queued;
        }
    }
}

#[tokio::test]
async fn a_due_job_is_submitted_with_its_arguments_as_one_object_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let mut scheduler = world.scheduler(vec![newsletter(), minutely("hot")]);
        settle(&mut scheduler).await;
        world.advance_s(60);
        assert_eq!(settle(&mut scheduler).await, 2);
        assert_eq!(world.hot_names().await, ["hot"]);
        let [jid] = waiting(&world).await.try_into().expect("one job");
        let jid = keyrack_jobs::bee::keys::Jid::new(jid).expect("an id");
        let hive = Hive::named(world.store.clone(), "host:1:reader");
        let job = hive.job(&jid).await.expect("the job");
        assert_eq!(job.queue(), "mail/newsletter");
        assert_eq!(job.args(), [json!({"z": "1", "a": [2]})]);
        world.assert_clean().await;
    })
    .await;
}

#[tokio::test]
async fn a_crash_between_submitting_and_rescheduling_makes_no_second_job_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let mut scheduler = world.scheduler(vec![newsletter()]);
        settle(&mut scheduler).await;
        world.advance_s(60);
        settle(&mut scheduler).await;
        let first = waiting(&world).await;
        // As a scheduler leaves it that dies right after submitting.
        let (job, next) = world.rjobs().await.remove(0);
        assert_eq!(next, unix("2022-12-05T12:02:00Z"));
        world.set_score(&job, unix("2022-12-05T12:01:00Z")).await;
        settle(&mut world.scheduler(vec![newsletter()])).await;
        assert_eq!(waiting(&world).await, first);
        assert_eq!(world.rjobs().await, [(job, next)]);
    })
    .await;
}

#[tokio::test]
async fn each_missed_run_that_is_caught_up_with_is_a_job_of_its_own_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let mut scheduler = world.scheduler(vec![newsletter().catching_up(5)]);
        settle(&mut scheduler).await;
        world.advance_s(180);
        assert_eq!(settle(&mut scheduler).await, 3);
        assert_eq!(waiting(&world).await.len(), 3);
    })
    .await;
}

#[tokio::test]
async fn a_paused_job_is_not_submitted_and_one_run_by_hand_is() {
    let world = World::in_memory().await;
    let mut scheduler = world.scheduler(vec![newsletter()]);
    settle(&mut scheduler).await;
    let recurring = world.recurring(vec![newsletter()]);
    recurring.pause("newsletter").await.expect("paused");
    world.advance_s(60);
    assert_eq!(settle(&mut scheduler).await, 0);
    assert!(waiting(&world).await.is_empty());
    for n in 1..=2 {
        assert_eq!(recurring.run_now("newsletter").await.expect("a run"), 1);
        assert_eq!(waiting(&world).await.len(), n);
    }
    assert_eq!(world.rjobs().await[0].1, unix("2022-12-05T12:02:00Z"));
}

#[tokio::test]
async fn a_job_that_cannot_be_submitted_stays_due_and_holds_up_no_other() {
    let world = World::in_memory().await;
    let too_large =
        minutely("large").kwarg("data", "x".repeat(2 << 20).as_str()).to_queue(queue_name());
    let mut scheduler = world.scheduler(vec![too_large, minutely("hot")]);
    scheduler.turn().await.expect("a turn");
    world.advance_s(60);
    let turn = scheduler.turn().await.expect("a turn");
    assert_eq!((turn.fired.queued, turn.fired.failed.len()), (1, 1));
    assert_eq!(turn.fired.failed[0].0, "large");
    assert_eq!(world.rjobs().await[0].1, unix("2022-12-05T12:01:00Z"));
    let turn = scheduler.turn().await.expect("a turn");
    assert_eq!((turn.fired.queued, turn.pause.as_secs()), (0, 10));
    assert!(!world.exists(&keys::purgatory()).await);
}
