//! Reading requests: whatever is wrong with one is a problem that names the field.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Path, Request},
    http::{StatusCode, header, request::Parts},
    middleware::Next,
    response::Response,
};
use keyrack_jobs::bee::keys::{Jid, QueueName};
use serde::de::{DeserializeOwned, IgnoredAny};

use super::error::{bad_name, invalid};
use crate::{App, Problem};

/// The most bytes that the body of a request may have.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;

/// The body of a request, as JSON. No body is an empty object.
///
/// The content type is not looked at, so that `curl -d` needs no header; `guard` keeps out the web pages for which
/// that would be an opening.
pub struct Body<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Body<T>, Problem> {
        let bytes = RawBody::from_request(request, app).await?.0;
        let text = if bytes.is_empty() { b"{}" } else { &bytes[..] };
        parse(text).map(Body)
    }
}

/// The body of a request as it is.
pub struct RawBody(pub Bytes);

impl FromRequest<Arc<App>> for RawBody {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<RawBody, Problem> {
        Bytes::from_request(request, app).await.map(RawBody).map_err(|rejection| {
            if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
                return too_large();
            }
            Problem::new(StatusCode::BAD_REQUEST, "bad_body")
                .title("the body could not be read")
                .detail(rejection.body_text())
        })
    }
}

/// The one route that takes a body of any size, as it reads line after line.
const STREAMED: &str = "/api/1/calculations/events";

/// Refuses a body that says of itself that it is too large, before any of it is read.
pub async fn refuse_large(request: Request, next: Next) -> Response {
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let is_stream = request.uri().path() == STREAMED;
    if !is_stream && length.is_some_and(|length| length > BODY_BYTES_MAX as u64) {
        return too_large().for_reader(request.headers());
    }
    next.run(request).await
}

fn too_large() -> Problem {
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large")
        .title("the body is too large")
        .detail(format!(
            "at most {BODY_BYTES_MAX} bytes are taken; store what is larger elsewhere and pass its name"
        ))
}

/// JSON text as a value.
pub fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let bad_json = |error: &serde_json::Error| {
        Problem::new(StatusCode::BAD_REQUEST, "bad_json")
            .title("the body is not JSON")
            .detail(error.to_string())
    };
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let (field, error) = (field_of(&error.path().to_string()), error.into_inner());
        // A number in place of a word counts as bad syntax, though it is good JSON.
        let is_json = || serde_json::from_slice::<IgnoredAny>(text).is_ok();
        if error.classify() == serde_json::error::Category::Data || is_json() {
            unusable(field, &error.to_string())
        } else {
            bad_json(&error)
        }
    })?;
    json.end().map_err(|error| bad_json(&error))?;
    Ok(value)
}

/// What stands behind the `?` of a request.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<Arc<App>> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Query<T>, Problem> {
        let pairs = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
        let query = serde_html_form::Deserializer::new(pairs);
        serde_path_to_error::deserialize(query).map(Query).map_err(|error| {
            unusable(field_of(&error.path().to_string()), &error.inner().to_string())
        })
    }
}

fn unusable(field: Option<String>, reason: &str) -> Problem {
    match field {
        Some(field) => invalid(field, in_plain_words(reason)),
        None => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid")
            .title("invalid request")
            .detail(reason),
    }
}

/// What serde says about a value, with the value first, then what is allowed. A field needs no line and column.
fn in_plain_words(reason: &str) -> String {
    let reason = match reason.rsplit_once(" at line ") {
        Some((before, place)) if place.contains(" column ") => before,
        _ => reason,
    };
    let told = ["invalid value: ", "invalid type: "]
        .iter()
        .find_map(|kind| reason.strip_prefix(kind)?.rsplit_once(", expected "));
    match told.and_then(|(value, kind)| Some((value, allowed(kind)?))) {
        Some((value, allowed)) => format!("{}; give {allowed}", value_in(value)),
        None => reason.to_owned(),
    }
}

/// The values of a Rust type, as far as they are numbers.
fn allowed(kind: &str) -> Option<&'static str> {
    match kind {
        "u8" => Some("a whole number from 0 to 255"),
        "u16" => Some("a whole number from 0 to 65535"),
        "u32" => Some("a whole number from 0 to 4294967295"),
        "u64" | "usize" => Some("a whole number of at least 0"),
        "i32" => Some("a whole number from -2147483648 to 2147483647"),
        "i64" => Some("a whole number"),
        "f64" => Some("a number"),
        _ => None,
    }
}

/// A value without the name of its type: `-4` of "integer `-4`".
fn value_in(told: &str) -> &str {
    let number = told.strip_suffix('`').and_then(|told| told.split_once(" `"));
    number.map_or(told, |(_, number)| number)
}

/// A path within a value; none when it is all of it.
fn field_of(path: &str) -> Option<String> {
    (path != "." && !path.contains('?')).then(|| path.to_owned())
}

/// The queue in the path of a request.
pub struct Queue(pub QueueName);

impl FromRequestParts<Arc<App>> for Queue {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Queue, Problem> {
        Queue::named(segment(parts, app).await?)
    }
}

impl Queue {
    fn named(name: String) -> Result<Queue, Problem> {
        if matches!(name.as_str(), "." | "..") {
            // Clients and proxies take these for steps in the path, so such a queue could not be reached.
            return Err(invalid("queue", format!("\"{name}\" cannot be part of a path")));
        }
        QueueName::new(name).map(Queue).map_err(|error| bad_name(&error).field("queue"))
    }
}

/// The queue in the path of a request, and a name behind it.
pub struct InQueue(pub QueueName, pub String);

impl FromRequestParts<Arc<App>> for InQueue {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<InQueue, Problem> {
        let path = Path::<(String, String)>::from_request_parts(parts, app).await;
        let Path((queue, name)) = path.map_err(|rejection| bad_path(&rejection.body_text()))?;
        Ok(InQueue(Queue::named(queue)?.0, name))
    }
}

/// The job in the path of a request.
pub struct Job(pub Jid);

impl FromRequestParts<Arc<App>> for Job {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Job, Problem> {
        let id = segment(parts, app).await?;
        Jid::new(id).map(Job).map_err(|error| bad_name(&error).field("jid"))
    }
}

/// The one variable segment of the path.
pub async fn segment(parts: &mut Parts, app: &Arc<App>) -> Result<String, Problem> {
    let path = Path::<String>::from_request_parts(parts, app).await;
    path.map(|Path(segment)| segment).map_err(|rejection| bad_path(&rejection.body_text()))
}

fn bad_path(reason: &str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "bad_path")
        .title("the path could not be read")
        .detail(reason)
}

#[cfg(test)]
mod tests;
