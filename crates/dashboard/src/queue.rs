//! The page of one queue, and what can be done to it.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, State},
    response::Response,
};
use keyrack_format as format;
use keyrack_jobs::bee::{
    JobState, Limits, Stats,
    errors::{ErrorGroup, ErrorQuery, Errors},
    keys::QueueName,
};
use keyrack_web::Problem;

use super::{
    Frame, Visit, assets,
    errors::ErrorRow,
    field::Field,
    frame::go_and_tell,
    history::{History, HistorySection, SlowRow, Span, SpanQuery, slowest},
    link,
    live::{View, live_page, show},
    queue_limits::{in_words, named_in_words},
    queue_settings::SettingsForm,
    queues::Worker,
};
use crate::Site;

#[derive(Template)]
#[template(path = "queue.html", blocks = ["live"])]
pub(super) struct QueuePage {
    frame: Frame,
    name: String,
    link: String,
    submit_link: String,
    paused: bool,
    places: Vec<PlaceCount>,
    oldest: Option<String>,
    next_due: Option<String>,
    errors_link: String,
    /// Groups of failures of the last day, the largest first.
    errors: Vec<ErrorRow>,
    /// Charts and the slowest jobs of the last hour. They are not followed: the page's script asks for them now and then.
    history: Option<(HistorySection, Vec<SlowRow>)>,
    workers: Vec<Worker>,
    /// What the form begins with, in groups.
    settings: Vec<(&'static str, Vec<Field>)>,
    /// What single tenants may, or may not, a line for each.
    tenants: Vec<String>,
    /// The limits that jobs name, likewise.
    named_limits: Vec<String>,
    /// How many ended jobs were deleted before their time, if any were.
    dropped: Option<String>,
}
live_page!(QueuePage);

/// How many jobs are in one place.
struct PlaceCount {
    word: &'static str,
    count: String,
    link: String,
    is_bad: bool,
}

/// What the page shows.
struct OneQueue {
    name: QueueName,
    span: Span,
    with_history: bool,
}

/// How many groups of failures are shown, and of how long ago.
const ERRORS_MAX: usize = 5;
const ERRORS_FOR_MS: u64 = 24 * 3_600_000;

impl View for OneQueue {
    type Page = QueuePage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<QueuePage, Problem> {
        let hive = &site.services.jobs().await?.hive;
        hive.check_queue(&self.name).await?;
        let all = ErrorQuery::default();
        let (stats, groups) =
            tokio::try_join!(hive.stats(&self.name), hive.errors(&self.name, &all))?;
        let now = hive.now_ms();
        let mut history = None;
        if self.with_history {
            let section = History::read(hive, &self.name, self.span).await?;
            let slowest = slowest(hive, &self.name, &frame.zone).await?;
            history = Some((section.section(&stats.queue, &frame.zone), slowest));
        }
        let errors = recent_errors(&groups, &frame, now);
        Ok(page(frame, &stats, now, errors, history))
    }
}

/// The largest groups of failures of the last day.
fn recent_errors(errors: &Errors, frame: &Frame, now: u64) -> Vec<ErrorRow> {
    let mut groups: Vec<&ErrorGroup> = errors.groups.iter().collect();
    groups.retain(|group| now.saturating_sub(group.last_at) < ERRORS_FOR_MS);
    groups.sort_by_key(|group| std::cmp::Reverse(group.failed));
    groups.truncate(ERRORS_MAX);
    groups.iter().map(|group| ErrorRow::of(&errors.queue, group, now, &frame.zone)).collect()
}

fn page(
    frame: Frame,
    stats: &Stats,
    now: u64,
    errors: Vec<ErrorRow>,
    history: Option<(HistorySection, Vec<SlowRow>)>,
) -> QueuePage {
    QueuePage {
        frame,
        name: stats.queue.clone(),
        link: link::queue(&stats.queue),
        submit_link: link::with_query("/submit", &[("queue", &stats.queue)]),
        paused: stats.paused,
        places: JobState::ALL.map(|place| PlaceCount::of(place, stats)).into(),
        oldest: stats.oldest_ms.map(format::duration_ms),
        next_due: stats.next_due_at.map(|at| format::relative(at, now)),
        errors_link: link::with_query("/errors", &[("queue", &stats.queue)]),
        errors,
        history,
        workers: stats.workers.iter().map(|worker| Worker::of(worker, &stats.queue, now)).collect(),
        settings: SettingsForm::of(&stats.limits).fields(),
        tenants: tenants(&stats.limits),
        named_limits: named_in_words(&stats.limits),
        dropped: (stats.dropped > 0).then(|| format::counted(stats.dropped, "ended job")),
    }
}

/// What tenants may, in words.
fn tenants(limits: &Limits) -> Vec<String> {
    let every = limits.tenant_rate.iter().map(|own| format!("every tenant: {}", in_words(own)));
    let at_once = limits.tenants.iter().map(|(name, n)| format!("{name}: {n} at once"));
    let rates = limits.tenant_rates.iter().map(|(name, own)| format!("{name}: {}", in_words(own)));
    let weights =
        limits.tenant_weights.iter().map(|(name, n)| format!("{name}: {n} turns to one of others"));
    let paused = limits.paused_tenants.iter().map(|name| format!("{name}: paused"));
    every.chain(at_once).chain(rates).chain(weights).chain(paused).collect()
}

impl PlaceCount {
    fn of(place: JobState, stats: &Stats) -> PlaceCount {
        let n = stats.jobs_in(place);
        let filter = [("queue", stats.queue.as_str()), ("place", place.as_str())];
        PlaceCount {
            word: place.as_str(),
            count: format::count(n),
            link: link::with_query("/find", &filter),
            is_bad: place == JobState::Failed && n > 0,
        }
    }
}

/// `GET /queues/{queue}`
pub(crate) async fn queue(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    visit: Visit,
) -> Response {
    let wanted = queue_name(name).and_then(|name| {
        let span = visit.query::<SpanQuery>()?.span()?;
        Ok(OneQueue { name, span, with_history: !visit.is_stream })
    });
    match wanted {
        Ok(wanted) => show(site, visit, wanted).await,
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

/// `POST /queues/{queue}/pause`
pub(crate) async fn pause(State(site): State<Arc<Site>>, Path(name): Path<String>) -> Response {
    let done = async {
        let queue = queue_name(name.clone())?;
        let hive = &site.services.jobs().await?.hive;
        hive.check_queue(&queue).await?;
        Ok(hive.pause(&queue).await?)
    };
    answer(&name, done.await, "Paused: jobs that run go on, no others start.")
}

/// `POST /queues/{queue}/resume`
pub(crate) async fn resume(State(site): State<Arc<Site>>, Path(name): Path<String>) -> Response {
    let done = async {
        let queue = queue_name(name.clone())?;
        let hive = &site.services.jobs().await?.hive;
        hive.check_queue(&queue).await?;
        Ok(hive.resume(&queue).await?)
    };
    answer(&name, done.await, "Resumed: jobs start again.")
}

/// `POST /queues/{queue}/delete`
pub(crate) async fn delete(State(site): State<Arc<Site>>, Path(name): Path<String>) -> Response {
    let done: Result<(), Problem> = async {
        let queue = queue_name(name.clone())?;
        let hive = &site.services.jobs().await?.hive;
        hive.check_queue(&queue).await?;
        Ok(hive.delete_queue(&queue).await?)
    }
    .await;
    match done {
        Ok(()) => go_and_tell("/jobs", true, &format!("Queue \"{name}\" deleted.")),
        Err(problem) => go_and_tell(&link::queue(&name), false, problem.message()),
    }
}

pub(super) fn queue_name(name: impl Into<String>) -> Result<QueueName, Problem> {
    Ok(QueueName::new(name).map_err(keyrack_jobs::Error::from)?)
}

pub(super) fn answer(name: &str, done: Result<(), Problem>, well: &str) -> Response {
    let to = link::queue(name);
    match done {
        Ok(()) => go_and_tell(&to, true, well),
        Err(problem) => go_and_tell(&to, false, problem.message()),
    }
}
