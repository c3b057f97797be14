//! Rate limits, alone and before routes.

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode, header},
    response::Response,
    routing::get,
};
use keyrack::{Class, prelude::*};
use tower::ServiceExt as _;

use crate::tasks::on_every_rack;

#[tokio::test(flavor = "multi_thread")]
async fn a_reached_limit_is_an_error_that_says_when_to_come_back_on_every_store() {
    on_every_rack(async |rack| {
        let limit = rack.limits().window("search", 2, secs(60)).expect("a limit");
        limit.check("ada").await.expect("the first");
        limit.check("ada").await.expect("the second");
        let error = limit.check("ada").await.expect_err("the third");
        assert_eq!((error.class(), error.is_transient()), (Class::Limited, true));
        limit.check("bob").await.expect("somebody else");
    })
    .await;
}

#[tokio::test]
async fn a_limit_that_makes_no_sense_is_refused() {
    let rack = Keyrack::open("embedded:memory").await.expect("a rack");
    let none = rack.limits().window("search", 0, secs(1)).expect("a name");
    assert_eq!(none.take("ada").await.expect_err("nothing at all").class(), Class::Invalid);
    assert_eq!(rack.limits().window("", 1, secs(1)).expect_err("no name").class(), Class::Invalid);
    let limit = rack.limits().steady("search", 1, secs(1), 1).expect("a limit");
    assert_eq!(limit.take("").await.expect_err("no subject").class(), Class::Invalid);
}

async fn ask(routes: &Router, key: Option<&str>) -> Response {
    let mut request = Request::get("/search");
    if let Some(key) = key {
        request = request.header("x-api-key", key);
    }
    let request = request.body(Body::empty()).expect("a request");
    routes.clone().oneshot(request).await.unwrap_or_else(|never| match never {})
}

#[tokio::test]
async fn a_layer_answers_429_with_the_time_to_wait() {
    let rack = Keyrack::open("embedded:memory").await.expect("a rack");
    let limit = rack.limits().window("search", 1, mins(1)).expect("a limit");
    let layer =
        limit.layer(|request| Some(request.headers.get("x-api-key")?.to_str().ok()?.to_owned()));
    let routes = Router::new().route("/search", get(async || "found")).layer(layer);
    assert_eq!(ask(&routes, Some("a")).await.status(), StatusCode::OK);
    let refused = ask(&routes, Some("a")).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    let wait = refused.headers().get(header::RETRY_AFTER).expect("a time").to_str().expect("text");
    assert!((1..=60).contains(&wait.parse::<u64>().expect("seconds")), "{wait}");
    assert_eq!(ask(&routes, Some("b")).await.status(), StatusCode::OK);
    assert_eq!(ask(&routes, None).await.status(), StatusCode::OK);
    assert_eq!(ask(&routes, None).await.status(), StatusCode::OK);
    assert_eq!(ask(&routes, Some(&"x".repeat(300))).await.status(), StatusCode::BAD_REQUEST);
}
