//! Submitting jobs, one or many.

mod wire;

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use keyrack_jobs::{
    Error,
    bee::{
        Hive, Submission, SubmitOutcome,
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
/// A list of up to 10,000 jobs is submitted as a whole: if one job is invalid, has an id that is taken or a parent that was
/// canceled, none is. With an `Idempotency-Key`, repeating the request gives the same jobs as long as they are kept, and makes
/// no new ones.
#[utoipa::path(post, path = "/queues/{queue}/jobs", tag = "jobs", operation_id = "submitJobs",
    params(
        ("queue" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Any text of 1 to 255 characters, unique to what is submitted"),
    ),
    request_body = NewJobs,
    responses(
        (status = CREATED, body = Submitted, description = "Submitted; for a list, one entry for each"),
        (status = OK, body = SubmittedOne, description = "A job that was submitted before stands for it, by this key or by `unique`"),
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
        let submission =
            submission.map_err(|problem| if is_many { problem.within(place) } else { problem })?;
        submissions.push(if key.is_some() { submission.remembered() } else { submission });
    }
    let hive = &app.services.jobs().await?.hive;
    if is_many {
        let jobs = submit_list(hive, submissions, key.is_some()).await?;
        return Ok((StatusCode::CREATED, Json(SubmittedMany { jobs })).into_response());
    }
    let one = submissions.pop().ok_or_else(|| invalid("body", "no job; give one"))?;
    Ok(answer(submit_one(hive, one, key.is_some()).await?, &queue))
}

/// Submits all jobs or none.
async fn submit_list(
    hive: &Hive,
    submissions: Vec<Submission>,
    is_keyed: bool,
) -> Result<Vec<SubmittedJob>, Problem> {
    let are_unique: Vec<bool> = submissions.iter().map(Submission::is_unique).collect();
    let asked: Vec<Submission> = if is_keyed { submissions.clone() } else { Vec::new() };
    let refused = match hive.submit_whole(submissions).await {
        Ok(stored) => {
            let jobs = stored.into_iter().zip(are_unique);
            return Ok(jobs.map(|(job, is_unique)| SubmittedJob::new(&job, is_unique)).collect());
        }
        Err(refused) => refused,
    };
    let Some(place) = refused.place else { return Err(refused.error.into()) };
    let problem = match (&refused.error, asked.get(place)) {
        (Error::Exists { jid }, Some(asked)) => repeated(hive, jid.clone(), asked).await.err(),
        _ => None,
    };
    Err(problem.unwrap_or_else(|| refused.error.into()).within(place))
}

/// Submits a job; one that was submitted before under the same key is as good as new.
async fn submit_one(
    hive: &Hive,
    submission: Submission,
    is_keyed: bool,
) -> Result<SubmittedJob, Problem> {
    let (asked, is_unique) = (is_keyed.then(|| submission.clone()), submission.is_unique());
    match (hive.submit_unique(submission).await, asked) {
        (Ok(stored), _) => Ok(SubmittedJob::new(&stored, is_unique)),
        (Err(Error::Exists { jid }), Some(asked)) => repeated(hive, jid, &asked).await,
        (Err(error), _) => Err(error.into()),
    }
}

/// The job that the first of two equal requests has made.
async fn repeated(hive: &Hive, jid: String, asked: &Submission) -> Result<SubmittedJob, Problem> {
    let id = Jid::new(jid.as_str()).map_err(|error| Problem::from(Error::from(error)))?;
    if hive.is_repeat(&id, asked).await? {
        let outcome = asked.is_unique().then_some(SubmitOutcome::Existing);
        return Ok(SubmittedJob { jid, created: false, outcome });
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
