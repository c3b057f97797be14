//! The server: its routes, and serving them until told to stop.

use std::{future::Future, io, sync::Arc};

use axum::{Router, extract::DefaultBodyLimit, middleware, routing::get};
use keyrack_identity::Identity;
use keyrack_jobs::recurring::Definition;
use keyrack_journeys::Tickets;
use keyrack_store::Store;
use tokio::net::TcpListener;

use crate::{
    api::{self, Billing, Deploys},
    app::App,
    assets, headers, health, metrics, observe, pages, problem,
};

/// keyrack's HTTP server.
#[derive(Debug)]
pub struct Server {
    store: Store,
    identity: Identity,
    definitions: Vec<Definition>,
    deploys: Option<Deploys>,
    billing: Option<Billing>,
    tickets: Option<Tickets>,
}

impl Server {
    /// A server for a store, to which users are known by user tokens.
    pub fn new(store: Store) -> Server {
        let identity = Identity::new(store.clone());
        Server {
            store,
            identity,
            definitions: Vec::new(),
            deploys: None,
            billing: None,
            tickets: None,
        }
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

    /// The same, announcing updates for those who may.
    #[must_use]
    pub fn with_deploys(self, deploys: Option<Deploys>) -> Server {
        Server { deploys, ..self }
    }

    /// The same, knowing what users have paid for.
    #[must_use]
    pub fn with_billing(self, billing: Option<Billing>) -> Server {
        Server { billing, ..self }
    }

    /// The same, letting those take part in journeys who have a ticket.
    #[must_use]
    pub fn with_tickets(self, tickets: Option<Tickets>) -> Server {
        Server { tickets, ..self }
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
        let mut app = App::new(self.store, self.identity, self.definitions);
        app.deploys = self.deploys;
        app.billing = self.billing;
        app.tickets = self.tickets;
        Arc::new(app)
    }
}

/// All routes, with what stands round them.
fn router(app: Arc<App>) -> Router {
    let observe = middleware::from_fn_with_state(app.clone(), observe::observe);
    Router::new()
        .merge(pages::router())
        .route("/assets/style.css", get(assets::style))
        .route("/assets/script.js", get(assets::script))
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
