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
use keyrack_jobs::bee::{Bulk, Change, Filter, Hive, JobState, keys::QueueName};
use keyrack_web::{Problem, access::Subject};
use serde::Deserialize;

use self::run::BulkRun;
pub(crate) use self::run::BulkRuns;
use super::{
    Frame, Visit, assets,
    change::ChangeForm,
    field::Field,
    form,
    frame::{go, go_and_tell},
    link,
    live::{View, live_page, show, still},
    queue::queue_name,
};
use crate::Site;

/// How long counting may take; what was counted by then is told as the least.
const PATIENCE: Duration = Duration::from_millis(400);

/// Whoever changes more jobs than this types how many there are.
const TYPED_ABOVE: u64 = 1_000;

/// The word for a change of jobs that wait.
const CHANGE: &str = "change";

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
    /// A group of failures.
    #[serde(default)]
    error: String,
    /// How many jobs match, typed by whoever starts a large change.
    #[serde(default)]
    typed: String,
    /// How many there were when they were asked.
    #[serde(default)]
    counted: u64,
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
    /// What has to be typed, if there are very many.
    typed: Option<String>,
    /// Whether what a change ends cannot be had back.
    is_destructive: bool,
    /// What can be changed, if that is asked for.
    fields: Vec<Field>,
    problem: String,
    back: String,
}

/// `GET /bulk`
pub(crate) async fn ask(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    let asked = async {
        let changes = ChangeForm::default();
        confirmation(&site, &visit, visit.query()?, &changes, String::new()).await
    };
    match asked.await {
        Ok(page) => still(&page, &visit.frame, StatusCode::OK),
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

/// Asks whether that is what is wanted.
async fn confirmation(
    site: &Site,
    visit: &Visit,
    mut wanted: BulkQuery,
    changes: &ChangeForm,
    problem: String,
) -> Result<BulkPage, Problem> {
    let plan = wanted.plan(Change::default())?;
    let hive = &site.services.jobs().await?.hive;
    hive.check_queue(&plan.queue).await?;
    let (count, is_all) = count(hive, &plan).await?;
    let at_least = if is_all { "" } else { "at least " };
    wanted.counted = count;
    Ok(BulkPage {
        verb: verb(&plan.what),
        count: format!("{at_least}{}", format::counted(count, "job")),
        is_none: count == 0,
        typed: (count > TYPED_ABOVE).then(|| format::count(count)),
        is_destructive: matches!(plan.what, Bulk::Cancel),
        fields: match plan.what {
            Bulk::Change(_) => changes.fields(None),
            _ => Vec::new(),
        },
        problem,
        back: wanted.list_link(),
        wanted,
        frame: visit.frame.clone(),
    })
}

/// A number as somebody types it, with or without signs between thousands.
fn typed_number(text: &str) -> Option<u64> {
    let is_between =
        |letter: char| matches!(letter, ',' | '.' | '\'' | '_') || letter.is_whitespace();
    text.chars().filter(|letter| !is_between(*letter)).collect::<String>().parse().ok()
}

/// `POST /bulk`
pub(crate) async fn start(State(site): State<Arc<Site>>, visit: Visit, body: Bytes) -> Response {
    let started = async {
        let (wanted, changes): (BulkQuery, ChangeForm) = (form::read(&body)?, form::read(&body)?);
        let hive = &site.services.jobs().await?.hive;
        let plan = match wanted.checked_plan(hive, &changes).await {
            Ok(plan) => plan,
            Err(problem) if wanted.what == CHANGE => {
                let told = problem.message().to_owned();
                return Ok(Err(confirmation(&site, &visit, wanted, &changes, told).await?));
            }
            Err(problem) => return Err(problem),
        };
        let (total, _) = count(hive, &plan).await?;
        // There may be fewer or more by now than the page has shown.
        let shown = if wanted.counted > TYPED_ABOVE { wanted.counted } else { total };
        let is_sure = total <= TYPED_ABOVE || typed_number(&wanted.typed) == Some(shown);
        if !is_sure {
            let told = format!(
                "Type the number of jobs: more than {} would be changed.",
                format::count(TYPED_ABOVE)
            );
            return Ok(Err(confirmation(&site, &visit, wanted, &changes, told).await?));
        }
        let subject = plan.told();
        let id = site.bulk_runs.start(site.clone(), hive.clone(), plan, total)?;
        Ok::<_, Problem>(Ok((id, subject)))
    };
    match started.await {
        Ok(Ok((id, subject))) => {
            let mut response = go(&format!("/bulk/{id}"));
            response.extensions_mut().insert(Subject(subject));
            response
        }
        Ok(Err(page)) => still(&page, &visit.frame, StatusCode::UNPROCESSABLE_ENTITY),
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
    place: JobState,
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
    /// What is to be done, if all of it makes sense before the first job is changed.
    async fn checked_plan(&self, hive: &Hive, changes: &ChangeForm) -> Result<Plan, Problem> {
        let change = match self.what.as_str() {
            CHANGE => changes.change()?,
            _ => Change::default(),
        };
        let plan = self.plan(change)?;
        hive.check_queue(&plan.queue).await?;
        Ok(Plan { what: hive.ready_for_many(&plan.what).await?, ..plan })
    }

    fn plan(&self, change: Change) -> Result<Plan, Problem> {
        let what = match self.what.as_str() {
            "cancel" => Bulk::Cancel,
            "retry" => Bulk::Retry,
            CHANGE => Bulk::Change(Box::new(change)),
            other => {
                let told = format!("\"{other}\"; use cancel, retry or change");
                return Err(form::wrong("what", &told));
            }
        };
        let place: JobState =
            self.place.parse().map_err(|reason: String| form::wrong("place", &reason))?;
        what.check_place(place)?;
        let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let filter = Filter {
            text: some(&self.text),
            tag: some(&self.tag),
            error: some(&self.error),
            ..Filter::at(place)
        };
        Ok(Plan { what, queue: queue_name(self.queue.as_str())?, filter })
    }

    fn list_link(&self) -> String {
        let pairs = [
            ("queue", &self.queue),
            ("place", &self.place),
            ("tag", &self.tag),
            ("text", &self.text),
            ("error", &self.error),
        ];
        link::with_query("/find", &pairs.map(|(name, value)| (name, value.as_str())))
    }
}

impl Plan {
    /// What it is about, for the audit log.
    fn told(&self) -> String {
        let mut told = format!("{} {} {}", verb(&self.what), self.filter.place, self.queue);
        let Filter { tag, text, error, .. } = &self.filter;
        for (name, value) in [("tag", tag), ("text", text), ("error", error)] {
            if let Some(value) = value {
                told.push_str(&format!(" {name}={value}"));
            }
        }
        if let Bulk::Change(change) = &self.what {
            told.push_str(&format!(": {}", change.names().join(", ")));
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
            ("error", filter.error.as_deref().unwrap_or_default()),
        ];
        link::with_query("/find", &pairs)
    }
}

/// How many jobs match, and whether those are all.
async fn count(hive: &Hive, plan: &Plan) -> Result<(u64, bool), Problem> {
    let Filter { text, tag, error, .. } = &plan.filter;
    if text.is_none() && tag.is_none() && error.is_none() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_typed_with_or_without_signs_between_thousands() {
        for text in ["100000", "100,000", "100.000", " 100 000 ", "100'000"] {
            assert_eq!(typed_number(text), Some(100_000), "{text}");
        }
        for text in ["", "yes", "-1", "1e5"] {
            assert_eq!(typed_number(text), None, "{text}");
        }
    }
}
