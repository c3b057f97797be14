//! Signing in, roles and pages of other sites, in a real browser.

use std::{net::SocketAddr, path::PathBuf};

use axum::{Router, response::Html, routing::get};
use keyrack_identity::Role;
use keyrack_testkit::Browser;
use keyrack_web::{Access, Auth};
use serde_json::json;
use tokio::net::TcpListener;

use crate::site::Site;

/// Forms on a page that would change something.
const FORMS: &str = "[...document.querySelectorAll('form')].filter((form) => form.method === 'post' \
    && !['/theme', '/sign-out', '/sign-in'].includes(new URL(form.action).pathname)).length";
/// Ways to such forms.
const WAYS: &str = "document.querySelectorAll('a[href^=\"/submit\"], a[href^=\"/bulk?\"]').length";

/// Somebody with a browser, at a server that asks who they are.
struct Visitor {
    site: Site,
    browser: Browser,
}

impl Visitor {
    async fn new() -> Visitor {
        let access = Access { auth: Auth::Required, ..Access::default() };
        Visitor { site: Site::letting_in(access).await, browser: Browser::start().await }
    }

    async fn open(&self, path: &str) {
        self.browser.open(&format!("http://{}{path}", self.site.addr)).await;
    }

    async fn is_at(&self, path: &str) {
        self.browser.wait_until(&format!("location.pathname === '{path}'")).await;
    }

    async fn shows(&self, text: &str) {
        let quoted = json!(text);
        self.browser.wait_until(&format!("document.body.innerText.includes({quoted})")).await;
    }

    async fn types(&self, token: &str) {
        self.browser.fill("[name=token]", token).await;
        self.browser.click(".sign-in button").await;
    }

    /// Opens a page and signs in on the way.
    async fn signs_in_as(&self, name: &str, role: Role, path: &str) {
        let token = self.site.token_of(name, role).await;
        self.open(path).await;
        self.is_at("/sign-in").await;
        self.types(&token).await;
        self.is_at(path).await;
    }

    /// A job as somebody with the right submits it.
    async fn submit(&self, queue: &str) {
        let token = self.site.token_of("setup", Role::Operator).await;
        let path = format!("/api/1/queues/{queue}/jobs");
        let answer = self.site.post_as(&token, &path, json!({"jid": "j1"})).await;
        assert_eq!(answer.status, 201, "{answer:?}");
    }

    async fn is_paused(&self, queue: &str) -> bool {
        let token = self.site.token_of("look", Role::Viewer).await;
        let path = format!("/api/1/queues/{queue}");
        self.site.send_as(&token, "GET", &path, json!({})).await.ok()["paused"] == true
    }

    /// Takes pictures to look at, and makes sure that nobody is kept out.
    async fn pictures(&self, name: &str) {
        for (size, width, height) in [("desktop", 1280, 900), ("phone", 390, 844)] {
            self.browser.resize(width, height).await;
            for theme in ["light", "dark"] {
                self.browser.prefer(theme).await;
                let path = pictures().join(format!("{name}-{size}-{theme}.png"));
                self.browser.screenshot(&path).await;
                let barriers = self.browser.barriers().await;
                assert!(barriers.is_empty(), "{name}, {theme}: {barriers:#?}");
            }
            let wide = self.browser.evaluate("document.documentElement.scrollWidth").await;
            assert!(wide.as_u64() <= Some(width.into()), "{name} is {wide} wide on a {size}");
        }
        self.browser.resize(1280, 900).await;
    }
}

