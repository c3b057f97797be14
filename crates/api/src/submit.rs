//! Submitting jobs, one or many.

mod wire;

use std::{collections::HashSet, sync::Arc};

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use keyrack_jobs::{
    Error,
    bee::{
        Hive, Status, Submission,
        keys::{Jid, QueueName},
    },
};
use keyrack_web::{
    App, Problem,
    error::invalid,
    extract::{Queue, RawBody, parse},
};

use self::wire::{NewJob, NewJobs, Submitted, SubmittedJob, SubmittedMany, SubmittedOne};

/// What the header of that name may hold.
const KEY_BYTES_MAX: usize = 255;

/// Submits a job, or a list of jobs.
///
/// A list is submitted as a whole: if one job is invalid, has an id that is taken or a parent that was canceled, none is.
/// Only what changes in that very moment can refuse some of them. With an `Idempotency-Key`, repeating the request gives the
/// same jobs as long as they are kept, and makes no new ones.
#[utoipa::path(post, path = "/queues/{queue}/jobs", tag = "jobs", operation_id = "submitJobs",
    params(
        ("queue" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Any text of 1 to 255 characters, unique to what is submitted"),
    ),
    request_body = NewJobs,
    responses(
        (status = CREATED, body = Submitted, description = "Submitted; for a list, one entry for each"),
        (status = OK, body = SubmittedOne, description = "The same job was submitted before with this key"),
        (status = MULTI_STATUS, body = SubmittedMany, description = "Some of the list were refused, since the store has changed in that moment"),
    ))]
pub(super) async fn submit(
    State(app): State<Arc<App>>,
    Queue(queue): Queue,
    headers: HeaderMap,
    RawBody(body): RawBody,
) -> Result<Response, Problem> {
    let key = idempotency_key(&headers)?;
    let is_many = body.trim_ascii_start().starts_with(b"[");
    let jobs: Vec<NewJob> = if is_many { parse(&body)? } else { vec![parse(&body)?] };
    let mut submissions = Vec::with_capacity(jobs.len());
    for (place, job) in jobs.into_iter().enumerate() {
        let derived = key.map(|key| match is_many {
            // A key is of printable characters, so none is another one with a place.
            true => Jid::derived(&queue, &format!("{key}\n{place}")),
            false => Jid::derived(&queue, key),
        });
        let submission = job.into_submission(&queue, derived);
        submissions.push(
            submission.map_err(|problem| if is_many { problem.within(place) } else { problem })?,
        );
    }
    let hive = &app.services.jobs().await?.hive;
    if is_many {
        refuse_as_a_whole(hive, &submissions, key.is_some()).await?;
    }
    let mut submitted = submit_all(hive, submissions, key.is_some()).await?;
    if is_many {
        return Ok(many(submitted));
    }
    let one = submitted.pop().ok_or_else(|| invalid("body", "no job; give one"))??;
    Ok(answer(one, &queue))
}

/// Refuses a list of which the store would refuse one job, before any of it is submitted.
async fn refuse_as_a_whole(
    hive: &Hive,
    submissions: &[Submission],
    is_keyed: bool,
) -> Result<(), Problem> {
    let mut ids = HashSet::new();
    for (place, job) in submissions.iter().enumerate() {
        let refusal = match job.asked_id() {
            Some(jid) if !ids.insert(jid) => Err(Error::Exists { jid: jid.to_string() }.into()),
            Some(jid) => refuse_taken(hive, jid, job, is_keyed).await,
            None => Ok(()),
        };
        let refusal = match (refusal, job.asked_parent()) {
            (Ok(()), Some(parent)) => refuse_canceled_parent(hive, parent).await,
            (refusal, _) => refusal,
        };
        refusal.map_err(|problem| problem.within(place))?;
    }
    Ok(())
}

/// Refuses an id that another job has.
async fn refuse_taken(
    hive: &Hive,
    jid: &Jid,
    job: &Submission,
    is_keyed: bool,
) -> Result<(), Problem> {
    match hive.job(jid).await {
        Err(Error::NoSuchJob { .. }) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) if is_keyed => repeated(hive, jid.to_string(), job).await.map(drop),
        Ok(_) => Err(Error::Exists { jid: jid.to_string() }.into()),
    }
}

async fn refuse_canceled_parent(hive: &Hive, parent: &Jid) -> Result<(), Problem> {
    match hive.job(parent).await {
        Ok(job) if job.status() == Status::Canceled => {
            Err(Error::ParentCanceled { parent: parent.to_string() }.into())
        }
        Ok(_) | Err(Error::NoSuchJob { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Submits jobs; what was submitted before under the same key is as good as new.
async fn submit_all(
    hive: &Hive,
    submissions: Vec<Submission>,
    is_keyed: bool,
) -> Result<Vec<Result<SubmittedJob, Problem>>, Problem> {
    let asked: Vec<Submission> = if is_keyed { submissions.clone() } else { Vec::new() };
    let mut asked = asked.iter();
    let answers = hive.submit_many(submissions).await?;
    let mut submitted = Vec::with_capacity(answers.len());
    for answer in answers {
        let asked = asked.next();
        submitted.push(match answer {
            Ok(jid) => Ok(SubmittedJob { jid: jid.to_string(), created: true }),
            Err(error) => match (error, asked) {
                (Error::Exists { jid }, Some(asked)) => repeated(hive, jid, asked).await,
                (error, _) => Err(error.into()),
            },
        });
    }
    Ok(submitted)
}

/// The job that the first of two equal requests has made.
async fn repeated(hive: &Hive, jid: String, asked: &Submission) -> Result<SubmittedJob, Problem> {
    let id = Jid::new(jid.as_str()).map_err(|error| Problem::from(Error::from(error)))?;
    // Gone in this very moment, it was there when the request came.
    let is_same = hive.job(&id).await.map_or(true, |job| asked.made(&job));
    if is_same {
        return Ok(SubmittedJob { jid, created: false });
    }
    Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused")
        .title("the key was used for something else")
        .detail(format!("the job \"{jid}\" was submitted with this Idempotency-Key and other data or options; use a new key")))
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = value.to_str().ok().filter(|key| (1..=KEY_BYTES_MAX).contains(&key.len()));
    let wrong = || {
        let reason = format!("give 1 to {KEY_BYTES_MAX} printable ASCII characters");
        invalid("Idempotency-Key", reason)
    };
    key.map(Some).ok_or_else(wrong)
}

fn answer(job: SubmittedJob, queue: &QueueName) -> Response {
    let status = if job.created { StatusCode::CREATED } else { StatusCode::OK };
    let coded: String = form_urlencoded::byte_serialize(job.jid.as_bytes()).collect();
    let body = SubmittedOne { queue: queue.to_string(), job };
    let mut response = (status, Json(body)).into_response();
    if let Ok(location) = HeaderValue::try_from(format!("/api/1/jobs/{coded}")) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

fn many(submitted: Vec<Result<SubmittedJob, Problem>>) -> Response {
    let all_well = submitted.iter().all(Result::is_ok);
    let status = if all_well { StatusCode::CREATED } else { StatusCode::MULTI_STATUS };
    (status, Json(SubmittedMany::from(submitted))).into_response()
}
