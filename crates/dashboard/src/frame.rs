//! What stands round every page: the theme, what is to be told once, and where the visitor is.

use std::{convert::Infallible, sync::Arc};

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header, request::Parts},
    response::{IntoResponse as _, Response},
};
use keyrack_format::Zone;
use keyrack_web::{
    App,
    access::{Caller, Failure, cookie},
};

/// Cookies are shared by all ports of a host, so the names say whose they are.
const THEME: &str = "keyrack_theme";
const TOLD: &str = "keyrack_told";
/// Set by the page's script.
const ZONE: &str = "keyrack_zone";

/// A year: nobody wants to choose again next week.
const THEME_AGE_S: u32 = 31_536_000;
/// Long enough for the redirect, short enough not to turn up on another page later.
const TOLD_AGE_S: u32 = 10;
/// Browsers drop larger cookies.
const TOLD_BYTES_MAX: usize = 1_000;

/// How pages look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Theme {
    /// As the system does.
    #[default]
    System,
    Light,
    Dark,
}

impl Theme {
    fn parse(word: &str) -> Theme {
        match word {
            "light" => Theme::Light,
            "dark" => Theme::Dark,
            _ => Theme::System,
        }
    }

    /// Its word in cookies and in the stylesheet.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Theme::System => "system",
            Theme::Light => "light",
            Theme::Dark => "dark",
        }
    }

    /// The one that the button chooses next.
    pub(crate) fn next(self) -> Theme {
        match self {
            Theme::System => Theme::Dark,
            Theme::Dark => Theme::Light,
            Theme::Light => Theme::System,
        }
    }
}

/// Something to tell at the top of the next page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FlashMessage {
    pub(crate) is_good: bool,
    pub(crate) text: String,
}

/// What stands round a page.
#[derive(Debug, Clone, Default)]
pub(crate) struct Frame {
    pub(crate) theme: Theme,
    /// Who looks at it: pages offer nothing that would be refused.
    pub(crate) caller: Caller,
    pub(crate) told: Option<FlashMessage>,
    /// Path and query of this page, for forms that lead back here.
    pub(crate) here: String,
    /// How a command begins that reaches the store behind this page.
    pub(crate) keyrack: String,
    /// The time zone in which times are shown.
    pub(crate) zone: Zone,
}

impl Frame {
    pub(crate) fn of(headers: &HeaderMap, uri: &Uri) -> Frame {
        let here = uri.path_and_query().map_or("/", |here| here.as_str());
        Frame {
            theme: cookie(headers, THEME).map(|word| Theme::parse(&word)).unwrap_or_default(),
            caller: Caller::default(),
            told: cookie(headers, TOLD).and_then(|coded| read_flash_message(&coded)),
            here: here.to_owned(),
            keyrack: "keyrack".into(),
            zone: cookie(headers, ZONE).and_then(|name| read_zone(&name)).unwrap_or_default(),
        }
    }

    /// Whether the page is one of this section, for the navigation.
    pub(crate) fn is_at(&self, section: &str) -> bool {
        let first = self.here.split(['?', '/']).nth(1).unwrap_or_default();
        let home = match first {
            "queues"
                if self.here.split('?').next().is_some_and(|path| path.contains("/errors")) =>
            {
                "errors"
            }
            "queues" | "submit" | "bulk" => "jobs",
            "key" | "lint" => "keys",
            other => other,
        };
        home == section.trim_start_matches('/')
    }

    /// Makes sure that what was told is not told again.
    pub(super) fn settle(&self, response: &mut Response) {
        if self.told.is_some() {
            add_cookie(response, TOLD, "", 0);
        }
    }
}

/// Somebody who looks at a page.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) frame: Frame,
    pub(crate) headers: HeaderMap,
    /// Whether it is the page's script, which wants to be sent what changes.
    pub(crate) is_stream: bool,
}

impl<S: Sync> FromRequestParts<S> for Visit {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Visit, Infallible> {
        let accepted = parts.headers.get(header::ACCEPT).map(HeaderValue::as_bytes);
        let caller = parts.extensions.get::<Caller>().cloned().unwrap_or_default();
        let mut frame = Frame { caller, ..Frame::of(&parts.headers, &parts.uri) };
        if let Some(reach) = parts.extensions.get::<Arc<App>>().and_then(|app| app.reach.as_ref()) {
            frame.keyrack = format!("keyrack --store {reach}");
        }
        Ok(Visit {
            frame,
            headers: parts.headers.clone(),
            is_stream: accepted == Some(b"text/event-stream"),
        })
    }
}

