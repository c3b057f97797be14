//! Submitting a job by a form.

use std::sync::Arc;

use askama::Template;
use axum::{body::Bytes, extract::State, http::StatusCode, response::Response};
use keyrack_jobs::{
    Error,
    bee::{
        BackoffWish, StoredJob, Submission, SubmitOutcome, UniqueBy, UniqueRequest, UniqueUntil,
        checked_priority,
        keys::{Jid, LimitName, Tag, Tenant},
    },
};
use keyrack_web::{Problem, access::Subject};
use serde::Deserialize;

use super::{
    Frame, Visit, assets, field::Field, form, frame::go_and_tell, link, live::still,
    queue::queue_name,
};
use crate::Site;

/// The form, as the browser sends it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SubmitForm {
    queue: String,
    data: String,
    priority: String,
    delay_s: String,
    retries: String,
    timeout_s: String,
    start_within_s: String,
    tags: String,
    tenant: String,
    limits: String,
    after: String,
    parent: String,
    jid: String,
    backoff: String,
    retry_delay_s: String,
    retry_delay_max_s: String,
    retry_jitter: String,
    ttl_s: String,
    failed_ttl_s: String,
    unique_by: String,
    unique_key: String,
    unique_scope: String,
    unique_s: String,
    debounce_max_s: String,
}

/// How waits grow; what is not chosen is as the queue says.
const BACKOFFS: &[(&str, &str)] = &[
    ("", "as the queue says"),
    ("fixed", "fixed: the same each time"),
    ("linear", "linear: one more each time"),
    ("exponential", "exponential: twice as long each time"),
];

/// What equal submissions have in common.
const UNIQUE_BY: &[(&str, &str)] = &[
    ("", "nothing: each is a job of its own"),
    ("args", "the same arguments"),
    ("key", "the same key"),
    ("id", "the same id"),
];

/// For how long a job stands for equal submissions.
const UNIQUE_SCOPES: &[(&str, &str)] = &[
    ("", "until it has ended"),
    ("started", "until a worker takes it"),
    ("for", "for a time"),
    ("debounce", "debounce: run once, after a quiet time"),
    ("throttle", "throttle: run the first, drop others for a time"),
    ("fold", "throttle, and run one more with the last arguments"),
];

#[derive(Template)]
#[template(path = "submit.html")]
struct SubmitPage {
    frame: Frame,
    wanted: SubmitForm,
    queues: Vec<String>,
    /// What happens after failures.
    retrying: Vec<Field>,
    /// Which other submissions are for the same job.
    unique: Vec<Field>,
    problem: String,
}

