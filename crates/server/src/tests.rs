use axum::{
    body::{Body, to_bytes},
    http::{Request, StatusCode, header},
    response::Response,
};
use keyrack_services::Options;
use keyrack_store::Store;
use tower::ServiceExt as _;

use super::*;

async fn store() -> Store {
    Store::open("embedded:memory").await.expect("a store in memory")
}

fn site(store: Store) -> Arc<Site> {
    Server::new(Arc::new(Services::new(store, Options::default()))).site()
}

async fn send(store: &Store, request: Request<Body>) -> Response {
    let answered = router(&site(store.clone())).oneshot(request).await;
    answered.unwrap_or_else(|error| match error {})
}

async fn get(path: &str) -> (Response<()>, String) {
    get_as(path, "*/*").await
}

async fn get_as(path: &str, accept: &str) -> (Response<()>, String) {
    let request = Request::get(path).header(header::ACCEPT, accept);
    let response = send(&store().await, request.body(Body::empty()).expect("a request")).await;
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.expect("the whole body");
    let text = String::from_utf8(body.to_vec()).expect("text");
    (Response::from_parts(parts, ()), text)
}

fn content_type(response: &Response<()>) -> &str {
    let value = response.headers().get(header::CONTENT_TYPE).expect("a content type");
    value.to_str().expect("text")
}

#[tokio::test]
async fn live_and_ready_when_the_store_answers() {
    for path in ["/livez", "/readyz"] {
        let (response, body) = get(path).await;
        assert_eq!((response.status(), body.as_str()), (StatusCode::OK, "ok\n"), "{path}");
    }
}

#[tokio::test]
async fn first_page_shows_the_store_and_the_page_of_keys_every_family() {
    let (response, body) = get("/").await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(content_type(&response), "text/html; charset=utf-8");
    assert!(body.contains("embedded:memory"));
    let (_, body) = get("/keys").await;
    for family in keyrack_contract::registry().all() {
        assert!(body.contains(&format!("href=\"/keys/{}\"", family.id())), "{}", family.id());
    }
}

#[tokio::test]
async fn every_family_has_a_page_with_its_fields_and_example() {
    let router = super::router(&site(store().await));
    for family in keyrack_contract::registry().all() {
        let request = Request::get(format!("/keys/{}", family.id())).body(Body::empty());
        let response = router.clone().oneshot(request.expect("a request")).await;
        let response = response.unwrap_or_else(|error| match error {});
        assert_eq!(response.status(), StatusCode::OK, "{}", family.id());
        let body = to_bytes(response.into_body(), usize::MAX).await.expect("the whole body");
        let body = String::from_utf8(body.to_vec()).expect("text");
        assert!(body.contains(family.example), "{}", family.id());
        for row in family.content.rows() {
            assert!(body.contains(row.name), "{} lacks {}", family.id(), row.name);
        }
    }
}

#[tokio::test]
async fn names_are_escaped() {
    let (_, body) = get("/keys/progress.trace").await;
    assert!(body.contains("trace:&#60;user_sub&#62;"), "{body}");
    assert!(!body.contains("<user_sub>"));
}

#[tokio::test]
async fn unknown_paths_are_problems_for_programs_and_pages_for_people() {
    for (path, kind) in [("/nothing", "not_found"), ("/keys/nothing", "family_not_found")] {
        let (response, body) = get(path).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
        assert_eq!(content_type(&response), "application/problem+json");
        let problem: serde_json::Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!((&problem["type"], &problem["status"]), (&kind.into(), &404.into()));

        let (response, body) = get_as(path, "text/html,*/*;q=0.8").await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
        assert_eq!(content_type(&response), "text/html; charset=utf-8");
        assert!(body.contains("there is no such"), "{body}");
    }
}

#[tokio::test]
async fn method_that_a_path_does_not_know_is_a_problem() {
    let request = Request::delete("/livez").body(Body::empty()).expect("a request");
    let response = send(&store().await, request).await;
    assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert!(response.headers().contains_key(header::ALLOW));
}

#[tokio::test]
async fn every_response_forbids_foreign_content() {
    for path in ["/", "/keys/progress.trace", "/nothing", "/metrics", "/assets/style.css"] {
        let (response, _) = get_as(path, "text/html").await;
        let policy = response.headers().get(header::CONTENT_SECURITY_POLICY).expect("a policy");
        assert!(policy.to_str().expect("text").starts_with("default-src 'none'"), "{path}");
    }
}

#[tokio::test]
async fn pages_load_nothing_from_elsewhere_and_run_only_their_own_scripts() {
    for path in
        ["/", "/jobs", "/find", "/submit", "/recurring", "/keys", "/keys/progress.trace", "/lint"]
    {
        let (_, body) = get(path).await;
        for forbidden in ["http://", "https://", "<style", "style=\"", " onclick", "javascript:"] {
            assert!(!body.contains(forbidden), "{path} has {forbidden}");
        }
        let scripts: Vec<&str> = body.matches("<script").collect();
        let own = ["script", "palette"].map(|name| format!("<script src=\"/assets/{name}.js?"));
        let own = own.map(|tag| body.matches(&tag).count());
        assert_eq!((scripts.len(), own), (2, [1, 1]), "{path}");
    }
}

#[tokio::test]
async fn metrics_are_named_by_route_and_never_by_path() {
    let store = store().await;
    let router = super::router(&site(store));
    for path in ["/keys/progress.trace", "/keys/nothing", "/made/up", "/metrics"] {
        let request = Request::get(path).body(Body::empty()).expect("a request");
        let response = router.clone().oneshot(request).await;
        let response = response.unwrap_or_else(|error| match error {});
        if path != "/metrics" {
            continue;
        }
        let body = to_bytes(response.into_body(), usize::MAX).await.expect("the whole body");
        let body = String::from_utf8(body.to_vec()).expect("text");
        assert!(body.contains("route=\"/keys/{family}\",status=\"200\"} 1"), "{body}");
        assert!(body.contains("route=\"/keys/{family}\",status=\"404\"} 1"), "{body}");
        assert!(body.contains("route=\"none\",status=\"404\"} 1"), "{body}");
        assert!(!body.contains("made"));
        assert!(body.contains("keyrack_store_up 1\n"));
        assert!(body.contains("keyrack_store_family_keys{family=\"progress.trace\"} 0\n"));
        assert!(body.ends_with("# EOF\n"));
    }
}

#[tokio::test]
async fn first_load_is_small() {
    // A hundred thousand bytes packed is the promise; this is the same unpacked.
    let mut bytes = 0;
    for path in
        ["/", "/assets/style.css", "/assets/script.js", "/assets/palette.js", "/assets/icon.svg"]
    {
        bytes += get(path).await.1.len();
    }
    assert!(bytes < 100_000, "{bytes} bytes");
}
