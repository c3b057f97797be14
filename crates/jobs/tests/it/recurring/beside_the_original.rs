//! Schedulers of the original program beside ours: they take a job out, queue it and put it back in three steps.

use keyrack_jobs::{hot::keys::hot, recurring::keys};

use super::world::{ALONE, NOW, WINTER, World, on_every_store_at, original, unix};

/// The original's first step: takes the job that is due out of the schedule.
async fn pop(world: &World) -> String {
    let (job, _): (String, f64) = world.command("ZPOPMIN", &keys::rjobs(), ALONE).await;
    let _: i64 = world.command("SADD", &keys::purgatory(), &job).await;
    job
}

/// The original's last step: puts the job back, if it is still out. Returns whether it was.
async fn put_back(world: &World, job: &str, next: i64) -> bool {
    let removed: i64 = world.command("SREM", &keys::purgatory(), job).await;
    if removed == 1 {
        world.set_score(job, next).await;
    }
    removed == 1
}

#[tokio::test]
async fn a_job_that_the_original_is_about_to_queue_is_left_to_it_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let mut ours = world.scheduler(original());
        ours.turn().await.expect("a turn");
        world.advance_s(30);
        let job = pop(&world).await;
        assert_eq!(job, WINTER.0[2]);
        assert_eq!(ours.turn().await.expect("a turn").fired.queued, 0);
        let by_the_original =
            r#"{"name": "runners.sweep", "kwargs": {}, "queued_at": 1670241630.6}"#;
        let _: i64 = world.command("RPUSH", &hot(), by_the_original).await;
        assert!(put_back(&world, &job, unix("2022-12-05T12:01:00Z")).await);
        world.advance_s(30);
        assert_eq!(ours.turn().await.expect("a turn").fired.queued, 2);
        assert_eq!(world.hot().await.len(), 3);
        assert!(!world.exists(&keys::since()).await);
        world.assert_clean().await;
    })
    .await;
}

#[tokio::test]
async fn a_job_that_a_dead_scheduler_left_is_rescued_after_a_minute_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let mut ours = world.scheduler(original());
        ours.turn().await.expect("a turn");
        let job = pop(&world).await;
        let _: i64 = world.command("SADD", &keys::purgatory(), "12345").await;
        ours.turn().await.expect("the first look");
        world.advance_s(59);
        ours.turn().await.expect("too early");
        assert_eq!(world.purgatory().await, ["12345", job.as_str()]);
        world.advance_s(1);
        ours.turn().await.expect("the rescue");
        assert!(world.purgatory().await.is_empty());
        assert!(world.rjobs().await.contains(&(job.clone(), unix("2022-12-05T12:01:30Z"))));
        assert_eq!(world.rjobs().await.len(), 3);
        // The interrupted run is lost, the next is not.
        world.advance_s(30);
        ours.turn().await.expect("a turn");
        let runs = world.hot_names().await;
        let sweeps = runs.iter().filter(|name| name.contains("stripe")).count();
        assert_eq!(sweeps, 1, "{runs:?}");
        // A late end of the lost one changes nothing.
        assert!(!put_back(&world, &job, 0).await);
        world.assert_clean().await;
    })
    .await;
}
