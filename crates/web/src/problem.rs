//! Errors as they go over the wire: `application/problem+json`, or a page for somebody with a browser.

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::Failure;

/// An error, in the form of RFC 9457.
#[derive(Debug)]
pub struct Problem {
    kind: &'static str,
    title: &'static str,
    status: StatusCode,
    detail: String,
    field: Option<String>,
    retry_after_s: Option<u32>,
}

/// A mark on the response to somebody with a browser: what to show instead of JSON.
#[derive(Debug, Clone)]
pub struct BrowserError {
    pub title: &'static str,
    pub detail: String,
}

/// What went wrong.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemBody<'a> {
    /// The short word that programs tell errors by.
    #[serde(rename = "type")]
    kind: &'a str,
    /// What happened, in words that are always the same for this type.
    title: &'a str,
    /// The status of the response.
    status: u16,
    /// What happened this time, and what to do.
    #[serde(skip_serializing_if = "str::is_empty")]
    detail: &'a str,
    /// The field of the request that is wrong, if one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    /// The same as `detail`, or else `title`, for clients that look here.
    message: &'a str,
    /// The same as `message`.
    markdown: &'a str,
}

impl Problem {
    pub fn new(status: StatusCode, kind: &'static str) -> Problem {
        let title = status.canonical_reason().unwrap_or_default();
        Problem { kind, title, status, detail: String::new(), field: None, retry_after_s: None }
    }

    /// The same problem with another status.
    pub fn with_status(mut self, status: StatusCode) -> Problem {
        self.status = status;
        self
    }

    /// The same problem by another short word.
    pub fn with_kind(mut self, kind: &'static str) -> Problem {
        self.kind = kind;
        self
    }

    /// What happened, in a few words that are always the same.
    pub fn title(mut self, title: &'static str) -> Problem {
        self.title = title;
        self
    }

    /// What happened this time.
    pub fn detail(mut self, detail: impl Into<String>) -> Problem {
        self.detail = detail.into();
        self
    }

    /// Which field of the request is wrong.
    pub fn field(mut self, field: impl Into<String>) -> Problem {
        self.field = Some(field.into());
        self
    }

    /// The same problem of the one in this place of a list.
    pub fn within(mut self, place: usize) -> Problem {
        self.field = Some(match self.field {
            Some(field) => format!("[{place}].{field}"),
            None => format!("[{place}]"),
        });
        self.detail = format!("[{place}]: {}", self.detail);
        self
    }

    /// After how many seconds the same request may well succeed.
    pub fn retry_after(mut self, seconds: u32) -> Problem {
        self.retry_after_s = Some(seconds);
        self
    }

    /// As it goes over the wire.
    pub fn body(&self) -> ProblemBody<'_> {
        let message = if self.detail.is_empty() { self.title } else { &self.detail };
        ProblemBody {
            kind: self.kind,
            title: self.title,
            status: self.status.as_u16(),
            detail: &self.detail,
            field: self.field.as_deref(),
            message,
            markdown: message,
        }
    }

    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The short word that programs tell errors by.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// What happened, in one sentence.
    pub fn message(&self) -> &str {
        self.body().message
    }

    /// The field that is wrong, and what is.
    pub fn field_and_detail(&self) -> (Option<String>, String) {
        (self.field.clone(), self.body().message.to_owned())
    }

    /// As a page when a browser asks, as JSON otherwise: the dashboard makes the page from what is marked here.
    pub fn for_reader(self, headers: &HeaderMap) -> Response {
        let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        if !accepted.is_some_and(|accepted| accepted.contains("text/html")) {
            return self.into_response();
        }
        let page = BrowserError { title: self.title, detail: self.detail.clone() };
        let mut response = self.into_response();
        response.extensions_mut().insert(page);
        response
    }

    /// The response with a note of what went wrong, for the audit log.
    fn noted(&self, mut response: Response) -> Response {
        response.extensions_mut().insert(Failure(self.message().to_owned()));
        response
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        const TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");
        let body = serde_json::to_vec(&self.body()).unwrap_or_default();
        let response = (self.status, [(header::CONTENT_TYPE, TYPE)], body).into_response();
        let mut response = self.noted(response);
        if let Some(seconds) = self.retry_after_s {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// The most bytes of a plain error that are looked at: it is a sentence.
const PLAIN_BYTES_MAX: usize = 4 * 1024;

/// Turns errors that the framework has put in plain text into problems: all errors look alike.
pub(crate) async fn unify(request: Request, next: Next) -> Response {
    let headers = request.headers().clone();
    let response = next.run(request).await;
    let is_error = response.status().is_client_error() || response.status().is_server_error();
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_plain = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/plain"));
    if !is_error || !is_plain {
        return response;
    }
    let status = response.status();
    let text = axum::body::to_bytes(response.into_body(), PLAIN_BYTES_MAX).await;
    let detail = text.map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default();
    let kind = match status {
        StatusCode::BAD_REQUEST => "bad_request",
        StatusCode::PAYLOAD_TOO_LARGE => "body_too_large",
        StatusCode::UNPROCESSABLE_ENTITY => "invalid",
        _ if status.is_client_error() => "refused",
        _ => "failed",
    };
    Problem::new(status, kind).detail(detail).for_reader(&headers)
}

/// The answer to a path that leads nowhere.
pub(crate) async fn no_such_page(uri: Uri, headers: HeaderMap) -> Response {
    Problem::new(StatusCode::NOT_FOUND, "not_found")
        .title("there is no such page")
        .detail(format!("nothing is served at \"{}\"", uri.path()))
        .for_reader(&headers)
}

/// The answer to a method that a path does not know.
pub(crate) async fn no_such_method(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed")
        .title("this path does not know that method")
        .detail(format!("\"{}\" does not take {method}", uri.path()))
        .for_reader(&headers)
}
