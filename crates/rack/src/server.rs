//! The API and the dashboard as part of another server.

use std::sync::Arc;

use axum::Router;
use keyrack_server::Server;
use keyrack_services::{Options, Services};
use keyrack_web::{Access, Auth};

use crate::Keyrack;

impl Keyrack {
    /// keyrack's API, dashboard, health checks and metrics as a router. Every request needs a token.
    ///
    /// Its pages link to each other by their full paths, so it belongs behind one's own routes and not below a path:
    ///
    /// ```no_run
    /// # async fn example(rack: keyrack::Keyrack) {
    /// use axum::{Router, routing::get};
    ///
    /// let own: Router =
    ///     Router::new().route("/", get(async || "hello")).fallback_service(rack.router());
    /// # }
    /// ```
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn router(&self) -> Router {
        self.router_with(Access { auth: Auth::Required, ..Access::default() }, Options::default())
    }

    /// The same for other callers and with other settings. [`Auth::Local`] lets everybody do everything who reaches the
    /// server.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn router_with(&self, access: Access, options: Options) -> Router {
        let services = Arc::new(Services::new(self.store().clone(), options));
        Server { access, ..Server::new(services) }.router()
    }
}