/// Sends the browser to another page after a form.
pub(super) fn go(to: &str) -> Response {
    let to = HeaderValue::try_from(to).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response()
}

/// The same, and tells something there.
pub(super) fn go_and_tell(to: &str, is_good: bool, text: &str) -> Response {
    let mut response = go(to);
    let mut end = text.len().min(TOLD_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let coded: String = form_urlencoded::byte_serialize(&text.as_bytes()[..end]).collect();
    let mark = if is_good { '+' } else { '-' };
    add_cookie(&mut response, TOLD, &format!("{mark}{coded}"), TOLD_AGE_S);
    if !is_good {
        response.extensions_mut().insert(Failure(text.to_owned()));
    }
    response
}

/// Remembers a theme.
pub(super) fn go_with_theme(to: &str, theme: &str) -> Response {
    let mut response = go(to);
    add_cookie(&mut response, THEME, Theme::parse(theme).word(), THEME_AGE_S);
    response
}

/// The page that a form has named as the one to go back to: one of ours, whatever it says.
pub(super) fn own_path(path: &str) -> &str {
    let is_own = path.starts_with('/')
        && !path.starts_with("//")
        && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_own { path } else { "/" }
}

fn add_cookie(response: &mut Response, name: &str, value: &str, age_s: u32) {
    let text = format!("{name}={value}; Path=/; Max-Age={age_s}; HttpOnly; SameSite=Lax");
    if let Ok(text) = HeaderValue::try_from(text) {
        response.headers_mut().append(header::SET_COOKIE, text);
    }
}

/// The zone of a cookie, whose slashes may be coded.
fn read_zone(coded: &str) -> Option<Zone> {
    Zone::named(&form_urlencoded::parse(coded.as_bytes()).next()?.0)
}

fn read_flash_message(coded: &str) -> Option<FlashMessage> {
    let (mark, rest) = coded.split_at_checked(1)?;
    let text = form_urlencoded::parse(rest.as_bytes()).next()?.0.into_owned();
    Some(FlashMessage { is_good: mark == "+", text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame_after(response: &Response) -> Frame {
        let mut headers = HeaderMap::new();
        for cookie in response.headers().get_all(header::SET_COOKIE) {
            let pair = cookie.to_str().expect("text").split(';').next().expect("a pair");
            headers.append(header::COOKIE, pair.parse().expect("a value"));
        }
        Frame::of(&headers, &Uri::from_static("/jobs?x=1"))
    }

    #[test]
    fn what_is_told_comes_back_as_it_was() {
        for text in ["done", "a; b=c, \"d\" <script> ü & +"] {
            let told = frame_after(&go_and_tell("/", false, text)).told.expect("told");
            assert_eq!((told.is_good, told.text.as_str()), (false, text));
        }
        let long = "ü".repeat(2 * TOLD_BYTES_MAX);
        let told = frame_after(&go_and_tell("/", true, &long)).told.expect("told");
        assert_eq!(told.text.len(), TOLD_BYTES_MAX);
    }

    #[test]
    fn theme_is_remembered_and_a_made_up_one_is_the_systems() {
        for theme in [Theme::Dark, Theme::Light, Theme::System] {
            assert_eq!(frame_after(&go_with_theme("/", theme.word())).theme, theme);
        }
        assert_eq!(frame_after(&go_with_theme("/", "x\r\ny")).theme, Theme::System);
    }

    #[test]
    fn times_are_those_of_the_zone_that_the_script_has_told() {
        for (told, hour) in [("Asia%2FKolkata", "05:30"), ("Asia/Kolkata", "05:30"), ("x", "00:00")]
        {
            let mut headers = HeaderMap::new();
            headers
                .append(header::COOKIE, format!("keyrack_zone={told}").parse().expect("a value"));
            let frame = Frame::of(&headers, &Uri::from_static("/"));
            assert_eq!(frame.zone.clock(0), hour, "{told}");
        }
    }

    #[test]
    fn forms_lead_to_pages_of_our_own_only() {
        assert_eq!(own_path("/jobs?queue=a%20b"), "/jobs?queue=a%20b");
        for foreign in ["//example.com", "https://example.com", "/\\example.com", "", "/a\r\nb"] {
            assert_eq!(own_path(foreign), "/", "{foreign:?}");
        }
    }

    #[test]
    fn section_of_a_page_is_known_by_its_path() {
        let frame = frame_after(&go("/"));
        assert!(frame.is_at("/jobs") && !frame.is_at("/") && !frame.is_at("/job"));
    }
}
