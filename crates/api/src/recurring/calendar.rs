//! The next runs of recurring jobs.

use std::sync::Arc;

use axum::{Json, extract::State};
use jiff::{SignedDuration, Timestamp};
use keyrack_jobs::recurring::UPCOMING_MAX;
use keyrack_web::{App, Problem, error::invalid, extract::Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::queue;

/// Days and runs that are told unless asked for others.
const DAYS: u32 = 7;
const DAYS_MAX: u32 = 366;
const RUNS: usize = 500;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Ahead {
    /// How many days to look ahead: 1 to 366, and 7 unless said otherwise.
    days: Option<u32>,
    /// How many runs to tell at most: 1 to 5000, and 500 unless said otherwise.
    limit: Option<usize>,
}

/// Runs of recurring jobs that are to come.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Calendar {
    /// The runs, soonest first.
    runs: Vec<CalendarRun>,
    /// Whether there are more within these days.
    more: bool,
}

/// A run that is to come.
#[derive(Debug, Serialize, ToSchema)]
struct CalendarRun {
    /// When it is due, in unix milliseconds; in the past if it is due now.
    at: i64,
    /// The recurring job.
    name: String,
    /// The queue that it is put into; without one it goes to the hot queue.
    queue: Option<String>,
}

/// Tells the next runs of all recurring jobs that are not paused.
#[utoipa::path(get, path = "/calendar", tag = "recurring", operation_id = "recurringCalendar", params(Ahead),
    responses((status = OK, body = Calendar)))]
pub(super) async fn calendar(
    State(app): State<Arc<App>>,
    Query(ahead): Query<Ahead>,
) -> Result<Json<Calendar>, Problem> {
    let (days, limit) = (ahead.days.unwrap_or(DAYS), ahead.limit.unwrap_or(RUNS));
    if !(1..=DAYS_MAX).contains(&days) {
        return Err(invalid("days", format!("{days}; give 1 to {DAYS_MAX}")));
    }
    if !(1..=UPCOMING_MAX).contains(&limit) {
        return Err(invalid("limit", format!("{limit}; give 1 to {UPCOMING_MAX}")));
    }
    let recurring = app.services.recurring().await?;
    let until = until(app.services.store.now_ms(), days);
    let upcoming = recurring.upcoming(until, limit).await?;
    let runs = upcoming.runs.iter().map(|run| {
        let definition = &upcoming.jobs[run.job].definition;
        CalendarRun {
            at: run.at.as_millisecond(),
            name: definition.name().to_owned(),
            queue: queue(definition.target()),
        }
    });
    Ok(Json(Calendar { runs: runs.collect(), more: upcoming.more }))
}

fn until(now_ms: u64, days: u32) -> Timestamp {
    let now = i64::try_from(now_ms).unwrap_or(i64::MAX);
    let now = Timestamp::from_millisecond(now).unwrap_or(Timestamp::MAX);
    now.checked_add(SignedDuration::from_hours(24 * i64::from(days))).unwrap_or(Timestamp::MAX)
}
