//! Keeping out web pages of other sites, which any browser on this machine would let speak to us.
//!
//! Whoever reaches the port may do everything unless asked to sign in, and a browser sends its session along with every
//! request, whichever page has caused it. Programs on this machine and our own pages are meant to. A page that somebody
//! happens to look at is not: it is told apart by the `Origin` that browsers send with it, by what they say of where a request
//! comes from when there is none, and one that has pointed its own name at this machine by the `Host`.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, StatusCode, header, uri::Authority};

use crate::Problem;

/// Refuses what a page of another site has sent, unless it is a link to a page that takes links. `hosts` are the names that are
/// known to be ours.
pub(super) fn guard(
    headers: &HeaderMap,
    hosts: &[String],
    takes_links: bool,
) -> Result<(), Problem> {
    match refusal(headers, hosts, takes_links) {
        None => Ok(()),
        Some(reason) => Err(Problem::new(StatusCode::FORBIDDEN, "foreign_page")
            .title("web pages of other sites may not do this")
            .detail(reason)),
    }
}

fn refusal(headers: &HeaderMap, hosts: &[String], takes_links: bool) -> Option<String> {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let site = text(HeaderName::from_static("sec-fetch-site"));
    let Some(host) = text(header::HOST) else {
        // Browsers always say whom they mean; old programs need not.
        let is_browser = site.is_some() || headers.contains_key(header::ORIGIN);
        return is_browser.then(|| "the request has no \"Host\"".to_owned());
    };
    if !is_ours(host, hosts) {
        return Some(format!(
            "the host \"{host}\" is not this machine; use its address or \"localhost\", or start the server with that name in \"hosts\""
        ));
    }
    let Some(origin) = text(header::ORIGIN) else {
        // Pictures and links have no origin, and some paths change things though they are only looked at.
        let is_link = text(HeaderName::from_static("sec-fetch-mode")) == Some("navigate");
        let is_foreign = matches!(site, Some("cross-site" | "same-site"));
        return (is_foreign && !(is_link && takes_links))
            .then(|| format!("another site asks for it and this is \"{host}\""));
    };
    let is_our_page = origin.split_once("://").is_some_and(|(_, site)| site == host);
    (!is_our_page).then(|| format!("the page comes from \"{origin}\" and this is \"{host}\""))
}

/// An address cannot be pointed elsewhere, and neither can `localhost`; any other name can, unless somebody has vouched for it.
fn is_ours(host: &str, hosts: &[String]) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    let known = std::iter::once("localhost").chain(hosts.iter().map(String::as_str));
    known.into_iter().any(|known| name.eq_ignore_ascii_case(known))
        || name.parse::<IpAddr>().is_ok()
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
        let hosts = ["keyrack.example.com".to_owned()];
        assert_eq!(refusal(&headers, &hosts, true).is_none(), passes, "{host} {origin:?}");
    }

    #[track_caller]
    fn check_fetch(site: &str, mode: &str, takes_links: bool, passes: bool) {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, "localhost:7700".parse().expect("a value"));
        headers.insert("sec-fetch-site", site.parse().expect("a value"));
        headers.insert("sec-fetch-mode", mode.parse().expect("a value"));
        assert_eq!(refusal(&headers, &[], takes_links).is_none(), passes, "{site} {mode}");
    }

    #[test]
    fn other_sites_may_link_to_pages_and_show_nothing_of_them() {
        check_fetch("cross-site", "navigate", true, true);
        check_fetch("cross-site", "navigate", false, false);
        check_fetch("cross-site", "no-cors", true, false);
        check_fetch("same-site", "no-cors", true, false);
        check_fetch("same-origin", "cors", false, true);
        check_fetch("none", "navigate", false, true);
    }

    #[test]
    fn a_page_of_another_site_does_not_pass_without_a_host() {
        let mut headers = HeaderMap::new();
        assert_eq!(refusal(&headers, &[], true), None, "a program of HTTP/1.0");
        headers.insert(header::ORIGIN, "https://example.com".parse().expect("a value"));
        assert!(refusal(&headers, &[], true).is_some());
        let mut headers = HeaderMap::new();
        headers.insert("sec-fetch-site", "cross-site".parse().expect("a value"));
        assert!(refusal(&headers, &[], true).is_some());
    }

    #[test]
    fn programs_and_our_own_pages_pass() {
        for host in ["127.0.0.1:7700", "localhost:7700", "LOCALHOST", "[::1]:7700", "10.0.0.7"] {
            check(host, None, true);
        }
        check("127.0.0.1:7700", Some("http://127.0.0.1:7700"), true);
        check("Keyrack.example.com", Some("https://Keyrack.example.com"), true);
    }

    #[test]
    fn pages_of_other_sites_do_not() {
        check("127.0.0.1:7700", Some("https://example.com"), false);
        check("127.0.0.1:7700", Some("http://127.0.0.1:8080"), false);
        check("127.0.0.1:7700", Some("null"), false);
        check("rebound.example.com:7700", None, false);
        check("keyrack.example.com", Some("https://example.com"), false);
        check("keyrack.example.com.evil.com", None, false);
        check("localhost.example.com", Some("http://localhost.example.com"), false);
    }
}
