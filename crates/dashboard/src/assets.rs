//! The stylesheet, the scripts and the icon, compiled into the program.

use axum::{
    Router,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
    routing::get,
};

const STYLE: &str = concat!(
    include_str!("../assets/style.css"),
    include_str!("../assets/services.css"),
    include_str!("../assets/calculations.css"),
    include_str!("../assets/axes.css")
);
const SCRIPT: &str = include_str!("../assets/script.js");
const PALETTE: &str = include_str!("../assets/palette.js");
const ICON: &str = include_str!("../assets/icon.svg");

/// Pages put a mark of the content into the URL, so browsers may keep these for good.
const CACHE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// The routes of all assets, which anybody may load.
pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/assets/style.css", get(style))
        .route("/assets/script.js", get(script))
        .route("/assets/palette.js", get(palette))
        .route("/assets/icon.svg", get(icon))
}

async fn style() -> Response {
    asset("text/css; charset=utf-8", STYLE)
}

async fn script() -> Response {
    asset("text/javascript; charset=utf-8", SCRIPT)
}

async fn palette() -> Response {
    asset("text/javascript; charset=utf-8", PALETTE)
}

async fn icon() -> Response {
    asset("image/svg+xml", ICON)
}

fn asset(kind: &'static str, body: &'static str) -> Response {
    let kind = HeaderValue::from_static(kind);
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, CACHE)], body).into_response()
}

/// A mark of the assets' content, for their URLs.
pub(crate) const fn mark() -> u32 {
    let texts = fnv(PALETTE.as_bytes(), fnv(SCRIPT.as_bytes(), 0x811c_9dc5));
    fnv(ICON.as_bytes(), fnv(STYLE.as_bytes(), texts))
}

/// FNV-1a: all that is wanted is another number for other bytes.
const fn fnv(bytes: &[u8], mut hash: u32) -> u32 {
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    hash
}
