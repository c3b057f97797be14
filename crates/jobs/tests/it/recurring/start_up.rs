//! What a scheduler does first.

use keyrack_jobs::recurring::keys;

use super::world::{
    ALONE, NOW, SUMMER, WINTER, World, daily, hourly, minutely, on_every_store_at, original, unix,
};

/// The members of a schedule in a stable order.
fn sorted(mut schedule: Vec<(String, i64)>) -> Vec<(String, i64)> {
    schedule.sort();
    schedule
}

async fn digest_of(
    world: &World,
    name: &str,
    jobs: Vec<keyrack_jobs::recurring::Definition>,
) -> String {
    let listing = world.recurring(jobs).list().await.expect("a list");
    let job = listing.jobs.into_iter().find(|job| job.definition.name() == name);
    job.expect("the job").digest().expect("a digest").to_owned()
}

#[tokio::test]
async fn first_start_writes_the_documented_keys_to_the_byte_on_every_store() {
    on_every_store_at(NOW, async |world| {
        world.scheduler(original()).turn().await.expect("a turn");
        let (jobs, list) = WINTER;
        assert_eq!(world.digest().await.as_deref(), Some(list));
        let digest_type: String = world.command("TYPE", &keys::digest(), ALONE).await;
        assert_eq!(digest_type, "string");
        let expected = [
            (jobs[0].to_owned(), unix("2022-12-05T12:01:00Z")),
            (jobs[1].to_owned(), unix("2022-12-06T08:00:00Z")),
            (jobs[2].to_owned(), unix("2022-12-05T12:00:30Z")),
        ];
        assert_eq!(sorted(world.rjobs().await), sorted(expected.into()));
        assert!(world.hot().await.is_empty());
        assert!(!world.exists(&keys::purgatory()).await);
        let ttl: i64 = world.command("TTL", &keys::rjobs(), ALONE).await;
        assert_eq!(ttl, -1);
        world.assert_clean().await;
    })
    .await;
}

#[tokio::test]
async fn a_list_in_force_is_left_alone_on_every_store() {
    on_every_store_at(NOW, async |world| {
        world.scheduler(vec![hourly("a")]).turn().await.expect("a turn");
        let (job, _) = world.rjobs().await.remove(0);
        // Later than its next run: an update would move it.
        world.set_score(&job, unix("2022-12-05T20:00:00Z")).await;
        world.scheduler(vec![hourly("a")]).turn().await.expect("a turn");
        assert_eq!(world.rjobs().await, [(job, unix("2022-12-05T20:00:00Z"))]);
    })
    .await;
}

#[tokio::test]
async fn a_changed_list_keeps_overdue_jobs_due_and_drops_removed_ones_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let before = || vec![hourly("overdue"), hourly("far"), hourly("removed")];
        world.scheduler(before()).turn().await.expect("a turn");
        let overdue = digest_of(&world, "overdue", before()).await;
        let far = digest_of(&world, "far", before()).await;
        world.set_score(&overdue, unix("2022-12-05T03:00:00Z")).await;
        world.set_score(&far, unix("2022-12-25T03:00:00Z")).await;
        let _: i64 = world.command("SADD", &keys::purgatory(), &far).await;

        let after = || vec![hourly("overdue"), hourly("far"), hourly("new")];
        world.recurring(after()).list().await.expect("a list");
        let mut scheduler = world.scheduler(after());
        let turn = scheduler.turn().await.expect("a turn");
        assert_eq!(turn.fired.queued, 1);
        assert_eq!(world.hot_names().await, ["overdue"]);
        let new = digest_of(&world, "new", after()).await;
        // min(existing, next): what was too late comes at its next run.
        let at_one = unix("2022-12-05T13:00:00Z");
        assert_eq!(
            sorted(world.rjobs().await),
            sorted(vec![(overdue, at_one), (far, at_one), (new, at_one)])
        );
        assert!(world.purgatory().await.is_empty());
        world.assert_clean().await;
    })
    .await;
}

