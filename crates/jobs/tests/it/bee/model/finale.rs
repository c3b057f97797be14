//! The end of a run: everybody works until nothing is left, and then nothing is.

use keyrack_lint::{Options, lint};

use super::{
    check::same,
    seen::{REGISTRY, SeenJob},
    steps::{Ending, LIMITS, QUEUES, Report, ReserveRequest, Setting, TENANTS},
    world::{World, failed, queue_name},
};

/// Rounds in which all jobs must end: more than the longest delay and all lock times together.
const ROUNDS_MAX: usize = 120;
const ROUND_MS: u64 = 20_000;
const DAY_MS: u64 = 86_400_000;
/// Reservations are told of while they end, as most of them are.
const LAST_ENDS: [Ending; 10] = [Ending::Complete { ttl: Some(60_000) }; 10];
/// Families whose keys outlive all jobs.
const PERMANENT: [&str; 1] = ["queues"];

/// Checks that every job comes to its end and that no key is left behind.
pub(super) async fn finale(world: &mut World) -> Result<(), String> {
    check_declarations(world).await?;
    check_counts(world).await?;
    lift_limits(world).await?;
    drain(world).await?;
    world.look().await?;
    check_declarations(world).await?;
    expire(world).await
}

async fn check_declarations(world: &World) -> Result<(), String> {
    let report = lint(world.hive.store(), &REGISTRY, &Options::default(), |_| {})
        .await
        .map_err(|error| error.to_string())?;
    same("what the lint finds", &Default::default(), &report.findings)
}

/// What is reserved counts as running.
async fn check_counts(world: &World) -> Result<(), String> {
    for queue in 0..QUEUES.len() {
        let stats = world.hive.stats(&queue_name(queue)).await.map_err(failed)?;
        let running = world.facts.running(queue).map(|(_, job)| job.worker.clone());
        let reservations =
            world.facts.reservations.iter().filter(|(_, reservation)| reservation.queue == queue);
        let reserved = reservations
            .flat_map(|((worker, _), reservation)| vec![worker.clone(); reservation.jids.len()]);
        let holders: Vec<String> = running.chain(reserved).collect();
        same("how many jobs run", &(holders.len() as u64), &stats.running)?;
        for worker in &stats.workers {
            let n = holders.iter().filter(|holder| **holder == worker.worker).count() as u64;
            same(&format!("how many jobs {} has", worker.worker), &n, &worker.running)?;
        }
    }
    Ok(())
}

async fn lift_limits(world: &mut World) -> Result<(), String> {
    for queue in 0..QUEUES.len() {
        let settings = [
            Setting::Paused(false),
            Setting::Concurrency(None),
            Setting::Rate(None),
            Setting::TenantConcurrency(None),
            Setting::TenantRate(None),
            Setting::CompletedMax(None),
            Setting::FailedMax(None),
            Setting::FailedTtl(None),
            Setting::Retries(None),
            Setting::Backoff(None),
            Setting::Timeout(None),
        ];
        let own = TENANTS.into_iter().flat_map(|name| {
            [
                Setting::OneTenant(name, None),
                Setting::OneTenantRate(name, None),
                Setting::Weight(name, None),
                Setting::TenantPaused(name, false),
            ]
        });
        let named = LIMITS.into_iter().map(|name| Setting::Named(name, None, None));
        for setting in settings.into_iter().chain(own).chain(named) {
            world.set(queue, setting).await?;
        }
    }
    Ok(())
}

/// One worker for each queue does everything. The others are not heard of again, nor are their jobs lost.
async fn drain(world: &mut World) -> Result<(), String> {
    for round in 0..ROUNDS_MAX {
        if world.facts.jobs.values().all(|job| job.place.has_ended()) {
            return Ok(());
        }
        world.wait(ROUND_MS);
        for at in 0..QUEUES.len() {
            world.sweep(world.workers[at].queue, false).await?;
            world.heartbeat(at).await?;
        }
        world.look().await?;
        for at in 0..QUEUES.len() {
            match round % 2 {
                0 => world.claim(at, 100).await?,
                _ => {
                    world
                        .reserve(at, ReserveRequest { max: 100, ..ReserveRequest::default() })
                        .await?
                }
            }
        }
        for at in 0..QUEUES.len() {
            while !world.workers[at].reservations.is_empty() {
                let report = Report { ends: LAST_ENDS.into(), ..Report::default() };
                world.close_oldest(at, &report).await?;
            }
            let all = vec![Ending::Complete { ttl: None }; world.workers[at].claims.len()];
            world.settle(at, &all, 0).await?;
        }
    }
    let open = world.facts.jobs.iter().filter(|(_, job)| !job.place.has_ended());
    let open: Vec<String> = open
        .map(|(jid, job)| format!("{jid} is {:?}: {:?}", job.place, events(&world.seen.jobs[jid])))
        .collect();
    Err(format!("jobs that never end: {open:#?}"))
}

fn events(job: &SeenJob) -> Vec<&str> {
    job.history.iter().map(|entry| entry.event.as_str()).collect()
}

async fn expire(world: &mut World) -> Result<(), String> {
    // A result is kept for up to a day, a failed job for a week, and what is left of it for another day.
    for _ in 0..3 {
        world.wait(8 * DAY_MS);
        for at in 0..world.workers.len() {
            world.heartbeat(at).await?;
            world.sweep(world.workers[at].queue, false).await?;
        }
        world.look().await?;
    }
    for at in 0..world.workers.len() {
        world.leave(at).await?;
    }
    // What was recorded of each hour is kept for 90 days.
    world.wait(91 * DAY_MS);
    world.look().await?;
    same("what is left", &PERMANENT.into(), &world.seen.families())
}
