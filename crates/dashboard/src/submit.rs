//! Submitting a job by a form.

use std::{sync::Arc, time::Duration};

use askama::Template;
use axum::{body::Bytes, extract::State, http::StatusCode, response::Response};
use keyrack_jobs::{
    Error,
    bee::{
        Submission,
        keys::{Jid, LimitName, Tag, Tenant},
    },
};
use keyrack_web::{Problem, access::Subject};
use serde::Deserialize;

use super::{Frame, Visit, assets, form, frame::go_and_tell, link, live::still, queue::queue_name};
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
}

#[derive(Template)]
#[template(path = "submit.html")]
struct SubmitPage {
    frame: Frame,
    wanted: SubmitForm,
    queues: Vec<String>,
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
        Ok(jid) => {
            let mut response = go_and_tell(&link::job(jid.as_str()), true, "Submitted.");
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
    let page = SubmitPage { frame, wanted, queues, problem };
    still(&page, &page.frame, status)
}

impl SubmitForm {
    async fn submit(&self, site: &Site) -> Result<Jid, Problem> {
        let job = self.submission()?;
        Ok(site.services.jobs().await?.hive.submit(job).await?)
    }

    fn submission(&self) -> Result<Submission, Problem> {
        let mut job = Submission::to(queue_name(self.queue.trim())?);
        if !self.data.trim().is_empty() {
            job = job.args_json(&self.data)?;
        }
        if let Some(priority) = form::number("priority", &self.priority)? {
            job = job.priority(priority);
        }
        if let Some(delay_s) = form::number::<f64>("delay", &self.delay_s)? {
            job = job.delay_ms((delay_s * 1000.0).round());
        }
        if let Some(retries) = form::number("retries", &self.retries)? {
            job = job.retries(retries);
        }
        if let Some(seconds) = seconds("time limit", &self.timeout_s)? {
            job = job.timeout(seconds);
        }
        if let Some(seconds) = seconds("start within", &self.start_within_s)? {
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

/// A time that is typed in seconds.
fn seconds(name: &'static str, text: &str) -> Result<Option<Duration>, Problem> {
    let Some(seconds) = form::number::<f64>(name, text)? else { return Ok(None) };
    let time = Duration::try_from_secs_f64(seconds);
    time.map(Some).map_err(|_| form::wrong(name, "give a number of seconds above 0"))
}
