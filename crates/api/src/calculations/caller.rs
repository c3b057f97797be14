//! Whose project a request is about.

use std::sync::{Arc, Once};

use axum::{
    extract::{FromRequestParts, MatchedPath, Path},
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use keyrack_calculations::{
    KeyId, Ledger, dimension, dimension_key,
    keys::{Calculation, Interval, Project},
};
use keyrack_web::{App, Problem, access, error::invalid};

/// Whether the log has been told of tokens in URLs.
static WARNED: Once = Once::new();

/// A project, and the data of the account that it belongs to.
pub(super) struct Caller {
    pub(super) ledger: Ledger,
    pub(super) project: Project,
}

impl Caller {
    /// Whoever has this token.
    pub(super) async fn with_token(app: &App, token: &str) -> Result<Caller, Problem> {
        let grant = app.services.calculations.grant(token).await?;
        let ledger = app.services.calculations.ledger(&grant.account).await?;
        Ok(Caller { ledger, project: grant.project })
    }

    /// A key of the project.
    pub(super) fn key(&self, dimension_name: &str, key: &str) -> Result<KeyId, Problem> {
        let (dimension, key) = (dimension(dimension_name)?, dimension_key(key)?);
        Ok(self.ledger.key(&self.project, &dimension, &key))
    }
}

/// The token is in the header `Access-Token`, in `Authorization: Bearer …`, or, on published routes where that is allowed, in the
/// query as `access_token`.
impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Caller, Problem> {
        let query = parts.uri.query().unwrap_or_default();
        // URLs end up in logs and histories. Only the published routes take tokens there, because their clients send them so.
        let route = parts.extensions.get::<MatchedPath>().map_or("", |route| route.as_str());
        let in_query = || {
            if !route.starts_with("/api/1.0/") || !app.access.takes_url_tokens() {
                return None;
            }
            let mut pairs = form_urlencoded::parse(query.as_bytes());
            let (_, token) = pairs.find(|(name, _)| name == "access_token")?;
            WARNED.call_once(|| {
                tracing::warn!(
                    "a client sends a project's token in the URL, where logs keep it: have it send the header Access-Token, and \
                     set url-tokens = \"off\""
                );
            });
            Some(token.into_owned())
        };
        let Some(token) = in_headers(&parts.headers).map(str::to_owned).or_else(in_query) else {
            return Err(Problem::new(StatusCode::UNAUTHORIZED, "token_missing")
                .title("missing access token")
                .detail("send the project's token in the header \"Access-Token\""));
        };
        Caller::with_token(app, &token).await
    }
}

fn in_headers(headers: &HeaderMap) -> Option<&str> {
    if let Some(token) = headers.get("access-token") {
        return token.to_str().ok();
    }
    access::bearer(headers.get(header::AUTHORIZATION)?.to_str().ok()?)
}

/// The parts of a path, whatever they are called.
pub(super) struct Segments<const N: usize>(pub(super) [String; N]);

impl<const N: usize> FromRequestParts<Arc<App>> for Segments<N> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let path = Path::<Vec<String>>::from_request_parts(parts, app).await;
        let segments = path.ok().and_then(|Path(segments)| segments.try_into().ok());
        segments.map(Segments).ok_or_else(|| {
            Problem::new(StatusCode::BAD_REQUEST, "bad_path").title("the path could not be read")
        })
    }
}

/// The calculation of that name.
pub(super) fn calculation(word: &str) -> Result<Calculation, Problem> {
    word.parse().map_err(|error: keyrack_keys::PartError| invalid("calculation", error.to_string()))
}

/// The interval of that name.
pub(super) fn interval(word: &str) -> Result<Interval, Problem> {
    word.parse().map_err(|error: keyrack_keys::PartError| invalid("interval", error.to_string()))
}
