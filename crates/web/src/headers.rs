//! Headers that every response carries.

use axum::{
    http::{HeaderName, HeaderValue, header},
    response::Response,
};

/// Pages load their own stylesheet, script and pictures and nothing else, run no script that stands in a page, send forms
/// to this server only, and cannot be framed.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
    img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 3] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // With "no-referrer" browsers would not say either that a form is from a page of ours.
    (header::REFERRER_POLICY, "same-origin"),
];

/// Adds them; what a route says about caching stands, and otherwise nothing is kept.
pub(crate) async fn add(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
