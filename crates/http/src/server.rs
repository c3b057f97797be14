//! The server: its routes, and serving them until told to stop.

use std::{future::Future, io, sync::Arc};

use axum::{Extension, Router, extract::DefaultBodyLimit, middleware, routing::get};
use futures_util::future::BoxFuture;
use keyrack_files::Buckets;
use keyrack_identity::Identity;
use keyrack_jobs::recurring::Definition;
use keyrack_journeys::Tickets;
use keyrack_store::Store;
use tokio::net::TcpListener;
use tower_http::{
    CompressionLevel,
    compression::{CompressionLayer, DefaultPredicate, Predicate, predicate::SizeAbove},
};

use crate::{
    access::{self, Access},
    api::{self, Billing, Deploys, Recommendations},
    app::{App, Quotas},
    assets,
    connections::{self, ConnectionLimits, Tls},
    headers, health, metrics, observe, pages, problem,
};

/// keyrack's HTTP server.
#[derive(Debug)]
pub struct Server {
    store: Store,
    identity: Identity,
    access: Access,
    definitions: Vec<Definition>,
    deploys: Option<Deploys>,
    billing: Option<Billing>,
    buckets: Option<Buckets>,
    reach: Option<String>,
    metrics_queues: Option<usize>,
    tickets: Option<Tickets>,
    recommendations: Option<Recommendations>,
    limits: ConnectionLimits,
    quotas: Quotas,
    tls: Option<Tls>,
}

impl Server {
    /// A server for a store, to which users are known by user tokens.
    pub fn new(store: Store) -> Server {
        let identity = Identity::new(store.clone());
        Server {
            store,
            identity,
            access: Access::default(),
            definitions: Vec::new(),
            deploys: None,
            billing: None,
            buckets: None,
            reach: None,
            metrics_queues: None,
            tickets: None,
            recommendations: None,
            limits: ConnectionLimits::default(),
            quotas: Quotas::default(),
            tls: None,
        }
    }

    /// The same, over TLS if a certificate is given.
    #[must_use]
    pub fn with_tls(self, tls: Option<Tls>) -> Server {
        Server { tls, ..self }
    }

    /// The same, with other limits on connections.
    #[must_use]
    pub fn with_limits(self, limits: ConnectionLimits) -> Server {
        Server { limits, ..self }
    }

    /// The same, with other quotas for each user.
    #[must_use]
    pub fn with_quotas(self, quotas: Quotas) -> Server {
        Server { quotas, ..self }
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

    /// The same, letting in whom `access` says.
    #[must_use]
    pub fn with_access(self, access: Access) -> Server {
        Server { access, ..self }
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

    /// The same, telling people by which URL commands reach the store: an embedded one is not where it is stored.
    #[must_use]
    pub fn with_reach(self, url: Option<String>) -> Server {
        Server { reach: url, ..self }
    }

    /// The same, with metrics of their own for so many queues; 200 unless set.
    #[must_use]
    pub fn with_metrics_queues(self, n: usize) -> Server {
        Server { metrics_queues: Some(n), ..self }
    }

    /// The same, knowing where files are, so that they can be swept from the dashboard.
    #[must_use]
    pub fn with_buckets(self, buckets: Option<Buckets>) -> Server {
        Server { buckets, ..self }
    }

    /// The same, letting those take part in journeys who have a ticket.
    #[must_use]
    pub fn with_tickets(self, tickets: Option<Tickets>) -> Server {
        Server { tickets, ..self }
    }

    /// The same, recommending by these settings, and loading from the app's tables.
    #[must_use]
    pub fn with_recommendations(self, recommendations: Recommendations) -> Server {
        Server { recommendations: Some(recommendations), ..self }
    }

    /// Serves until `stop` resolves, then lets the requests under way come to their end.
    ///
    /// # Errors
    /// When the listener breaks.
    pub fn run(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> BoxFuture<'static, io::Result<()>> {
        self.serve(listener, Box::pin(stop))
    }

    /// Boxed on both sides, so that everything behind it is compiled here and not again by each who runs a server.
    fn serve(
        self,
        listener: TcpListener,
        stop: BoxFuture<'static, ()>,
    ) -> BoxFuture<'static, io::Result<()>> {
        Box::pin(async move {
            let (limits, tls) = (self.limits, self.tls.clone());
            let app = self.app();
            let router = router(app.clone());
            let stop = async move {
                tokio::select! {
                    () = stop => {}
                    () = pages::take_pulse(&app) => {}
                }
                // Requests that wait would otherwise hold up the end.
                app.stop();
            };
            connections::serve(listener, router, limits, tls, stop).await;
            Ok(())
        })
    }

    fn app(self) -> Arc<App> {
        let mut app = App::new(self.store, self.identity, self.definitions, self.quotas);
        app.access = self.access;
        app.deploys = self.deploys;
        app.billing = self.billing;
        app.buckets = self.buckets;
        app.reach = self.reach;
        app.metrics_queues = self.metrics_queues.unwrap_or(app.metrics_queues);
        app.tickets = self.tickets;
        if let Some(recommendations) = self.recommendations {
            app.recommendations = recommendations;
        }
        Arc::new(app)
    }
}

/// Bodies from here on are compressed; below, that costs more than it saves.
const COMPRESSED_FROM_BYTES: u16 = 1_024;

/// Compresses for those who can read it. Streams are sent as they are: each event has to leave at once.
fn compression() -> CompressionLayer<impl Predicate> {
    let is_worth_it = DefaultPredicate::new().and(SizeAbove::new(COMPRESSED_FROM_BYTES));
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(is_worth_it)
}

/// What monitoring reads: numbers that tell a lot about what goes on.
fn for_monitors() -> Router<Arc<App>> {
    let metrics = Router::new().route("/metrics", get(metrics::metrics));
    metrics.layer(middleware::from_fn(access::enter))
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
        .route("/ping", get(health::ping))
        .merge(for_monitors())
        .merge(api::router())
        .fallback(problem::no_such_page)
        .method_not_allowed_fallback(problem::no_such_method)
        .layer(DefaultBodyLimit::max(api::BODY_BYTES_MAX))
        .layer(middleware::from_fn(api::refuse_large))
        .layer(middleware::from_fn(access::keep))
        .layer(middleware::from_fn(problem::unify))
        .layer(Extension(app.clone()))
        .layer(middleware::map_response(headers::add))
        .layer(compression())
        .layer(observe)
        .with_state(app)
}

#[cfg(test)]
mod tests;
