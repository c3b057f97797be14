//! How jobs run that are defined at run time: by whom, how often, and when they were missed.

use std::time::Duration;

use keyrack_jobs::{
    bee::keys::{QueueName, queue},
    hot::Producer,
    recurring::{Definition, Draft, Recurring, Scheduler, Settings, keys},
};
use keyrack_testkit::wait_until_async;
use serde_json::{Value as Json, json};
use tokio::sync::oneshot;

use super::world::{ALONE, NOW, World, minutely, on_every_store_at, unix};

fn definition(json: Json) -> Definition {
    let draft: Draft = serde_json::from_value(json).expect("a draft");
    Definition::try_from(draft).expect("a good definition")
}

async fn create(recurring: &Recurring, json: Json) {
    recurring.create(definition(json)).await.expect("created");
}

async fn in_queue(world: &World, name: &str) -> i64 {
    let name = QueueName::new(name).expect("a good name");
    world.command("ZCARD", &queue(&name, &name.group()), ALONE).await
}

/// Runs turns until nothing is due; returns how many runs were queued.
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
async fn each_run_is_queued_by_one_of_many_schedulers_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let recurring = world.recurring(Vec::new());
        create(&recurring, json!({"name": "hot", "every": "1m"})).await;
        create(
            &recurring,
            json!({"name": "bee", "cron": "* * * * *", "zone": "UTC", "queue": "q"}),
        )
        .await;
        create(&recurring, json!({"name": "once", "at": "2022-12-05T12:03:00Z", "queue": "q"}))
            .await;
        // Two with different lists, of which one waits, and two without: all of them run what is defined at run time.
        let mut schedulers = vec![
            world.scheduler(vec![minutely("old")]),
            world.scheduler(vec![minutely("new")]),
            world.scheduler_without_list(),
            world.scheduler_without_list(),
        ];
        for scheduler in &mut schedulers {
            scheduler.turn().await.expect("a first turn");
        }
        for _ in 0..5 {
            world.advance_s(60);
            let mut turns = tokio::task::JoinSet::new();
            for mut scheduler in schedulers.drain(..) {
                turns.spawn(async move {
                    // The one whose list is not in force says so.
                    drop(scheduler.turn().await);
                    scheduler
                });
            }
            schedulers = turns.join_all().await;
        }
        let names = world.hot_names().await;
        assert_eq!(names.iter().filter(|name| *name == "hot").count(), 5, "{names:?}");
        assert_eq!(in_queue(&world, "q").await, 6, "five runs by cron, and one");
        assert!(recurring.defined("once").await.is_err(), "what has run once is gone");
        world.assert_clean().await;
    })
    .await;
}

#[tokio::test]
async fn an_old_server_that_starts_again_puts_no_old_definition_back_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let list = || vec![minutely("listed")];
        let recurring = world.recurring(list());
        world.scheduler(list()).turn().await.expect("a turn");
        create(&recurring, json!({"name": "poll", "every": "1m"})).await;
        world.scheduler(list()).turn().await.expect("a turn");
        recurring
            .change(definition(json!({"name": "poll", "every": "1h"})), Some(1))
            .await
            .expect("changed");
        create(&recurring, json!({"name": "gone", "every": "1m"})).await;
        recurring.delete("gone", None).await.expect("deleted");
        world.scheduler(list()).turn().await.expect("an old server that starts again");
        world.scheduler(vec![minutely("another")]).turn().await.expect("another list");
        assert_eq!(recurring.defined("poll").await.expect("defined").version, 2);
        world.advance_s(120);
        assert_eq!(settle(&mut world.scheduler_without_list()).await, 0);
        world.advance_s(3600);
        assert_eq!(settle(&mut world.scheduler_without_list()).await, 1);
    })
    .await;
}

#[tokio::test]
async fn missed_runs_are_skipped_become_one_or_are_made_up_for_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let recurring = world.recurring(Vec::new());
        for (name, catch_up) in [("skip", Some(0)), ("once", None), ("three", Some(3))] {
            let draft = json!({"name": name, "every": "10m", "catch_up": catch_up});
            create(&recurring, draft).await;
        }
        let mut scheduler = world.scheduler_without_list();
        world.advance_s(600);
        assert_eq!(settle(&mut scheduler).await, 3, "a run in time is none that was missed");
        // Down for 50 minutes: five runs were missed, the last of them five minutes ago.
        world.advance_s(50 * 60 + 300);
        assert_eq!(settle(&mut scheduler).await, 4);
        let mut names = world.hot_names().await.split_off(3);
        names.sort();
        assert_eq!(names, ["once", "three", "three", "three"]);
        // Down for 15 minutes; the last run is half a minute late.
        world.advance_s(1800 - 300 + 30);
        assert_eq!(settle(&mut scheduler).await, 1 + 1 + 3);
        let scores: Vec<(String, i64)> =
            world.command("ZRANGE", &keys::defined_due(), &["0", "-1", "WITHSCORES"]).await;
        let next = unix("2022-12-05T13:40:00Z");
        assert!(scores.iter().all(|(_, score)| *score == next), "{scores:?}");
    })
    .await;
}

