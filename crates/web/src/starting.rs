//! What is answered while the store is not open yet: a log loads, or a server is waited for.

use std::{io, time::Duration};

use axum::{
    Router,
    http::StatusCode,
    middleware,
    response::{IntoResponse as _, Response},
    routing::get,
};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

use crate::{ConnectionLimits, Problem, Tls, connections, headers, health};

/// How soon to ask again.
const RETRY_AFTER_S: u32 = 2;
/// How long requests under way may hold up the real server.
const END_MAX: Duration = Duration::from_millis(200);

/// A server that is alive and not ready, on the port that the real one takes over.
#[derive(Debug)]
pub struct Starting {
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Starting {
    /// Answers on a listener: `/livez` with 200, everything else with 503 and what `progress` says.
    ///
    /// # Errors
    /// When the listener cannot be used.
    pub fn serve(
        listener: std::net::TcpListener,
        limits: ConnectionLimits,
        tls: Option<Tls>,
        progress: impl Fn() -> String + Clone + Send + Sync + 'static,
    ) -> io::Result<Starting> {
        let listener = TcpListener::from_std(listener)?;
        let router = Router::new()
            .route("/livez", get(health::livez))
            .fallback(move || async move { not_yet(progress()) })
            .layer(middleware::map_response(headers::add));
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            // Being dropped ends it too.
            let stopped = async { drop(stopped.await) };
            connections::serve(listener, router, limits, tls, stopped).await;
        });
        Ok(Starting { stop, serving })
    }

    /// Makes way for the real server.
    pub async fn end(self) {
        let _ = self.stop.send(());
        let _ = tokio::time::timeout(END_MAX, self.serving).await;
    }
}

fn not_yet(progress: String) -> Response {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "starting")
        .title("the store is not open yet")
        .detail(progress)
        .retry_after(RETRY_AFTER_S)
        .into_response()
}