/// Where pictures go: below the folder of build results, which is never committed.
fn pictures() -> PathBuf {
    let results = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    results.parent().expect("the folder of results").join("pictures")
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_signs_in_and_out_and_is_told_who_they_are() {
    let visitor = Visitor::new().await;
    let token = visitor.site.token_of("ada", Role::Operator).await;
    visitor.open("/jobs").await;
    visitor.is_at("/sign-in").await;
    visitor.pictures("sign-in").await;
    visitor.types("ep_ut_nonsense").await;
    visitor.shows("This token does not open the dashboard.").await;
    visitor.types(&token).await;
    visitor.is_at("/jobs").await;
    assert_eq!(visitor.browser.text(".who span").await, "ada");
    assert_eq!(visitor.browser.text(".who small").await, "operator");
    let cookies = visitor.browser.evaluate("document.cookie").await;
    let cookies = cookies.as_str().expect("text");
    // The zone is the only one that scripts may read: they have set it.
    assert!(cookies.split("; ").all(|one| one.starts_with("keyrack_zone=")), "{cookies}");
    visitor.pictures("signed-in").await;
    visitor.browser.click(".who button").await;
    visitor.shows("Signed out.").await;
    visitor.open("/keys").await;
    visitor.is_at("/sign-in").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_sees_nothing_that_changes_anything_and_is_refused() {
    let visitor = Visitor::new().await;
    visitor.submit("mail").await;
    let pages = [
        "/",
        "/jobs",
        "/jobs/j1",
        "/queues/mail",
        "/find",
        "/errors",
        "/queues/mail/history",
        "/recurring",
        "/progress",
        "/entitlements",
        "/files",
        "/journeys",
        "/updates",
        "/recommender",
        "/calculations",
        "/keys",
        "/lint",
        "/docs",
    ];
    visitor.signs_in_as("eve", Role::Viewer, "/jobs").await;
    let browser = &visitor.browser;
    for page in pages {
        visitor.open(page).await;
        let ways = browser.evaluate(&format!("[{FORMS}, {WAYS}]")).await;
        assert_eq!(ways, json!([0, 0]), "{page}");
    }
    visitor.open("/submit").await;
    visitor.shows("it is that of a viewer; this takes the role operator").await;
    let tried =
        "fetch('/api/1/queues/mail/pause', {method: 'POST'}).then((answer) => answer.status)";
    assert_eq!(browser.evaluate(tried).await, 403);
    let tried = "fetch('/queues/mail/pause', {method: 'POST'}).then((answer) => answer.status)";
    assert_eq!(browser.evaluate(tried).await, 403);
    assert!(!visitor.is_paused("mail").await);

    browser.click(".brand").await;
    browser.click(".who button").await;
    visitor.is_at("/sign-in").await;
    visitor.signs_in_as("ada", Role::Operator, "/queues/mail").await;
    assert_ne!(browser.evaluate(FORMS).await, 0, "an operator does see them");
    browser.click("form[action='/queues/mail/pause'] button").await;
    visitor.shows("Paused: jobs that run go on").await;
    assert!(visitor.is_paused("mail").await);
}

/// A page of another site, with a button that pauses a queue of ours.
async fn foreign_page(target: SocketAddr) -> u16 {
    let page = format!(
        "<form method='post' action='http://{target}/queues/mail/pause'><button>Kittens</button></form>"
    );
    let router = Router::new().route("/", get(async move || Html(page)));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move { axum::serve(listener, router).await });
    port
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_other_sites_do_nothing_in_the_name_of_who_is_signed_in() {
    let visitor = Visitor::new().await;
    visitor.submit("mail").await;
    visitor.signs_in_as("ada", Role::Admin, "/queues/mail").await;
    let port = foreign_page(visitor.site.addr).await;
    // To the browser another port is the same site and sends the session, another name is not and does not.
    for host in ["127.0.0.1", "localhost"] {
        visitor.browser.open(&format!("http://{host}:{port}/")).await;
        visitor.browser.click("button").await;
        visitor.shows("web pages of other sites may not do this").await;
        assert!(!visitor.is_paused("mail").await, "{host}");
    }
    visitor.open("/queues/mail").await;
    visitor.browser.click("form[action='/queues/mail/pause'] button").await;
    visitor.shows("Paused: jobs that run go on").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_sees_who_has_changed_what() {
    let visitor = Visitor::new().await;
    visitor.submit("mail").await;
    visitor.signs_in_as("ada", Role::Admin, "/queues/mail").await;
    let browser = &visitor.browser;
    browser.click("form[action='/queues/mail/pause'] button").await;
    visitor.shows("Paused: jobs that run go on").await;
    browser.click("footer a[href='/audit']").await;
    visitor.is_at("/audit").await;
    visitor.shows("queue paused").await;
    visitor.shows("signed in").await;
    // What happens meanwhile is shown by itself.
    let token = visitor.site.token_of("grace", Role::Operator).await;
    visitor.site.post_as(&token, "/api/1/queues/mail/resume", json!({})).await.ok();
    visitor.shows("queue resumed").await;
    visitor.pictures("audit").await;
}
