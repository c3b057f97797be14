//! The page of what runs by the calendar, with its next runs. `form` creates and changes jobs.

mod calendar;
mod form;

use std::sync::Arc;

use askama::Template;
use axum::{
    body::Bytes,
    extract::{Path, State},
    response::Response,
};
use keyrack_format as format;
use keyrack_jobs::recurring::{ListState, Listed, Schedule, Target};
use keyrack_web::Problem;
use serde::Deserialize;

use self::calendar::Day;
pub(crate) use self::form::{ask, ask_change, change, create};
use super::{
    Frame, Visit, assets,
    frame::go_and_tell,
    link,
    live::{View, live_page, show},
};
use crate::Site;

/// How many runs ahead are told of each job.
const RUNS: usize = 3;

#[derive(Template)]
#[template(path = "recurring.html", blocks = ["live"])]
pub(super) struct RecurringPage {
    frame: Frame,
    rows: Vec<Row>,
    /// Why those of the settings do not run, if so.
    notice: &'static str,
    /// Names of jobs that cannot be read.
    unreadable: Vec<String>,
    /// The next runs by day.
    days: Vec<Day>,
}
live_page!(RecurringPage);

/// A recurring job.
struct Row {
    name: String,
    link: String,
    target: String,
    target_link: Option<String>,
    schedule: String,
    zone: String,
    next: String,
    runs: Vec<String>,
    paused: bool,
    /// The version of one that was defined at run time.
    version: Option<u64>,
}

struct RecurringView;

impl View for RecurringView {
    type Page = RecurringPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<RecurringPage, Problem> {
        let recurring = site.services.recurring().await?;
        let listing = recurring.list().await?;
        let notice = match listing.state {
            ListState::InForce => "",
            _ if recurring.definitions().is_empty() => "",
            ListState::NoList => {
                "No scheduler has started yet, so jobs of the settings are not queued."
            }
            ListState::OtherList(_) => {
                "Another program's list is in force; the jobs of these settings wait."
            }
        };
        let days = calendar::days(&listing, recurring.now());
        let now = site.services.store.now_ms();
        let rows = listing.jobs.iter().map(|listed| Row::of(listed, now)).collect();
        let unreadable = listing.unreadable.into_iter().map(|(name, _)| name).collect();
        Ok(RecurringPage { frame, rows, notice, unreadable, days })
    }
}

/// `GET /recurring`
pub(crate) async fn recurring(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    show(site, visit, RecurringView).await
}

/// `POST /recurring/{name}/run`
pub(crate) async fn run(State(site): State<Arc<Site>>, Path(name): Path<String>) -> Response {
    let done: Result<usize, Problem> =
        async { Ok(site.services.recurring().await?.run_now(&name).await?) }.await;
    answer(done.map(|n| format!("Queued {}.", format::counted(n as u64, "job"))))
}

/// `POST /recurring/{name}/pause`
pub(crate) async fn pause(State(site): State<Arc<Site>>, Path(name): Path<String>) -> Response {
    let done: Result<(), Problem> =
        async { Ok(site.services.recurring().await?.pause(&name).await?) }.await;
    answer(done.map(|()| "Paused: runs are skipped until it is resumed.".into()))
}

/// `POST /recurring/{name}/resume`
pub(crate) async fn resume(State(site): State<Arc<Site>>, Path(name): Path<String>) -> Response {
    let done: Result<(), Problem> =
        async { Ok(site.services.recurring().await?.resume(&name).await?) }.await;
    answer(done.map(|()| "Resumed.".into()))
}

/// The version that somebody looked at.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LookedAt {
    version: String,
}

/// `POST /recurring/{name}/delete`
pub(crate) async fn delete(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    body: Bytes,
) -> Response {
    let delete = async {
        let looked_at: LookedAt = super::form::read(&body)?;
        let version = super::form::number("version", &looked_at.version)?;
        Ok(site.services.recurring().await?.delete(&name, version).await?)
    };
    let done: Result<(), Problem> = delete.await;
    answer(done.map(|()| "Deleted.".into()))
}

fn answer(done: Result<String, Problem>) -> Response {
    match done {
        Ok(text) => go_and_tell("/recurring", true, &text),
        Err(problem) => go_and_tell("/recurring", false, problem.message()),
    }
}

impl Row {
    fn of(listed: &Listed, now: u64) -> Row {
        let definition = &listed.definition;
        let (schedule, zone) = match definition.schedule() {
            Schedule::Cron(cron) => (cron.expression().to_owned(), cron.zone_name()),
            Schedule::Interval(interval) => ("by filters".to_owned(), interval.zone_name()),
            other @ (Schedule::Every(_) | Schedule::Once(_)) => (other.to_string(), ""),
        };
        let (target, target_link) = match definition.target() {
            Target::Bee(queue) => (queue.to_string(), Some(link::queue(queue.as_str()))),
            Target::Hot => ("hot queue".into(), None),
        };
        let later = |at: &jiff::Timestamp| definition.schedule().next_after(*at);
        let runs: Vec<u64> = std::iter::successors(listed.next_run, later)
            .take(RUNS)
            .map(|at| at.as_millisecond().max(0) as u64)
            .collect();
        Row {
            name: definition.name().to_owned(),
            link: format!("/recurring/{}", link::segment(definition.name())),
            target,
            target_link,
            schedule,
            zone: zone.to_owned(),
            next: runs.first().map_or_else(|| "never".into(), |at| format::relative(*at, now)),
            runs: runs.into_iter().map(format::utc).collect(),
            paused: listed.paused,
            version: listed.version(),
        }
    }
}
