//! Changing all jobs that meet a filter: first how many there are, then a bar that shows how far it is.

mod run;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use askama::Template;
use axum::{
    body::Bytes,
    extract::{Path, State},
    http::StatusCode,
    response::Response,
};
use keyrack_format as format;
use keyrack_jobs::bee::{Bulk, Filter, Hive, Place, keys::QueueName};
use keyrack_web::{Problem, access::Subject};
use serde::Deserialize;

use self::run::BulkRun;
pub(crate) use self::run::BulkRuns;
use super::{
    Frame, Visit, assets, form,
    frame::{go, go_and_tell},
    link,
    live::{View, live_page, show, still},
    queue::queue_name,
};
use crate::Site;

/// How long counting may take; what was counted by then is told as the least.
const PATIENCE: Duration = Duration::from_millis(400);

/// What is wanted, as it stands in the address and in the form.
#[derive(Debug, Clone, Deserialize)]
struct BulkQuery {
    what: String,
    queue: String,
    place: String,
    #[serde(default)]
    tag: String,
    #[serde(default)]
    text: String,
}

/// The same, understood.
#[derive(Debug, Clone)]
struct Plan {
    what: Bulk,
    queue: QueueName,
    filter: Filter,
}

#[derive(Template)]
#[template(path = "bulk.html")]
struct BulkPage {
    frame: Frame,
    wanted: BulkQuery,
    verb: &'static str,
    /// How many jobs match, for people.
    count: String,
    is_none: bool,
    back: String,
}

