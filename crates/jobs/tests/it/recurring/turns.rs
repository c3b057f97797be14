//! What a scheduler does again and again.

use std::time::Duration;

use keyrack_jobs::recurring::{Error, keys};

use super::world::{ALONE, NOW, World, daily, hourly, minutely, on_every_store_at, original, unix};

#[tokio::test]
async fn nothing_happens_before_a_job_is_due_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let mut scheduler = world.scheduler(vec![hourly("a"), minutely("b")]);
        let turn = scheduler.turn().await.expect("a turn");
        // The rest of this minute is longer than a scheduler sleeps.
        assert_eq!((turn.fired.queued, turn.pause), (0, Duration::from_secs(10)));
        world.advance_s(55);
        let turn = scheduler.turn().await.expect("a turn");
        assert_eq!((turn.fired.queued, turn.pause), (0, Duration::from_millis(4500)));
        assert!(world.hot().await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_due_job_is_queued_and_rescheduled_in_one_step_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let mut scheduler = world.scheduler(original());
        scheduler.turn().await.expect("a turn");
        world.advance_s(30);
        let turn = scheduler.turn().await.expect("a turn");
        assert_eq!((turn.fired.queued, turn.pause), (1, Duration::ZERO));
        assert_eq!(world.hot().await, [
            r#"{"name":"runners.revenue_cat.sweep_open_stripe_checkout_sessions","kwargs":{},"queued_at":1670241630.5}"#
        ]);
        assert!(!world.exists(&keys::purgatory()).await);
        world.advance_s(30);
        let turn = scheduler.turn().await.expect("a turn");
        assert_eq!(turn.fired.queued, 2);
        let ping = r#"{"name":"runners.example","kwargs":{"message":"Ping from recurring_jobs"},"queued_at":1670241660.5}"#;
        assert!(world.hot().await.contains(&ping.to_owned()));
        let scores: Vec<i64> = world.rjobs().await.into_iter().map(|(_, score)| score).collect();
        assert_eq!(scores, ["2022-12-05T12:01:30Z", "2022-12-05T12:02:00Z", "2022-12-06T08:00:00Z"].map(unix));
        world.assert_clean().await;
    })
    .await;
}

#[tokio::test]
async fn missed_runs_become_one_unless_a_job_catches_up_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let jobs = || {
            vec![
                minutely("one").kwarg("x", "1"),
                minutely("three").catching_up(3),
                hourly("two").catching_up(1000),
            ]
        };
        let mut scheduler = world.scheduler(jobs());
        scheduler.turn().await.expect("a turn");
        world.advance_s(2 * 3600 + 300);
        assert_eq!(scheduler.turn().await.expect("a turn").fired.queued, 6);
        let mut names = world.hot_names().await;
        names.sort();
        assert_eq!(names, ["one", "three", "three", "three", "two", "two"]);
        // The next run is after now, not after the run that was missed.
        let scores: Vec<i64> = world.rjobs().await.into_iter().map(|(_, score)| score).collect();
        assert_eq!(
            scores,
            ["2022-12-05T14:06:00Z", "2022-12-05T14:06:00Z", "2022-12-05T15:00:00Z"].map(unix)
        );
    })
    .await;
}

#[tokio::test]
async fn a_scheduler_whose_list_is_not_in_force_queues_nothing_and_lives_on_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let mut ours = world.scheduler(vec![minutely("ours")]);
        ours.turn().await.expect("a turn");
        let mut theirs = world.scheduler(vec![minutely("theirs")]);
        theirs.turn().await.expect("a turn");
        world.advance_s(60);
        for _ in 0..2 {
            let error = ours.turn().await.expect_err("another list is in force");
            assert!(matches!(error, Error::OtherList { .. }), "{error}");
        }
        assert_eq!(theirs.turn().await.expect("a turn").fired.queued, 1);
        assert_eq!(world.hot_names().await, ["theirs"]);
        // Whoever starts with a list puts it in force again, and the one that waited goes on.
        world.scheduler(vec![minutely("ours")]).turn().await.expect("a turn");
        world.advance_s(60);
        assert_eq!(ours.turn().await.expect("a turn").fired.queued, 1);
    })
    .await;
}

#[tokio::test]
async fn digests_that_differ_in_their_last_digit_are_different_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let mut scheduler = world.scheduler(original());
        scheduler.turn().await.expect("a turn");
        world.advance_s(60);
        // As numbers of Lua, the two are the same.
        let _: String = world.command("SET", &keys::digest(), "9002109888067321014").await;
        let error = scheduler.turn().await.expect_err("another list").to_string();
        assert!(error.contains("9002109888067321014"), "{error}");
        assert!(world.hot().await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_store_that_lost_its_schedule_gets_it_back_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let mut scheduler = world.scheduler(vec![minutely("a")]);
        scheduler.turn().await.expect("a turn");
        for key in [keys::rjobs(), keys::digest()] {
            let _: i64 = world.command("DEL", &key, ALONE).await;
        }
        scheduler.turn().await.expect("a turn");
        assert_eq!(world.rjobs().await.len(), 1);
        world.advance_s(60);
        assert_eq!(scheduler.turn().await.expect("a turn").fired.queued, 1);
    })
    .await;
}

#[tokio::test]
async fn a_digest_of_no_job_leaves_the_schedule_instead_of_blocking_it() {
    let world = World::in_memory().await;
    let mut scheduler = world.scheduler(vec![minutely("a")]);
    scheduler.turn().await.expect("a turn");
    world.set_score("12345", 0).await;
    scheduler.turn().await.expect("a turn");
    assert_eq!(world.rjobs().await.len(), 1);
    assert!(world.hot().await.is_empty());
}

#[tokio::test]
async fn midnight_in_the_pacific_comes_once_on_the_day_when_summer_time_ends() {
    let world = World::open("embedded:memory", "2022-11-05T12:00:00Z").await;
    let mut scheduler = world.scheduler(vec![daily("nightly", "US/Pacific")]);
    let mut runs = Vec::new();
    for hour in 0..72 {
        let turn = scheduler.turn().await.expect("a turn");
        runs.extend((turn.fired.queued > 0).then_some(hour));
        world.advance_s(3600);
    }
    // Midnight is 07:00 UTC on the 6th and 08:00 UTC after it.
    assert_eq!(runs, [19, 44, 68]);
}