#[tokio::test]
async fn a_paused_job_is_skipped_until_it_is_resumed_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let recurring = world.recurring(Vec::new());
        create(&recurring, json!({"name": "a", "every": "1m"})).await;
        create(&recurring, json!({"name": "b", "at": "2022-12-05T12:00:30Z"})).await;
        let mut scheduler = world.scheduler_without_list();
        for name in ["a", "b"] {
            recurring.pause(name).await.expect("paused");
        }
        world.advance_s(60);
        let fired = scheduler.turn().await.expect("a turn").fired;
        assert_eq!((fired.queued, fired.paused), (0, 2));
        assert_eq!(recurring.run_now("a").await.expect("queued"), 1);
        for name in ["a", "b"] {
            recurring.resume(name).await.expect("resumed");
        }
        world.advance_s(60);
        assert_eq!(settle(&mut scheduler).await, 1);
        assert_eq!(world.hot_names().await, ["a", "a"]);
        // Its time is over, but nobody has deleted it.
        let listing = recurring.list().await.expect("a list");
        assert_eq!((listing.jobs[1].definition.name(), listing.jobs[1].next_run), ("b", None));
        world.assert_clean().await;
    })
    .await;
}

#[tokio::test]
async fn a_change_keeps_what_is_due_unless_it_is_of_the_schedule_and_makes_no_run_twice_on_every_store()
 {
    on_every_store_at(NOW, async |world| {
        let recurring = world.recurring(Vec::new());
        let job = |every: &str, n: u64| {
            json!({"name": "a", "every": every, "queue": "q", "kwargs": {"n": n}})
        };
        create(&recurring, job("10m", 1)).await;
        world.advance_s(601);
        recurring.change(definition(job("10m", 2)), None).await.expect("changed");
        let mut scheduler = world.scheduler_without_list();
        assert_eq!(settle(&mut scheduler).await, 1, "it was due and stays due");
        // As a scheduler leaves it that died between submitting and setting the next run, before somebody changed the job.
        let _: i64 = world.command("ZADD", &keys::defined_due(), (unix("2022-12-05T12:10:00Z"), "a")).await;
        recurring.change(definition(job("10m", 3)), None).await.expect("changed");
        settle(&mut scheduler).await;
        assert_eq!(in_queue(&world, "q").await, 1);
        world.advance_s(600);
        recurring.change(definition(job("1h", 4)), None).await.expect("changed");
        assert_eq!(settle(&mut scheduler).await, 0, "another schedule begins anew");
    })
    .await;
}

#[tokio::test]
async fn the_next_runs_of_all_jobs_come_in_order_and_are_bounded_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let list = || vec![minutely("listed")];
        let recurring = world.recurring(list());
        world.scheduler(list()).turn().await.expect("a turn");
        create(&recurring, json!({"name": "often", "every": "40s"})).await;
        create(&recurring, json!({"name": "once", "at": "2022-12-05T12:01:10Z"})).await;
        create(&recurring, json!({"name": "paused", "every": "1s"})).await;
        recurring.pause("paused").await.expect("paused");
        let until = "2022-12-05T12:02:00Z".parse().expect("a moment");
        let seen = async |recurring: &Recurring, max| {
            let upcoming = recurring.upcoming(until, max).await.expect("runs");
            let name = |job: usize| upcoming.jobs[job].definition.name().to_owned();
            let runs =
                upcoming.runs.iter().map(|run| (run.at.as_second() - unix(NOW), name(run.job)));
            (runs.collect::<Vec<_>>(), upcoming.more)
        };
        let all = [
            (40, "often"),
            (60, "listed"),
            (70, "once"),
            (80, "often"),
            (120, "listed"),
            (120, "often"),
        ]
        .map(|(at, name)| (at, name.to_owned()));
        let (mut runs, more) = seen(&recurring, 100).await;
        runs.sort();
        assert_eq!((runs.as_slice(), more), (all.as_slice(), false));
        let (runs, more) = seen(&recurring, 3).await;
        assert_eq!((runs.as_slice(), more), (&all[..3], true));
        // Who has another list does not say that it runs.
        let (runs, _) = seen(&world.recurring(vec![minutely("other")]), 100).await;
        assert_eq!(runs.len(), 4);
    })
    .await;
}

#[tokio::test]
async fn a_job_that_is_created_wakes_a_sleeping_scheduler_on_every_store() {
    on_every_store_at(NOW, async |world| {
        // It would sleep for an hour if nobody told it.
        let hour = Duration::from_secs(3600);
        let settings = Settings { look_every: hour, retry_every: hour, ..Settings::default() };
        let scheduler = Scheduler::without_list(world.recurring(Vec::new()), settings);
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(scheduler.run(async { drop(stopped.await) }));
        let recurring = world.recurring(Vec::new());
        let producer = Producer::new(world.store.clone());
        create(&recurring, json!({"name": "a", "every": "1s"})).await;
        wait_until_async("the job to be queued", async || {
            world.advance_s(1);
            recurring.pause("a").await.expect("paused");
            recurring.resume("a").await.expect("resumed");
            matches!(producer.depth().await, Ok(depth) if depth > 0)
        })
        .await;
        stop.send(()).expect("it still runs");
        running.await.expect("it stops");
    })
    .await;
}
