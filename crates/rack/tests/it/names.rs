//! Names that parse wherever text comes in.

use axum::{
    Router,
    body::Body,
    extract::Path,
    http::{Request, StatusCode},
    routing::get,
};
use keyrack::prelude::*;
use tower::ServiceExt as _;

async fn show(Path((queue, id)): Path<(QueueName, JobId)>) -> String {
    format!("{queue} {id}")
}

#[tokio::test]
async fn a_path_of_axum_has_names() {
    let routes = Router::new().route("/{queue}/{id}", get(show));
    let ask = async |path: &str| {
        let request = Request::get(path).body(Body::empty()).expect("a request");
        routes.clone().oneshot(request).await.unwrap_or_else(|never| match never {}).status()
    };
    assert_eq!(ask("/emails/42").await, StatusCode::OK);
    assert_eq!(ask("/emails/tags").await, StatusCode::BAD_REQUEST);
    assert_eq!(ask(&format!("/emails/{}", "x".repeat(300))).await, StatusCode::BAD_REQUEST);
}

#[test]
fn names_parse_and_go_through_serde() {
    let tag: Tag = "urgent".parse().expect("a tag");
    assert_eq!(Tag::try_from("urgent".to_owned()), Ok(tag.clone()));
    assert_eq!(serde_json::to_string(&tag).expect("JSON"), r#""urgent""#);
    assert!(serde_json::from_str::<Tenant>(r#""""#).is_err());
}