/// `GET /submit`
pub(crate) async fn form(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    match visit.query::<SubmitForm>() {
        Ok(wanted) => page(&site, visit.frame, wanted, String::new()).await,
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

/// `POST /submit`
pub(crate) async fn submit(State(site): State<Arc<Site>>, visit: Visit, body: Bytes) -> Response {
    let wanted: SubmitForm = match form::read(&body) {
        Ok(wanted) => wanted,
        Err(problem) => return problem.for_reader(&visit.headers),
    };
    match wanted.submit(&site).await {
        Ok(StoredJob { jid, outcome }) => {
            let told = match outcome {
                SubmitOutcome::Created => "Submitted.",
                SubmitOutcome::Existing => "This job stands for it: it was submitted before.",
                SubmitOutcome::Replaced => {
                    "This job stands for it, with the arguments of this one."
                }
            };
            let mut response = go_and_tell(&link::job(jid.as_str()), true, told);
            response.extensions_mut().insert(Subject(format!("{} {jid}", wanted.queue.trim())));
            response
        }
        Err(problem) => {
            let problem = problem.message().to_owned();
            page(&site, visit.frame, wanted, problem).await
        }
    }
}

/// The form with what was typed before, and what was wrong with it.
async fn page(site: &Site, frame: Frame, wanted: SubmitForm, problem: String) -> Response {
    let status = match problem.is_empty() {
        true => StatusCode::OK,
        false => StatusCode::UNPROCESSABLE_ENTITY,
    };
    // Without the names the form still works.
    let names = match site.services.jobs().await {
        Ok(jobs) => jobs.hive.queues().await.unwrap_or_default(),
        Err(_) => Vec::new(),
    };
    let queues = names.iter().map(ToString::to_string).collect();
    let (retrying, unique) = (wanted.retrying(), wanted.unique_fields());
    let page = SubmitPage { frame, wanted, queues, retrying, unique, problem };
    still(&page, &page.frame, status)
}

impl SubmitForm {
    async fn submit(&self, site: &Site) -> Result<StoredJob, Problem> {
        let job = self.submission()?;
        Ok(site.services.jobs().await?.hive.submit_unique(job).await?)
    }

    /// The fields about failures.
    fn retrying(&self) -> Vec<Field> {
        vec![
            Field::number("retries", "Retries", &self.retries, "0")
                .or("as the queue says")
                .hint("How often the job is tried again after a failure: 5 by default."),
            Field::choice("backoff", "Backoff", &self.backoff, BACKOFFS)
                .hint("How the waits before retries grow."),
            Field::number("retry_delay_s", "First wait in seconds", &self.retry_delay_s, "0.0")
                .or("30, or as the queue says")
                .hint("The wait before the first retry."),
            Field::number(
                "retry_delay_max_s",
                "Longest wait in seconds",
                &self.retry_delay_max_s,
                "0.0",
            )
            .or("no limit")
            .hint("No wait before a retry is longer than this."),
            Field::number("retry_jitter", "Random share of waits", &self.retry_jitter, "0.0")
                .at_most("1")
                .or("0")
                .hint("From 0 to 1. Jobs that failed together then come back apart."),
            Field::number("ttl_s", "Result kept for seconds", &self.ttl_s, "0.0")
                .or("1800")
                .hint("How long the job is kept after it has ended."),
            Field::number(
                "failed_ttl_s",
                "Kept for seconds if it fails",
                &self.failed_ttl_s,
                "0.0",
            )
            .or("as the queue says")
            .hint("7 days by default; 0 for as long as a result."),
        ]
    }

    /// The fields about equal submissions.
    fn unique_fields(&self) -> Vec<Field> {
        vec![
            Field::choice("unique_by", "Equal submissions have", &self.unique_by, UNIQUE_BY)
                .hint("Equal submissions are for one job."),
            Field::text("unique_key", "Key", &self.unique_key)
                .hint("What they have in common, such as user:42."),
            Field::choice("unique_scope", "It stands for them", &self.unique_scope, UNIQUE_SCOPES)
                .hint("The page of the job then says that it was submitted before."),
            Field::number("unique_s", "Time in seconds", &self.unique_s, "0.0")
                .hint("The quiet time of a debounce, or the time of the others."),
            Field::number(
                "debounce_max_s",
                "Longest debounce in seconds",
                &self.debounce_max_s,
                "0.0",
            )
            .or("10 times the quiet time")
            .hint("The job runs by then, even if equal ones keep coming."),
        ]
    }

    fn unique(&self) -> Result<Option<UniqueRequest>, Problem> {
        let key = (!self.unique_key.is_empty()).then(|| self.unique_key.clone());
        let by = match (self.unique_by.as_str(), &key) {
            ("", None) if self.unique_scope.is_empty() => return Ok(None),
            ("", None) => {
                let told = "say what equal submissions have in common";
                return Err(form::wrong("equal submissions have", told));
            }
            ("", Some(_)) | ("key", _) => None,
            ("args", _) => Some(UniqueBy::Args),
            ("id", _) => Some(UniqueBy::Id),
            (other, _) => {
                let told = format!("\"{other}\"; use args, key or id");
                return Err(form::wrong("equal submissions have", &told));
            }
        };
        let key = if self.unique_by == "key" { Some(key.unwrap_or_default()) } else { key };
        let time = form::seconds_as_ms("time", &self.unique_s)?;
        let given =
            || time.ok_or_else(|| form::wrong("time", "empty; give a number of seconds above 0"));
        let debounce_max = form::seconds_as_ms("longest debounce", &self.debounce_max_s)?;
        let request = UniqueRequest { by, key, debounce_max, ..UniqueRequest::default() };
        Ok(Some(match self.unique_scope.as_str() {
            "" | "started" if time.is_some() => {
                return Err(form::wrong("time", "given without debounce, throttle or a time"));
            }
            "" => request,
            "started" => UniqueRequest { until: Some(UniqueUntil::Started), ..request },
            "for" => UniqueRequest { time: Some(given()?), ..request },
            "debounce" => UniqueRequest { debounce: Some(given()?), ..request },
            "throttle" => UniqueRequest { throttle: Some(given()?), ..request },
            "fold" => UniqueRequest { throttle: Some(given()?), fold: true, ..request },
            other => {
                let told = format!("\"{other}\"; use started, for, debounce, throttle or fold");
                return Err(form::wrong("it stands for them", &told));
            }
        }))
    }

    fn submission(&self) -> Result<Submission, Problem> {
        let mut job = Submission::to(queue_name(self.queue.trim())?);
        if !self.data.trim().is_empty() {
            job = job.args_json(&self.data)?;
        }
        if let Some(priority) = form::number("priority", &self.priority)? {
            job = job.priority(checked_priority(priority)?);
        }
        if let Some(delay_s) = form::number::<f64>("delay", &self.delay_s)? {
            job = job.delay_ms((delay_s * 1000.0).round());
        }
        if let Some(retries) = form::number("retries", &self.retries)? {
            job = job.retries(retries);
        }
        let ms = form::seconds_as_ms;
        let wish = BackoffWish {
            kind: form::word("backoff", &self.backoff)?,
            progressive: false,
            delay: ms("first wait", &self.retry_delay_s)?.map(|ms| ms as f64),
            longest: ms("longest wait", &self.retry_delay_max_s)?.map(|ms| ms as f64),
            jitter: form::number("random share", &self.retry_jitter)?,
        };
        if let Some(backoff) = wish.backoff()? {
            job = job.backoff(backoff);
        }
        if let Some(ttl) = ms("result kept for", &self.ttl_s)? {
            job = job.ttl_ms(ttl);
        }
        if let Some(ttl) = ms("kept if it fails", &self.failed_ttl_s)? {
            job = job.failed_ttl_ms(ttl);
        }
        if let Some(unique) = self.unique()? {
            job = job.unique(unique.unique()?);
        }
        if let Some(seconds) = form::seconds("time limit", &self.timeout_s)? {
            job = job.timeout(seconds);
        }
        if let Some(seconds) = form::seconds("start within", &self.start_within_s)? {
            job = job.start_within(seconds);
        }
        for tag in form::words(&self.tags) {
            job = job.tag(Tag::new(tag).map_err(Error::from)?);
        }
        for jid in form::words(&self.after) {
            job = job.after(Jid::new(jid).map_err(Error::from)?);
        }
        if !self.tenant.trim().is_empty() {
            job = job.tenant(Tenant::new(self.tenant.trim()).map_err(Error::from)?);
        }
        for limit in form::words(&self.limits) {
            job = job.limit(&LimitName::new(limit).map_err(Error::from)?);
        }
        if !self.parent.trim().is_empty() {
            job = job.parent(Jid::new(self.parent.trim()).map_err(Error::from)?);
        }
        if !self.jid.trim().is_empty() {
            job = job.id(Jid::new(self.jid.trim()).map_err(Error::from)?);
        }
        job.validate()?;
        Ok(job)
    }
}
