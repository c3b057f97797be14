//! Errors as they go over the wire: `application/problem+json`, or a page for somebody with a browser.

use askama::Template as _;
use axum::{
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    response::{Html, IntoResponse, Response},
};
use serde::Serialize;

use crate::pages::ErrorPage;

/// An error, in the form of RFC 9457.
#[derive(Debug, Serialize)]
pub(crate) struct Problem {
    /// The short word that programs tell errors by.
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    #[serde(serialize_with = "as_number")]
    status: StatusCode,
    #[serde(skip_serializing_if = "String::is_empty")]
    detail: String,
}

fn as_number<S: serde::Serializer>(status: &StatusCode, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u16(status.as_u16())
}

impl Problem {
    pub(crate) fn new(status: StatusCode, kind: &'static str) -> Problem {
        let title = status.canonical_reason().unwrap_or_default();
        Problem { kind, title, status, detail: String::new() }
    }

    /// What happened, in a few words that are always the same.
    pub(crate) fn title(mut self, title: &'static str) -> Problem {
        self.title = title;
        self
    }

    /// What happened this time.
    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Problem {
        self.detail = detail.into();
        self
    }

    /// As a page when a browser asks, as JSON otherwise.
    pub(crate) fn for_reader(self, headers: &HeaderMap) -> Response {
        let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        if !accepted.is_some_and(|accepted| accepted.contains("text/html")) {
            return self.into_response();
        }
        let page = ErrorPage { title: self.title, detail: &self.detail };
        match page.render() {
            Ok(page) => (self.status, Html(page)).into_response(),
            Err(_) => self.into_response(),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        const TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");
        let body = serde_json::to_vec(&self).unwrap_or_default();
        (self.status, [(header::CONTENT_TYPE, TYPE)], body).into_response()
    }
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
