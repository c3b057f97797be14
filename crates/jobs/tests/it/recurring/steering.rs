//! Looking at the list and steering it.

use jiff::Timestamp;
use keyrack_jobs::recurring::{Error, ListState};

use super::world::{NOW, World, daily, hourly, minutely, on_every_store_at};

fn at(text: &str) -> Option<Timestamp> {
    Some(text.parse().expect("a moment"))
}

#[tokio::test]
async fn a_paused_job_is_rescheduled_without_being_queued_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let jobs = || vec![minutely("a"), minutely("b")];
        let (mut scheduler, recurring) = (world.scheduler(jobs()), world.recurring(jobs()));
        // Also before any list is in force.
        recurring.pause("a").await.expect("paused");
        scheduler.turn().await.expect("a turn");
        world.advance_s(60);
        let fired = scheduler.turn().await.expect("a turn").fired;
        assert_eq!((fired.queued, fired.paused), (1, 1));
        assert_eq!(world.hot_names().await, ["b"]);
        let listing = recurring.list().await.expect("a list");
        let seen: Vec<_> = listing.jobs.iter().map(|job| (job.paused, job.next_run)).collect();
        let next = at("2022-12-05T12:02:00Z");
        assert_eq!(seen, [(true, next), (false, next)]);
        world.assert_clean().await;

        recurring.resume("a").await.expect("resumed");
        world.advance_s(60);
        assert_eq!(scheduler.turn().await.expect("a turn").fired.queued, 2);
    })
    .await;
}

#[tokio::test]
async fn a_run_by_hand_leaves_the_schedule_alone_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let jobs = || vec![hourly("a").kwarg("x", "1"), daily("a", "UTC"), minutely("b")];
        let (mut scheduler, recurring) = (world.scheduler(jobs()), world.recurring(jobs()));
        scheduler.turn().await.expect("a turn");
        let before = world.rjobs().await;
        recurring.pause("a").await.expect("paused");
        assert_eq!(recurring.run_now("a").await.expect("queued"), 2);
        assert_eq!(world.hot_names().await, ["a", "a"]);
        assert_eq!(world.rjobs().await, before);
    })
    .await;
}

#[tokio::test]
async fn the_list_tells_names_schedules_and_next_runs_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let jobs = || vec![daily("nightly", "US/Pacific"), hourly("hourly")];
        let recurring = world.recurring(jobs());
        let listing = recurring.list().await.expect("a list");
        assert_eq!(listing.state, ListState::NoList);
        assert_eq!(listing.jobs[0].next_run, at("2022-12-06T08:00:00Z"));

        let mut scheduler = world.scheduler(jobs());
        scheduler.turn().await.expect("a turn");
        // Due since a while: nobody ran.
        world.advance_s(2 * 3600);
        let listing = recurring.list().await.expect("a list");
        assert_eq!(listing.state, ListState::InForce);
        let hourly = &listing.jobs[1];
        assert_eq!(hourly.definition.schedule().to_string(), "cron 0 * * * * in UTC");
        assert_eq!(hourly.next_run, at("2022-12-05T13:00:00Z"));

        world.scheduler(vec![minutely("other")]).turn().await.expect("a turn");
        let listing = recurring.list().await.expect("a list");
        let ListState::OtherList(other) = listing.state else { panic!("{:?}", listing.state) };
        assert_eq!(Some(other), world.digest().await);
        assert_eq!(listing.jobs[1].next_run, at("2022-12-05T15:00:00Z"));
        let error = recurring.pause("hourly").await.expect_err("another list");
        assert!(matches!(error, Error::OtherList { .. }), "{error}");
    })
    .await;
}

#[tokio::test]
async fn what_is_not_defined_cannot_be_steered() {
    let world = World::in_memory().await;
    let recurring = world.recurring(vec![minutely("a")]);
    let said = "there is no recurring job \"b\"";
    assert_eq!(recurring.pause("b").await.expect_err("unknown").to_string(), said);
    assert_eq!(recurring.resume("b").await.expect_err("unknown").to_string(), said);
    assert_eq!(recurring.run_now("b").await.expect_err("unknown").to_string(), said);
    assert!(world.hot().await.is_empty());
}

#[tokio::test]
async fn jobs_that_no_worker_knows_are_told_before_they_are_due() {
    use keyrack_jobs::{
        bee::keys::QueueName,
        hot::{HotWorker, Job, keys::WorkerId},
    };

    let world = World::in_memory().await;
    let id = WorkerId::new("w").expect("a good id");
    let worker = HotWorker::new(world.store.clone(), id).on("known", async |_: Job| Ok(None));
    let for_bee = minutely("of no matter").to_queue(QueueName::new("q").expect("a good name"));
    let known = world.recurring(vec![minutely("known"), for_bee]);
    known.check_known(|name| worker.knows(name)).expect("all are known");
    let unknown = world.recurring(vec![minutely("known"), minutely("a"), minutely("b")]);
    let error = unknown.check_known(|name| worker.knows(name)).expect_err("two are not");
    assert_eq!(
        error.to_string(),
        "no worker knows the recurring jobs \"a\", \"b\"; teach them to one, or correct their names"
    );
}
