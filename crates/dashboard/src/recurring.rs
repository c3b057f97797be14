//! The page of what runs by the calendar.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, State},
    response::Response,
};
use keyrack_format as format;
use keyrack_jobs::recurring::{ListState, Listed, Schedule, Target};
use keyrack_web::Problem;

use super::{
    Frame, Visit, assets,
    frame::go_and_tell,
    link,
    live::{View, live_page, show},
};
use crate::Site;

/// How many runs ahead are told.
const RUNS: usize = 3;

#[derive(Template)]
#[template(path = "recurring.html", blocks = ["live"])]
pub(super) struct RecurringPage {
    frame: Frame,
    rows: Vec<Row>,
    /// Why these do not run, if so.
    notice: &'static str,
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
}

struct RecurringView;

impl View for RecurringView {
    type Page = RecurringPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<RecurringPage, Problem> {
        let listing = site.services.recurring().await?.list().await?;
        let notice = match listing.state {
            ListState::InForce => "",
            ListState::NoList => {
                "No scheduler has started yet, so nothing is queued by the calendar."
            }
            ListState::OtherList(_) => "Another program's list is in force; this one waits.",
        };
        let now = site.services.store.now_ms();
        let rows = listing.jobs.iter().map(|listed| Row::of(listed, now)).collect();
        Ok(RecurringPage { frame, rows, notice })
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
            next: runs.first().map(|at| format::relative(*at, now)).unwrap_or_default(),
            runs: runs.into_iter().map(format::utc).collect(),
            paused: listed.paused,
        }
    }
}
