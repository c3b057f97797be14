//! The form that creates or changes a recurring job.

use std::sync::Arc;

use askama::Template;
use axum::{
    body::Bytes,
    extract::{Path, State},
    http::StatusCode,
    response::Response,
};
use keyrack_jobs::recurring::{Definition, Draft, Members};
use keyrack_web::{Problem, access::Subject};
use serde::Deserialize;

use crate::{Frame, Site, Visit, assets, form, frame::go_and_tell, link, live::still};

/// The form, as the browser sends it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RecurringForm {
    name: String,
    kind: String,
    cron: String,
    zone: String,
    every: String,
    at: String,
    queue: String,
    kwargs: String,
    catch_up: String,
    version: String,
}

#[derive(Template)]
#[template(path = "recurring_form.html")]
struct FormPage {
    frame: Frame,
    wanted: RecurringForm,
    /// The page of the job to change; empty for a new one.
    link: String,
    queues: Vec<String>,
    problem: String,
}

/// `GET /recurring/new`
pub(crate) async fn ask(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    match visit.query::<RecurringForm>() {
        Ok(wanted) => page(&site, visit.frame, wanted, String::new(), String::new()).await,
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

/// `POST /recurring/new`
pub(crate) async fn create(State(site): State<Arc<Site>>, visit: Visit, body: Bytes) -> Response {
    let wanted: RecurringForm = match form::read(&body) {
        Ok(wanted) => wanted,
        Err(problem) => return problem.for_reader(&visit.headers),
    };
    let create = async {
        let definition = wanted.definition()?;
        Ok(site.services.recurring().await?.create(definition).await?)
    };
    let created: Result<_, Problem> = create.await;
    match created {
        Ok(created) => {
            let mut response = go_and_tell("/recurring", true, "Created.");
            let name = created.definition.name().to_owned();
            response.extensions_mut().insert(Subject(name));
            response
        }
        Err(problem) => {
            let problem = problem.message().to_owned();
            page(&site, visit.frame, wanted, String::new(), problem).await
        }
    }
}

/// `GET /recurring/{name}/change`
pub(crate) async fn ask_change(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    visit: Visit,
) -> Response {
    let read = async { Ok(site.services.recurring().await?.defined(&name).await?) };
    let defined: Result<_, Problem> = read.await;
    match defined {
        Ok(defined) => {
            let wanted = RecurringForm::of(&defined.definition, defined.version);
            page(&site, visit.frame, wanted, job_link(&name), String::new()).await
        }
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

/// `POST /recurring/{name}/change`
pub(crate) async fn change(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    visit: Visit,
    body: Bytes,
) -> Response {
    let mut wanted: RecurringForm = match form::read(&body) {
        Ok(wanted) => wanted,
        Err(problem) => return problem.for_reader(&visit.headers),
    };
    wanted.name.clone_from(&name);
    let change = async {
        let version = form::number("version", &wanted.version)?;
        let version = version.ok_or_else(|| form::wrong("version", "it is missing"))?;
        let definition = wanted.definition()?;
        Ok(site.services.recurring().await?.change(definition, Some(version)).await?)
    };
    let changed: Result<_, Problem> = change.await;
    match changed {
        Ok(_) => go_and_tell("/recurring", true, "Changed."),
        Err(problem) => {
            let problem = problem.message().to_owned();
            page(&site, visit.frame, wanted, job_link(&name), problem).await
        }
    }
}

fn job_link(name: &str) -> String {
    format!("/recurring/{}", link::segment(name))
}

/// The form with what was typed before, and what was wrong with it.
async fn page(
    site: &Site,
    frame: Frame,
    wanted: RecurringForm,
    link: String,
    problem: String,
) -> Response {
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
    let page = FormPage { frame, wanted, link, queues, problem };
    still(&page, &page.frame, status)
}

impl RecurringForm {
    /// The form for a job as it is.
    fn of(definition: &Definition, version: u64) -> RecurringForm {
        let draft = Draft::from(definition);
        let kind = match (&draft.cron, &draft.every, &draft.at) {
            (Some(_), _, _) => "cron",
            (_, Some(_), _) => "every",
            (_, _, Some(_)) => "at",
            // Filters have no field here; what is chosen replaces them.
            _ => "",
        };
        let kwargs = match draft.kwargs.is_empty() {
            true => String::new(),
            false => serde_json::to_string(&draft.kwargs).unwrap_or_default(),
        };
        RecurringForm {
            name: draft.name,
            kind: kind.to_owned(),
            cron: draft.cron.unwrap_or_default(),
            zone: draft.zone.unwrap_or_default(),
            every: draft.every.unwrap_or_default(),
            at: draft.at.unwrap_or_default(),
            queue: draft.queue.unwrap_or_default(),
            kwargs,
            catch_up: draft.catch_up.map(|runs| runs.to_string()).unwrap_or_default(),
            version: version.to_string(),
        }
    }

    fn definition(&self) -> Result<Definition, Problem> {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let mut draft = Draft {
            name: self.name.trim().to_owned(),
            kwargs: self.kwargs()?,
            queue: given(&self.queue),
            catch_up: form::number("missed runs", &self.catch_up)?,
            ..Draft::default()
        };
        let zone = given(&self.zone).or_else(|| Some("UTC".to_owned()));
        match self.kind.as_str() {
            "cron" => (draft.cron, draft.zone) = (Some(self.cron.trim().to_owned()), zone),
            "every" => draft.every = Some(self.every.trim().to_owned()),
            "at" => (draft.at, draft.zone) = (Some(self.at.trim().to_owned()), zone),
            _ => return Err(form::wrong("kind", "choose one of cron, every and once")),
        }
        Ok(Definition::try_from(draft)?)
    }

    fn kwargs(&self) -> Result<Members, Problem> {
        if self.kwargs.trim().is_empty() {
            return Ok(Members::default());
        }
        let no_object = |error| form::wrong("argument", &format!("no JSON object: {error}"));
        serde_json::from_str(&self.kwargs).map_err(no_object)
    }
}
