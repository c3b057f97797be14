//! keyrack over HTTP: the API and the dashboard behind one port.
//!
//! [`Server`] takes the services and serves them until told to stop. The API and the dashboard do not know each other; they meet
//! here.

use std::{future::Future, io, sync::Arc};

use axum::{Router, middleware};
use futures_util::future::BoxFuture;
use keyrack_dashboard::Site;
use keyrack_services::Services;
use keyrack_web::{Access, App, ConnectionLimits, MetricsQueues, Tls};
use tokio::net::TcpListener;

/// keyrack's HTTP server.
#[derive(Debug)]
pub struct Server {
    /// What it serves.
    pub services: Arc<Services>,
    /// Whom it lets in.
    pub access: Access,
    /// Limits on connections.
    pub limits: ConnectionLimits,
    /// Its certificate; without one it speaks plain HTTP.
    pub tls: Option<Tls>,
    /// By which URL commands reach the store: an embedded one is not where it is stored.
    pub reach: Option<String>,
    /// Which queues have metrics of their own.
    pub metrics_queues: MetricsQueues,
}

impl Server {
    /// A server with the usual limits, for this machine only.
    pub fn new(services: Arc<Services>) -> Server {
        Server {
            services,
            access: Access::default(),
            limits: ConnectionLimits::default(),
            tls: None,
            reach: None,
            metrics_queues: MetricsQueues::default(),
        }
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

    /// All routes, for a server of somebody else. What the first page draws is sampled for as long as the runtime runs.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn router(self) -> Router {
        let site = self.site();
        let router = router(&site);
        tokio::spawn(async move { keyrack_dashboard::take_pulse(&site).await });
        router
    }

    /// Boxed on both sides, so that everything behind it is compiled here and not again by each who runs a server.
    fn serve(
        self,
        listener: TcpListener,
        stop: BoxFuture<'static, ()>,
    ) -> BoxFuture<'static, io::Result<()>> {
        Box::pin(async move {
            let (limits, tls) = (self.limits, self.tls.clone());
            let site = self.site();
            let router = router(&site);
            let stop = async move {
                tokio::select! {
                    () = stop => {}
                    () = keyrack_dashboard::take_pulse(&site) => {}
                }
                // Requests that wait would otherwise hold up the end.
                site.app.stop();
            };
            keyrack_web::serve(listener, router, limits, tls, stop).await;
            Ok(())
        })
    }

    fn site(self) -> Arc<Site> {
        let mut app = App::new(self.services, self.access);
        app.reach = self.reach;
        app.metrics_queues = self.metrics_queues;
        let app = Arc::new(app);
        keyrack_web::export_metrics(&app);
        Arc::new(Site::new(app, keyrack_api::openapi))
    }
}

/// All routes, with what stands round them.
fn router(site: &Arc<Site>) -> Router {
    let app = &site.app;
    let routes = keyrack_dashboard::router(site).merge(keyrack_api::router(app));
    let router = keyrack_web::router(app.clone(), routes);
    let router = router.layer(middleware::from_fn(keyrack_dashboard::error_pages));
    keyrack_web::finish(app.clone(), router)
}

#[cfg(test)]
mod tests;
