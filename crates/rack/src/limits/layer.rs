//! A rate limit before the routes of a server.

use std::{
    convert::Infallible,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse as _, Response},
};
use tower_layer::Layer;
use tower_service::Service;

use super::{LimitSubject, RateLimit, RateLimitDecision};

type Subject = dyn Fn(&Parts) -> Option<String> + Send + Sync;

/// Limits the requests that a server takes; [`RateLimit::layer`] makes it.
#[derive(Clone)]
pub struct RateLimitLayer {
    limit: RateLimit,
    subject: Arc<Subject>,
}

impl std::fmt::Debug for RateLimitLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RateLimitLayer").field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl RateLimit {
    /// A layer for routes of axum. The function says whose share a request takes from; `None` is not limited.
    ///
    /// A request beyond the limit is answered with 429 and `Retry-After`. While the store cannot be reached, requests are
    /// let through, and the log says so.
    ///
    /// ```
    /// # async fn example(rack: keyrack::Keyrack) -> keyrack::Result<()> {
    /// use axum::{Router, routing::get};
    /// use keyrack::prelude::*;
    ///
    /// let limit = rack.limits().window("search", 100, mins(1))?;
    /// let by_key = limit.layer(|request| {
    ///     Some(request.headers.get("x-api-key")?.to_str().ok()?.to_owned())
    /// });
    /// let routes: Router = Router::new().route("/search", get(async || "found")).layer(by_key);
    /// # Ok(()) }
    /// ```
    pub fn layer(
        &self,
        subject: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static,
    ) -> RateLimitLayer {
        RateLimitLayer { limit: self.clone(), subject: Arc::new(subject) }
    }
}

impl<I> Layer<I> for RateLimitLayer {
    type Service = RateLimited<I>;

    fn layer(&self, inner: I) -> RateLimited<I> {
        RateLimited { layer: self.clone(), inner }
    }
}

/// A service behind a [`RateLimitLayer`].
#[derive(Debug, Clone)]
pub struct RateLimited<I> {
    layer: RateLimitLayer,
    inner: I,
}

impl<I> Service<Request> for RateLimited<I>
where
    I: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    I::Future: Send,
{
    type Response = Response;
    type Error = Infallible;
    type Future =
        std::pin::Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send + 'static>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        // The one that is ready serves this request, and its clone the next.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let layer = self.layer.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            match layer.refusal(&parts).await {
                Some(refusal) => Ok(refusal),
                None => inner.call(Request::from_parts(parts, body)).await,
            }
        })
    }
}

impl RateLimitLayer {
    /// The answer to a request that is beyond the limit.
    async fn refusal(&self, request: &Parts) -> Option<Response> {
        let subject = (self.subject)(request)?;
        // What is too long for a key is nobody's share.
        let subject = match LimitSubject::new(subject) {
            Ok(subject) => subject,
            Err(error) => return Some(answer(StatusCode::BAD_REQUEST, error.to_string())),
        };
        match self.limit.take(subject).await {
            Ok(decision) => (!decision.allowed).then(|| too_many(&decision)),
            Err(error) => {
                tracing::warn!(%error, limit = %self.limit.name, "a request was not limited");
                None
            }
        }
    }
}

fn too_many(decision: &RateLimitDecision) -> Response {
    let wait = decision.retry_after.unwrap_or(decision.reset_after);
    let seconds = whole_seconds(wait);
    let text = format!("too many requests; try again in {seconds} s");
    let mut response = answer(StatusCode::TOO_MANY_REQUESTS, text);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

fn answer(status: StatusCode, text: String) -> Response {
    (status, Body::from(text + "\n")).into_response()
}

/// Seconds after which the time is surely over.
fn whole_seconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1)
}
