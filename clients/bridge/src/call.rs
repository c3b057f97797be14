//! The calls that a store answers. `clients/node/ts/native.ts` has their types.

use serde::Deserialize;

use crate::{
    calculations::{self, Record},
    entitlements::{Link, Lookup},
    error::Failure,
    events::{Listen, OfStream},
    files::{OfFile, OfUpload, Waiting},
    jobs::{ById, ByIds, ByQueue, Logs, SetLimits, Submit},
    limits::Take,
    parts::{Parts, milliseconds, to_json},
    progress::{Begin, End},
    recommendations::{Load, OfPosts, Recommend},
    schedules::{self, ByName},
};

/// Makes a call with its arguments as a JSON object, and returns its answer as JSON.
///
/// # Errors
/// What the call fails with; `invalid` for arguments that it does not take.
pub async fn call(parts: &Parts, name: &str, text: &str) -> Result<String, Failure> {
    let hive = &parts.hive;
    match name {
        "ready" => Ok("null".to_owned()),
        "submit" => read::<Submit<'_>>(text)?.run(hive).await,
        "job" => read::<ById<'_>>(text)?.job(hive).await,
        "outcome" => read::<ById<'_>>(text)?.outcome(hive).await,
        "outcomes" => read::<ByIds<'_>>(text)?.outcomes(hive).await,
        "cancel" => read::<ById<'_>>(text)?.cancel(hive).await,
        "retry" => read::<ById<'_>>(text)?.retry(hive).await,
        "why" => read::<ById<'_>>(text)?.why(hive).await,
        "logs" => read::<Logs<'_>>(text)?.read(hive).await,
        "followLogs" => read::<Logs<'_>>(text)?.follow(hive).await,
        "pause" => read::<ByQueue<'_>>(text)?.pause(hive).await,
        "resume" => read::<ByQueue<'_>>(text)?.resume(hive).await,
        "stats" => read::<ByQueue<'_>>(text)?.stats(hive).await,
        "limits" => read::<ByQueue<'_>>(text)?.limits(hive).await,
        "setLimits" => read::<SetLimits<'_>>(text)?.run(hive).await,
        "schedule" => schedules::set(read(text)?, hive).await,
        "schedules" => schedules::list(hive).await,
        "unschedule" => read::<ByName<'_>>(text)?.delete(hive).await,
        "pauseSchedule" => read::<ByName<'_>>(text)?.pause(hive).await,
        "resumeSchedule" => read::<ByName<'_>>(text)?.resume(hive).await,
        "runSchedule" => read::<ByName<'_>>(text)?.run_now(hive).await,
        "listen" => read::<Listen>(text)?.run(hive, &parts.streams).await,
        "events" => read::<OfStream>(text)?.next(&parts.streams).await,
        "unlisten" => Ok(read::<OfStream>(text)?.close(&parts.streams)),
        "takeLimit" => read::<Take<'_>>(text)?.run(&parts.store).await,
        "beginRun" => read::<Begin<'_>>(text)?.run(parts).await,
        "endRun" => read::<End>(text)?.run(parts).await,
        "recordEvents" => read::<Record<'_>>(text)?.run(&parts.store).await,
        "readResult" => read::<calculations::Read<'_>>(text)?.result(&parts.store).await,
        "readSeries" => read::<calculations::Read<'_>>(text)?.series(&parts.store).await,
        "entitlement" => read::<Lookup<'_>>(text)?.run(parts).await,
        "linkCustomer" => read::<Link<'_>>(text)?.run(parts).await,
        "recommend" => read::<Recommend<'_>>(text)?.run(&parts.store).await,
        "postsShown" => read::<OfPosts<'_>>(text)?.shown(&parts.store).await,
        "hidePosts" => read::<OfPosts<'_>>(text)?.hide(&parts.store).await,
        "loadRecommendations" => read::<Load>(text)?.run(&parts.store).await,
        "beginUpload" => read::<OfFile<'_>>(text)?.begin(parts).await,
        "holdUpload" => read::<OfUpload>(text)?.hold(&parts.uploads).await,
        "saveUpload" => read::<OfUpload>(text)?.save(&parts.uploads).await,
        "abandonUpload" => Ok(read::<OfUpload>(text)?.abandon(&parts.uploads)),
        "deleteFile" => read::<OfFile<'_>>(text)?.delete(&parts.store).await,
        "waitingFiles" => read::<Waiting>(text)?.list(&parts.store).await,
        "listenRedis" => Ok(to_json(&parts.listen().await?)),
        "advance" => read::<Advance>(text)?.run(parts).await,
        _ => Err(Failure::internal(format!("there is no call \"{name}\""))),
    }
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::invalid(error.to_string()))
}

/// Moves the clock of a test on.
#[derive(Deserialize)]
struct Advance {
    ms: f64,
}

impl Advance {
    async fn run(self, parts: &Parts) -> Result<String, Failure> {
        let Some(clock) = &parts.clock else {
            return Err(Failure::invalid("only the clock of a test store can be moved"));
        };
        let by = milliseconds(self.ms);
        parts.hive.move_time(by, || clock.advance(by)).await?;
        schedules::queue_due(&parts.hive).await?;
        Ok("null".to_owned())
    }
}
