//! The server: its routes, and serving them until told to stop.

use std::{future::Future, io, sync::Arc};

use axum::{Router, extract::DefaultBodyLimit, middleware, routing::get};
use keyrack_identity::Identity;
use keyrack_jobs::recurring::Definition;
use keyrack_store::Store;
use tokio::net::TcpListener;

use crate::{api, app::App, assets, headers, health, metrics, observe, pages, problem};

/// keyrack's HTTP server.
#[derive(Debug)]
pub struct Server {
    store: Store,
    identity: Identity,
    definitions: Vec<Definition>,
}

impl Server {
    /// A server for a store, to which users are known by user tokens.
    pub fn new(store: Store) -> Server {
        let identity = Identity::new(store.clone());
        Server { store, identity, definitions: Vec::new() }
    }

    /// The same, knowing of recurring jobs.
    #[must_use]
    pub fn with_recurring(self, definitions: Vec<Definition>) -> Server {
        Server { definitions, ..self }
    }

    /// The same, knowing users as `identity` does.
    #[must_use]
    pub fn with_identity(self, identity: Identity) -> Server {
        Server { identity, ..self }
    }

    /// Serves until `stop` resolves, then lets the requests under way come to their end.
    ///
    /// # Errors
    /// When the listener breaks.
    pub async fn run(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let app = self.app();
        let router = router(app.clone());
        let stop = async move {
            stop.await;
            // Requests that wait would otherwise hold up the end.
            app.stop();
        };
        axum::serve(listener, router).with_graceful_shutdown(stop).await
    }

    fn app(self) -> Arc<App> {
        Arc::new(App::new(self.store, self.identity, self.definitions))
    }
}

/// All routes, with what stands round them.
fn router(app: Arc<App>) -> Router {
    let observe = middleware::from_fn_with_state(app.clone(), observe::observe);
    Router::new()
        .route("/", get(pages::home))
        .route("/keys/{family}", get(pages::family))
        .route("/assets/style.css", get(assets::style))
        .route("/assets/icon.svg", get(assets::icon))
        .route("/livez", get(health::livez))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::metrics))
        .merge(api::router())
        .fallback(problem::no_such_page)
        .method_not_allowed_fallback(problem::no_such_method)
        .layer(DefaultBodyLimit::max(api::BODY_BYTES_MAX))
        .layer(middleware::map_response(headers::add))
        .layer(observe)
        .with_state(app)
}

#[cfg(test)]
mod tests;