/// `GET /bulk`
pub(crate) async fn ask(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    let asked = async {
        let wanted: BulkQuery = visit.query()?;
        let plan = wanted.plan()?;
        let hive = &site.services.jobs().await?.hive;
        hive.check_queue(&plan.queue).await?;
        let (count, is_all) = count(hive, &plan).await?;
        let at_least = if is_all { "" } else { "at least " };
        Ok::<_, Problem>(BulkPage {
            verb: verb(&plan.what),
            count: format!("{at_least}{}", format::counted(count, "job")),
            is_none: count == 0,
            back: wanted.list_link(),
            wanted,
            frame: visit.frame.clone(),
        })
    };
    match asked.await {
        Ok(page) => still(&page, &visit.frame, StatusCode::OK),
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

/// `POST /bulk`
pub(crate) async fn start(State(site): State<Arc<Site>>, visit: Visit, body: Bytes) -> Response {
    let started = async {
        let plan = form::read::<BulkQuery>(&body)?.plan()?;
        let hive = &site.services.jobs().await?.hive;
        hive.check_queue(&plan.queue).await?;
        let (total, _) = count(hive, &plan).await?;
        let subject = plan.told();
        let id = site.bulk_runs.start(site.clone(), hive.clone(), plan, total)?;
        Ok::<_, Problem>((id, subject))
    };
    match started.await {
        Ok((id, subject)) => {
            let mut response = go(&format!("/bulk/{id}"));
            response.extensions_mut().insert(Subject(subject));
            response
        }
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

#[derive(Template)]
#[template(path = "bulk_run.html", blocks = ["live"])]
struct BulkRunPage {
    frame: Frame,
    verb: &'static str,
    queue: String,
    queue_link: String,
    place: Place,
    matched: u64,
    total: u64,
    told: String,
    is_over: bool,
    trouble: Option<String>,
    back: String,
}
live_page!(BulkRunPage);

/// What the page of a running change shows.
struct OneBulkRun(Arc<BulkRun>);

impl View for OneBulkRun {
    type Page = BulkRunPage;

    async fn look(&self, _: &Site, frame: Frame) -> Result<BulkRunPage, Problem> {
        let (errand, plan) = (&self.0, &self.0.plan);
        let (matched, changed) = errand.done();
        let outcome = errand.outcome();
        Ok(BulkRunPage {
            frame,
            verb: verb(&plan.what),
            queue: plan.queue.to_string(),
            queue_link: link::queue(plan.queue.as_str()),
            place: plan.filter.place,
            matched,
            // There may be more by now than there were when they were counted.
            total: errand.total.max(matched).max(1),
            told: format!(
                "{} of {} gone through, {} changed",
                format::count(matched),
                format::count(errand.total.max(matched)),
                format::count(changed)
            ),
            is_over: outcome.is_some(),
            trouble: outcome.and_then(|outcome| outcome.err()),
            back: plan.list_link(),
        })
    }
}

/// `GET /bulk/{id}`
pub(crate) async fn errand(
    State(site): State<Arc<Site>>,
    Path(id): Path<u64>,
    visit: Visit,
) -> Response {
    match site.bulk_runs.get(id) {
        Some(errand) => show(site, visit, OneBulkRun(errand)).await,
        None => Problem::new(StatusCode::NOT_FOUND, "errand_not_found")
            .title("this is not known any more")
            .detail("only the last changes of many jobs are kept, until the server stops")
            .for_reader(&visit.headers),
    }
}

/// `POST /bulk/{id}/stop`
pub(crate) async fn stop(State(site): State<Arc<Site>>, Path(id): Path<u64>) -> Response {
    if let Some(errand) = site.bulk_runs.get(id) {
        errand.stop();
    }
    go_and_tell(&format!("/bulk/{id}"), true, "Stopped: what was changed stays changed.")
}

fn verb(what: &Bulk) -> &'static str {
    match what {
        Bulk::Cancel => "Cancel",
        Bulk::Retry => "Retry",
        Bulk::Change(_) => "Change",
    }
}

impl BulkQuery {
    fn plan(&self) -> Result<Plan, Problem> {
        let what = match self.what.as_str() {
            "cancel" => Bulk::Cancel,
            "retry" => Bulk::Retry,
            other => return Err(form::wrong("what", &format!("\"{other}\"; use cancel or retry"))),
        };
        let place: Place =
            self.place.parse().map_err(|reason: String| form::wrong("place", &reason))?;
        what.check_place(place)?;
        let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let filter = Filter { text: some(&self.text), tag: some(&self.tag), ..Filter::at(place) };
        Ok(Plan { what, queue: queue_name(self.queue.as_str())?, filter })
    }

    fn list_link(&self) -> String {
        let pairs = [
            ("queue", &self.queue),
            ("place", &self.place),
            ("tag", &self.tag),
            ("text", &self.text),
        ];
        link::with_query("/find", &pairs.map(|(name, value)| (name, value.as_str())))
    }
}

impl Plan {
    /// What it is about, for the audit log.
    fn told(&self) -> String {
        let mut told = format!("{} {} {}", verb(&self.what), self.filter.place, self.queue);
        for (name, value) in [("tag", &self.filter.tag), ("text", &self.filter.text)] {
            if let Some(value) = value {
                told.push_str(&format!(" {name}={value}"));
            }
        }
        told
    }

    fn list_link(&self) -> String {
        let filter = &self.filter;
        let pairs = [
            ("queue", self.queue.as_str()),
            ("place", filter.place.as_str()),
            ("tag", filter.tag.as_deref().unwrap_or_default()),
            ("text", filter.text.as_deref().unwrap_or_default()),
        ];
        link::with_query("/find", &pairs)
    }
}

/// How many jobs match, and whether those are all.
async fn count(hive: &Hive, plan: &Plan) -> Result<(u64, bool), Problem> {
    if plan.filter.text.is_none() && plan.filter.tag.is_none() {
        let stats = hive.stats(&plan.queue).await?;
        return Ok((stats.jobs_in(plan.filter.place), true));
    }
    let (mut total, mut cursor, started) = (0, None::<String>, Instant::now());
    loop {
        let done =
            hive.bulk(&plan.queue, &plan.filter, &plan.what, true, cursor.as_deref()).await?;
        total += done.matched;
        cursor = done.next;
        if cursor.is_none() || started.elapsed() > PATIENCE {
            return Ok((total, cursor.is_none()));
        }
    }
}
