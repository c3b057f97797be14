//! Asking a server for its time, and going on asking.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use keyrack_engine::TimeSource;
use redis::{
    RedisResult,
    aio::ConnectionLike,
    cluster_routing::{Route, RoutingInfo, SingleNodeRoutingInfo, SlotAddr},
};
use tokio::{sync::watch, time::sleep};

use super::anchored::{AnchoredClock, Change, Sample};
use crate::{
    connection::{Backend, Connection},
    error::Error,
};

/// Questions of one measurement; the quickest counts, as it tells most exactly.
const QUESTIONS: usize = 3;
/// An answer this quick needs no second one.
const QUICK_US: u64 = 500;
/// How often this machine's setting of the time is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Looks after which the server is asked: good clocks drift apart by less than a millisecond in this time, and a server whose own clock was
/// set is noticed before a lock of the usual 30 s is renewed twice.
const LOOKS_PER_QUESTION: u32 = 10;

/// Makes a clock that shows the time of the server behind a connection.
pub(crate) async fn anchor(
    connection: &Connection,
    source: Arc<dyn TimeSource>,
) -> Result<Arc<AnchoredClock>, Error> {
    let first = measure(connection, &|| source.monotonic_us()).await?;
    Ok(Arc::new(AnchoredClock::new(source, first)))
}

/// Keeps a clock anchored for as long as somebody reads it. `switches` changes when another server has become the primary.
pub(crate) async fn keep_anchored(
    clock: Weak<AnchoredClock>,
    connection: Connection,
    mut switches: Option<watch::Receiver<u64>>,
) {
    let mut looks = 0;
    loop {
        let Some(strong) = clock.upgrade() else { return };
        let asked = tokio::select! {
            () = sleep(LOOK_EVERY) => false,
            () = strong.doubt.notified() => true,
            () = switched(&mut switches) => true,
        };
        strong.look_at_setting();
        looks += 1;
        if !asked && looks < LOOKS_PER_QUESTION {
            continue;
        }
        // A server that does not answer is asked again at the next look.
        if let Ok(sample) = measure(&connection, &|| strong.monotonic_us()).await {
            looks = 0;
            tell(strong.apply(sample));
        }
    }
}

fn tell(change: Change) {
    match change {
        Change::None => {}
        Change::Corrected(us) => tracing::debug!(us, "corrected the clock by the store's"),
        Change::Jumped(us) => tracing::warn!(
            seconds = us as f64 / 1e6,
            "the store's clock has jumped; locks, delays and schedules follow it"
        ),
    }
}

/// Resolves when another server has become the primary; never where there is only one.
async fn switched(switches: &mut Option<watch::Receiver<u64>>) {
    match switches {
        Some(receiver) => {
            if receiver.changed().await.is_err() {
                *switches = None;
            }
        }
        None => std::future::pending().await,
    }
}

async fn measure(connection: &Connection, monotonic_us: &impl Fn() -> u64) -> RedisResult<Sample> {
    let mut best: Option<Sample> = None;
    for _ in 0..QUESTIONS {
        let before_us = monotonic_us();
        let server_us = server_time(connection).await?;
        let after_us = monotonic_us();
        let error_us = after_us.saturating_sub(before_us).div_ceil(2);
        let sample = Sample { monotonic_us: before_us + error_us, server_us, error_us };
        if best.is_none_or(|best| sample.error_us < best.error_us) {
            best = Some(sample);
        }
        if error_us <= QUICK_US {
            break;
        }
    }
    best.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::TimedOut).into())
}

async fn server_time(connection: &Connection) -> RedisResult<u64> {
    let cmd = redis::cmd("TIME");
    let mut connection = connection.clone();
    let reply = match &connection.backend {
        // The nodes of a cluster have a clock each, so that all processes have to go by the same.
        Backend::Cluster(cluster) => {
            let route = Route::new(0, SlotAddr::Master);
            let node = RoutingInfo::SingleNode(SingleNodeRoutingInfo::SpecificNode(route));
            let (mut cluster, _) = cluster.connection().await?;
            cluster.route_command(cmd, node).await?
        }
        _ => connection.req_packed_command(&cmd).await?,
    };
    let (seconds, micros): (u64, u64) = redis::from_redis_value(reply.extract_error()?)?;
    Ok(seconds.saturating_mul(1_000_000).saturating_add(micros))
}
