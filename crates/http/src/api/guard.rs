//! Keeping out web pages of other sites, which any browser on this machine would let speak to us.
//!
//! There is no sign-in, so whoever reaches the port may do everything. Programs on this machine are meant to. A page
//! that somebody happens to look at is not: it is told apart by the `Origin` that browsers send with it, and one that
//! has pointed its own name at this machine by the `Host`.

use std::net::IpAddr;

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, StatusCode, header, uri::Authority},
    middleware::Next,
    response::Response,
};

use crate::problem::Problem;

/// Passes a request on unless a page of another site has sent it.
pub(crate) async fn guard(request: Request, next: Next) -> Response {
    match refusal(request.headers()) {
        Some(reason) => Problem::new(StatusCode::FORBIDDEN, "foreign_page")
            .title("web pages of other sites may not do this")
            .detail(reason)
            .for_reader(request.headers()),
        None => next.run(request).await,
    }
}

fn refusal(headers: &HeaderMap) -> Option<String> {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let host = text(header::HOST)?;
    if !names_this_machine(host) {
        return Some(format!(
            "the host \"{host}\" is not this machine; use its address or \"localhost\""
        ));
    }
    let origin = text(header::ORIGIN)?;
    let is_ours = origin.split_once("://").is_some_and(|(_, site)| site == host);
    (!is_ours).then(|| format!("the page comes from \"{origin}\" and this is \"{host}\""))
}

/// An address cannot be pointed elsewhere, and neither can `localhost`; any other name can.
fn names_this_machine(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(host: &str, origin: Option<&str>, passes: bool) {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().expect("a value"));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().expect("a value"));
        }
        assert_eq!(refusal(&headers).is_none(), passes, "{host} {origin:?}");
    }

    #[test]
    fn programs_and_our_own_pages_pass() {
        for host in ["127.0.0.1:7700", "localhost:7700", "LOCALHOST", "[::1]:7700", "10.0.0.7"] {
            check(host, None, true);
        }
        check("127.0.0.1:7700", Some("http://127.0.0.1:7700"), true);
    }

    #[test]
    fn pages_of_other_sites_do_not() {
        check("127.0.0.1:7700", Some("https://example.com"), false);
        check("127.0.0.1:7700", Some("http://127.0.0.1:8080"), false);
        check("127.0.0.1:7700", Some("null"), false);
        check("rebound.example.com:7700", None, false);
        check("localhost.example.com", Some("http://localhost.example.com"), false);
    }
}
