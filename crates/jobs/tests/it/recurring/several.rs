//! Several schedulers at once, some of which die.

use std::collections::HashMap;

use keyrack_jobs::{
    bee::keys::{QueueName, queue},
    recurring::{Definition, Error, Scheduler, Settings, keys},
};
use proptest::prelude::*;

use super::world::{ALONE, NOW, World, hourly, minutely, on_every_store_at, unix};

fn queue_name() -> QueueName {
    QueueName::new("reports").expect("a good name")
}

fn jobs() -> Vec<Definition> {
    vec![
        minutely("minutely"),
        hourly("hourly"),
        minutely("bee").kwarg("x", "1").to_queue(queue_name()),
    ]
}

#[tokio::test]
async fn each_run_is_queued_by_one_of_many_schedulers_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let mut schedulers: Vec<_> = (0..4).map(|_| world.scheduler(jobs())).collect();
        for _ in 0..5 {
            world.advance_s(60);
            let mut turns = tokio::task::JoinSet::new();
            for mut scheduler in schedulers.drain(..) {
                turns.spawn(async move {
                    let turn = scheduler.turn().await.expect("a turn");
                    assert!(turn.fired.failed.is_empty(), "{:?}", turn.fired.failed);
                    scheduler
                });
            }
            schedulers = turns.join_all().await;
        }
        // The first turns only put the list in force.
        assert_eq!(world.hot_names().await, ["minutely"; 4]);
        let submitted: i64 =
            world.command("ZCARD", &queue(&queue_name(), &queue_name().group()), ALONE).await;
        assert_eq!(submitted, 4);
        assert!(world.purgatory().await.is_empty());
        world.assert_clean().await;
    })
    .await;
}

/// What may happen next in a fleet.
#[derive(Debug, Clone)]
enum Step {
    Pass {
        seconds: u64,
    },
    Turn {
        scheduler: usize,
    },
    /// A scheduler of ours starts anew.
    Restart {
        scheduler: usize,
    },
    /// A scheduler of the original takes a due job out and dies, before or after queueing it.
    Die {
        queued: bool,
    },
    Pause {
        job: usize,
    },
    Resume {
        job: usize,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1u64..200).prop_map(|seconds| Step::Pass { seconds }),
        6 => (0usize..3).prop_map(|scheduler| Step::Turn { scheduler }),
        1 => (0usize..3).prop_map(|scheduler| Step::Restart { scheduler }),
        1 => any::<bool>().prop_map(|queued| Step::Die { queued }),
        1 => (0usize..3).prop_map(|job| Step::Pause { job }),
        1 => (0usize..3).prop_map(|job| Step::Resume { job }),
    ];
    prop::collection::vec(step, 1..60)
}

/// Where each job is: scheduled or in purgatory, and in one of them only.
async fn assert_none_lost(world: &World) {
    let scheduled: Vec<String> = world.rjobs().await.into_iter().map(|(job, _)| job).collect();
    let out = world.purgatory().await;
    assert_eq!(scheduled.len() + out.len(), 3, "{scheduled:?} {out:?}");
    assert!(out.iter().all(|job| !scheduled.contains(job)), "{scheduled:?} {out:?}");
}

async fn fleet(steps: Vec<Step>) {
    let world = World::in_memory().await;
    let recurring = world.recurring(jobs());
    let mut schedulers: Vec<_> = (0..3).map(|_| world.scheduler(jobs())).collect();
    schedulers[0].turn().await.expect("a turn");
    let start = unix(NOW);
    let mut passed = 0;
    for step in steps {
        match step {
            Step::Pass { seconds } => {
                world.advance_s(seconds);
                passed += seconds as i64;
            }
            Step::Turn { scheduler } => {
                schedulers[scheduler].turn().await.expect("a turn");
            }
            Step::Restart { scheduler } => schedulers[scheduler] = world.scheduler(jobs()),
            Step::Die { queued } => die(&world, start + passed, queued).await,
            Step::Pause { job } => {
                recurring.pause(jobs()[job].name()).await.expect("paused");
            }
            Step::Resume { job } => {
                recurring.resume(jobs()[job].name()).await.expect("resumed");
            }
        }
        assert_none_lost(&world).await;
    }
    let mut runs: HashMap<String, i64> = HashMap::new();
    for name in world.hot_names().await {
        *runs.entry(name).or_default() += 1;
    }
    let bee: i64 =
        world.command("ZCARD", &queue(&queue_name(), &queue_name().group()), ALONE).await;
    runs.insert("bee".to_owned(), bee);
    for (name, runs) in runs {
        let period = if name == "hourly" { 3600 } else { 60 };
        let most = (start + passed) / period - start / period;
        assert!(runs <= most, "{name} ran {runs} times, but was due {most} times");
    }
    // Whatever happened: a minute after all is quiet, every job is scheduled and runs again.
    for job in jobs() {
        recurring.resume(job.name()).await.expect("resumed");
    }
    schedulers[1].turn().await.expect("the first look");
    world.advance_s(60);
    schedulers[1].turn().await.expect("the rescue");
    assert_eq!((world.rjobs().await.len(), world.purgatory().await.len()), (3, 0));
    world.advance_s(3600);
    assert_eq!(schedulers[1].turn().await.expect("a turn").fired.queued, 3);
    assert!(!world.exists(&keys::since()).await);
    world.assert_clean().await;
}

async fn die(world: &World, now: i64, queued: bool) {
    let due: Vec<String> = world.command("ZRANGEBYSCORE", &keys::rjobs(), ("-inf", now)).await;
    let Some(job) = due.first() else { return };
    let _: i64 = world.command("ZREM", &keys::rjobs(), job).await;
    let _: i64 = world.command("SADD", &keys::purgatory(), job).await;
    if queued {
        let listing = world.recurring(jobs()).list().await.expect("a list");
        let name =
            listing.jobs.iter().find(|listed| listed.digest() == Some(job)).expect("our job");
        if name.definition.name() != "bee" {
            let entry = format!(
                r#"{{"name":"{}","kwargs":{{}},"queued_at":{now}.5}}"#,
                name.definition.name()
            );
            let _: i64 = world.command("RPUSH", &keyrack_jobs::hot::keys::hot(), entry).await;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A failing run prints its steps and a seed by which it is repeated.
    #[test]
    fn no_job_is_lost_or_runs_too_often_whatever_happens_to_schedulers(steps in steps()) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().expect("a runtime");
        runtime.block_on(fleet(steps));
    }
}

#[tokio::test]
async fn an_older_list_that_starts_again_does_not_replace_a_newer_one_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let scheduler = |name: &str, version: u64| {
            let list = world.recurring(vec![minutely(name)]).with_version(version);
            Scheduler::new(list, Settings::default())
        };
        scheduler("old", 1).turn().await.expect("the first list");
        scheduler("new", 2).turn().await.expect("a newer list");
        let in_force = world.digest().await;
        let error = scheduler("old", 1).turn().await.expect_err("an older list");
        assert!(matches!(error, Error::NewerList { found: 2, ours: 1 }), "{error:?}");
        assert_eq!(world.digest().await, in_force);
        scheduler("new", 3).turn().await.expect("the same list");
        assert!(
            scheduler("other", 2).turn().await.is_err(),
            "the same list has a newer version now"
        );
        scheduler("other", 3).turn().await.expect("of the same version, whoever starts last wins");
        world.assert_clean().await;
    })
    .await;
}
