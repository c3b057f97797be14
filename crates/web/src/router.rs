//! What stands round all routes.

use std::sync::Arc;

use axum::{Extension, Router, extract::DefaultBodyLimit, middleware, routing::get};
use keyrack_identity::Role;
use tower_http::{
    CompressionLevel,
    compression::{CompressionLayer, DefaultPredicate, Predicate, predicate::SizeAbove},
};

use crate::{
    App,
    access::{self, Permission, Routes},
    extract, headers, health, metrics, observe, problem,
};

/// Bodies from here on are compressed; below, that costs more than it saves.
const COMPRESSED_FROM_BYTES: u16 = 1_024;

/// Compresses for those who can read it. Streams are sent as they are: each event has to leave at once.
fn compression() -> CompressionLayer<impl Predicate> {
    let is_worth_it = DefaultPredicate::new().and(SizeAbove::new(COMPRESSED_FROM_BYTES));
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(is_worth_it)
}

/// What monitoring reads: numbers that tell a lot about what goes on.
fn for_monitors() -> Routes<Arc<App>> {
    let permission = Permission::read(Role::Viewer).linked();
    Routes::default().get("/metrics", permission, metrics::metrics).checked()
}

/// All routes, with health, metrics and what stands round them.
pub fn router(app: Arc<App>, routes: Routes<Arc<App>>) -> Router<Arc<App>> {
    let (router, permissions) = routes.merge(for_monitors()).into_parts();
    router
        .route("/livez", get(health::livez))
        .route("/readyz", get(health::readyz))
        .route("/ping", get(health::ping))
        .fallback(problem::no_such_page)
        .method_not_allowed_fallback(problem::no_such_method)
        .layer(DefaultBodyLimit::max(extract::BODY_BYTES_MAX))
        .layer(middleware::from_fn(extract::refuse_large))
        .layer(middleware::from_fn(access::keep))
        .layer(middleware::from_fn(problem::unify))
        .layer(Extension(app))
        .layer(Extension(Arc::new(permissions)))
}

/// What stands outermost: headers, compression, counting and timing.
pub fn finish(app: Arc<App>, router: Router<Arc<App>>) -> Router {
    let observe = middleware::from_fn_with_state(app.clone(), observe::observe);
    router
        .layer(middleware::map_response(headers::add))
        .layer(compression())
        .layer(observe)
        .with_state(app)
}