#[tokio::test]
async fn purgatory_is_emptied_at_start_up_and_the_interrupted_run_not_repeated_on_every_store() {
    on_every_store_at(NOW, async |world| {
        world.scheduler(vec![hourly("a"), minutely("b")]).turn().await.expect("a turn");
        let a = digest_of(&world, "a", vec![hourly("a"), minutely("b")]).await;
        let _: i64 = world.command("ZREM", &keys::rjobs(), &a).await;
        let _: i64 = world.command("SADD", &keys::purgatory(), &[a.as_str(), "12345"]).await;

        world.scheduler(vec![hourly("a"), minutely("b")]).turn().await.expect("a turn");
        assert!(world.rjobs().await.contains(&(a, unix("2022-12-05T13:00:00Z"))));
        assert_eq!(world.rjobs().await.len(), 2);
        assert!(!world.exists(&keys::purgatory()).await && !world.exists(&keys::since()).await);
        assert!(world.hot().await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_list_that_a_process_put_in_force_in_summer_is_the_same_list_in_winter() {
    let world = World::in_memory().await;
    let (jobs, list) = SUMMER;
    let _: String = world.command("SET", &keys::digest(), list).await;
    for job in jobs {
        world.set_score(job, unix("2022-12-05T11:59:00Z")).await;
    }
    let mut scheduler = world.scheduler(original());
    assert_eq!(scheduler.turn().await.expect("a turn").fired.queued, 3);
    assert_eq!(world.digest().await.as_deref(), Some(list));
    assert!(world.rjobs().await.iter().all(|(job, _)| jobs.contains(&job.as_str())));

    // A process that starts now and knows winter only rewrites the list; ours follows.
    let (winter_jobs, winter_list) = WINTER;
    let _: i64 = world.command("DEL", &keys::rjobs(), ALONE).await;
    let _: String = world.command("SET", &keys::digest(), winter_list).await;
    for job in winter_jobs {
        world.set_score(job, unix("2022-12-05T12:00:00Z")).await;
    }
    assert_eq!(scheduler.turn().await.expect("a turn").fired.queued, 3);
    assert!(world.rjobs().await.iter().all(|(job, _)| winter_jobs.contains(&job.as_str())));
}

#[tokio::test]
async fn a_list_that_changes_with_the_season_keeps_what_is_due_and_paused_on_every_store() {
    on_every_store_at("2022-11-05T12:00:00Z", async |world| {
        let before =
            || vec![daily("due", "US/Pacific"), daily("paused", "US/Pacific").kwarg("x", "1")];
        world.scheduler(before()).turn().await.expect("a turn");
        world.recurring(before()).pause("paused").await.expect("paused");
        let summer: Vec<String> = world.rjobs().await.into_iter().map(|(job, _)| job).collect();

        // Two days later the clocks have changed, nobody ran meanwhile, and there is one more job.
        world.advance_s(2 * 86_400);
        let after = || {
            let mut jobs = before();
            jobs.push(hourly("new"));
            jobs
        };
        let turn = world.scheduler(after()).turn().await.expect("a turn");
        assert_eq!((turn.fired.queued, turn.fired.paused), (1, 1));
        assert_eq!(world.hot_names().await, ["due"]);
        let listing = world.recurring(after()).list().await.expect("a list");
        assert!(listing.jobs[..2].iter().all(|job| {
            job.digest().is_some_and(|digest| !summer.iter().any(|known| known == digest))
        }));
        let paused: Vec<bool> = listing.jobs.iter().map(|job| job.paused).collect();
        assert_eq!(paused, [false, true, false]);
        world.assert_clean().await;
    })
    .await;
}

#[tokio::test]
async fn an_empty_list_clears_the_schedule() {
    let world = World::in_memory().await;
    world.scheduler(vec![hourly("a")]).turn().await.expect("a turn");
    world.scheduler(vec![]).turn().await.expect("a turn");
    assert!(world.rjobs().await.is_empty());
    assert_eq!(world.digest().await.as_deref(), Some("31"));
}
