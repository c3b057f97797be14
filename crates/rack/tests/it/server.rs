//! keyrack's routes behind those of another server.

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode},
    routing::get,
};
use keyrack::{Access, ServiceOptions, prelude::*};
use tower::ServiceExt as _;

async fn status(routes: &Router, path: &str) -> StatusCode {
    let request = Request::get(path).body(Body::empty()).expect("a request");
    routes.clone().oneshot(request).await.unwrap_or_else(|never| match never {}).status()
}

#[tokio::test]
async fn own_routes_come_first_and_the_others_need_a_token() {
    let rack = Keyrack::open("embedded:memory").await.expect("a rack");
    let own = || Router::new().route("/", get(async || "hello"));
    let routes = own().fallback_service(rack.router());
    assert_eq!(status(&routes, "/").await, StatusCode::OK);
    assert_eq!(status(&routes, "/livez").await, StatusCode::OK);
    assert_eq!(status(&routes, "/api/1/queues").await, StatusCode::UNAUTHORIZED);
    assert_eq!(status(&routes, "/nothing").await, StatusCode::NOT_FOUND);

    let open = rack.router_with(Access::default(), ServiceOptions::default());
    let routes = own().fallback_service(open);
    assert_eq!(status(&routes, "/api/1/queues").await, StatusCode::OK);
}
