//! Who gets in: every route with every kind of caller.
//!
//! `table` says what each route asks for, and fails when the description or the pages have one that it does not know. `own` is
//! about what belongs to users.

mod matrix;
mod own;
mod secrecy;
mod table;

use keyrack_identity::{NewToken, Role, TokenScope, keys::TokenUid};
use keyrack_keys::UserSub;
use keyrack_store::Store;
use keyrack_web::{Access, Auth};
use tokio::io::AsyncReadExt as _;

use self::table::{Asks, Route, described, pages};
use crate::{
    calculations::project_token,
    entitlements::billing_of_nobody,
    site::{Site, jwt},
};

/// What a project of another account has stored.
const FOREIGN_VALUE: &str = "424242";

/// Somebody who knocks.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Caller {
    Nobody,
    Garbage,
    Expired,
    Revoked,
    Viewer,
    Operator,
    Admin,
    /// A user token with which a user of the app may change what is theirs.
    Customer,
    /// Somebody whom the identity provider has signed in.
    SignedIn,
    /// A program with the token of a project of calculations.
    Project,
}

impl Caller {
    const ALL: [Caller; 10] = [
        Caller::Nobody,
        Caller::Garbage,
        Caller::Expired,
        Caller::Revoked,
        Caller::Viewer,
        Caller::Operator,
        Caller::Admin,
        Caller::Customer,
        Caller::SignedIn,
        Caller::Project,
    ];

    fn role(self) -> Option<Role> {
        match self {
            Caller::Viewer => Some(Role::Viewer),
            Caller::Operator => Some(Role::Operator),
            Caller::Admin => Some(Role::Admin),
            _ => None,
        }
    }

    fn has_bad_token(self) -> bool {
        matches!(self, Caller::Garbage | Caller::Expired | Caller::Revoked)
    }

    fn shows_no_user_token(self) -> bool {
        matches!(self, Caller::Nobody | Caller::Project)
    }
}

/// The statuses with which a caller is turned away; none for those who get in.
fn refusal(asks: Asks, caller: Caller) -> &'static [u16] {
    match asks {
        Asks::Nothing => &[],
        Asks::Server(_) if caller.shows_no_user_token() => &[401],
        Asks::Server(needed) if caller.role() >= Some(needed) => &[],
        Asks::Server(_) => &[403],
        Asks::User(_) | Asks::SignedIn | Asks::UserAdmin if caller.shows_no_user_token() => &[401],
        Asks::User(_) | Asks::SignedIn | Asks::UserAdmin if caller.has_bad_token() => &[403],
        Asks::User(Role::Viewer) => &[],
        Asks::User(_) if caller == Caller::Viewer => &[403],
        Asks::User(_) => &[],
        Asks::SignedIn if caller == Caller::SignedIn => &[],
        Asks::UserAdmin if caller == Caller::Admin => &[],
        Asks::SignedIn | Asks::UserAdmin => &[403],
        Asks::Project if caller == Caller::Project => &[],
        // A token that cannot be one is wrong rather than unknown.
        Asks::Project => &[401, 422],
        Asks::Watch if caller.shows_no_user_token() => &[401],
        Asks::Watch if caller.role().is_some() || caller == Caller::Customer => &[],
        Asks::Watch => &[403],
        Asks::Secret if caller.shows_no_user_token() => &[401],
        Asks::Secret | Asks::ProjectAdmin | Asks::Ticket => &[403],
        Asks::Signature => &[400],
    }
}

/// A server that asks everybody who they are, and the tokens of those who knock.
struct Door {
    site: Site,
    tokens: Vec<(Caller, String)>,
}

impl Door {
    async fn new() -> Door {
        let store = Store::open("embedded:memory").await.expect("a store");
        let access = Access { auth: Auth::Required, ..Access::default() };
        let billing = billing_of_nobody(&store);
        let site = Site::guarded(store, Vec::new(), Some(billing), access).await;
        let mut tokens = vec![(Caller::Garbage, format!("ep_ut_{}", "x".repeat(64)))];
        for caller in [Caller::Viewer, Caller::Operator, Caller::Admin] {
            let role = caller.role().expect("a role");
            tokens.push((caller, site.token_of("staff", role).await));
        }
        tokens.push((Caller::Expired, expired(&site).await));
        tokens.push((Caller::Revoked, revoked(&site).await));
        tokens.push((Caller::Customer, made(&site, TokenScope::Own, None).await.0));
        tokens.push((Caller::SignedIn, jwt("customer")));
        let foreign = project_token(&site, "7", "2").await;
        let event = serde_json::json!({"access_token": foreign, "dimension": "1", "key": "1", "value": FOREIGN_VALUE,
            "created_at": "2014-10-06 03:15:00 -0400", "interval": ["weeks"], "calculation": ["sum"]});
        site.post("/api/1.0/event", event).await.ok();
        tokens.push((Caller::Project, project_token(&site, "8", "2").await));
        Door { site, tokens }
    }

    fn token(&self, caller: Caller) -> Option<&str> {
        let found = self.tokens.iter().find(|(of, _)| *of == caller);
        found.map(|(_, token)| token.as_str())
    }

    /// Knocks; the status, and what is said to those who are turned away.
    async fn knock(&self, route: &Route, caller: Caller, accept: &str) -> (u16, String) {
        let token = self.token(caller);
        let value = token.map(|token| match caller {
            Caller::Project => ("Access-Token", token.to_owned()),
            _ => ("Authorization", format!("bearer {token}")),
        });
        let mut headers = vec![("Accept", accept)];
        headers.extend(value.as_ref().map(|(name, value)| (*name, value.as_str())));
        let body = route.body.replace("{token}", token.unwrap_or_default());
        let stream = self.site.open(route.method, &route.path(), &headers, &body).await;
        head_and_refusal(stream).await
    }
}

/// The status of a response, and its body if that comes to an end: streams do not.
async fn head_and_refusal(mut stream: tokio::net::TcpStream) -> (u16, String) {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|four| four == b"\r\n\r\n") {
        assert!(stream.read_buf(&mut bytes).await.expect("a response") > 0, "no response");
    }
    let head = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
    if !head.contains("text/event-stream") {
        stream.read_to_end(&mut bytes).await.expect("the rest");
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text.split(' ').nth(1).expect("a status").parse().expect("a number");
    (status, text)
}

async fn made(site: &Site, reach: TokenScope, expires_at: Option<f64>) -> (String, TokenUid) {
    let new = NewToken { name: "test".into(), role: Role::Operator, reach, expires_at };
    let sub = UserSub::new("somebody").expect("a subject");
    let created = site.identity.create_token("test", &sub, new).await.expect("a token");
    (created.secret, TokenUid::new(created.token.uid).expect("a uid"))
}

async fn revoked(site: &Site) -> String {
    let (secret, uid) = made(site, TokenScope::Server, None).await;
    let sub = UserSub::new("somebody").expect("a subject");
    site.identity.delete_token("test", &sub, &uid).await.expect("deleted");
    secret
}

/// A token whose time is over, without waiting for that.
async fn expired(site: &Site) -> String {
    let (secret, uid) = made(site, TokenScope::Server, Some(9e9)).await;
    let mut cmd = redis::cmd("HSET");
    cmd.arg(&*site.store.place(&keyrack_identity::keys::token(&uid)));
    cmd.arg("expires_at").arg(1).exec_async(&mut site.store.connection()).await.expect("set");
    secret
}

#[tokio::test]
async fn every_route_lets_in_whom_it_should_and_nobody_else() {
    let door = Door::new().await;
    let mut wrong = Vec::new();
    for route in described() {
        for caller in Caller::ALL {
            let expected = refusal(route.asks, caller);
            let (status, text) = door.knock(&route, caller, "*/*").await;
            let is_turned_away = [401, 403].contains(&status);
            let is_right = match expected {
                [] => !is_turned_away && status < 500,
                statuses => statuses.contains(&status),
            };
            if !is_right {
                wrong.push(format!("{caller:?} {} {}: {status}", route.method, route.template));
            }
            let shown = door.token(caller).filter(|token| text.contains(token));
            assert_eq!(shown, None, "{} {}", route.method, route.template);
            assert!(caller != Caller::Project || !text.contains(FOREIGN_VALUE), "{text}");
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn every_page_lets_in_whom_it_should_and_sends_others_to_sign_in() {
    let door = Door::new().await;
    let mut wrong = Vec::new();
    for route in pages() {
        for caller in Caller::ALL {
            let expected = refusal(route.asks, caller);
            let (status, text) = door.knock(&route, caller, "text/html").await;
            let is_sent = status == 303 && text.contains("location: /sign-in?next=");
            let is_right = match expected {
                [] => ![401, 403].contains(&status) && !is_sent && status < 500,
                [401] => is_sent,
                statuses => statuses.contains(&status),
            };
            if !is_right {
                wrong.push(format!("{caller:?} {} {}: {status}", route.method, route.template));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn nothing_can_be_changed_on_a_read_only_server_and_everything_seen() {
    let site = Site::letting_in(Access { read_only: true, ..Access::default() }).await;
    let mut wrong = Vec::new();
    for route in described().into_iter().chain(pages()) {
        let stream = site.open(route.method, &route.path(), &[], &route.body).await;
        let (status, text) = head_and_refusal(stream).await;
        let is_refused = status == 403 && text.contains("\"type\":\"read_only\"");
        if is_refused != route.is_change() {
            wrong.push(format!("{} {}: {status}", route.method, route.template));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let page = site.get("/jobs").await;
    assert!(page.body.contains(">read-only<") && !page.body.contains("/submit"), "{page:?}");
}

#[tokio::test]
async fn whoever_reaches_a_local_port_may_do_everything_but_not_more_than_their_token() {
    let site = Site::start().await;
    site.submit("mail", serde_json::json!({})).await;
    assert_eq!(site.get("/audit").await.status, 200);
    let viewer = site.token_of("ada", Role::Viewer).await;
    let answer = site.post_as(&viewer, "/api/1/queues/mail/pause", serde_json::json!({})).await;
    answer.problem(403, "forbidden");
    let bearer = format!("Bearer {viewer}");
    let page = site.send("GET", "/queues/mail", &[("Authorization", &bearer)], "").await;
    assert_eq!(page.status, 200);
    assert!(!page.body.contains("method=\"post\" action=\"/queues"), "{page:?}");
    assert!(site.get("/queues/mail").await.body.contains("action=\"/queues/mail/pause\""));
    // A proxy on this machine speaks for others, who are not here.
    for (header, address, status) in [
        ("X-Forwarded-For", "127.0.0.1, ::1", 200),
        ("X-Forwarded-For", "203.0.113.7, 127.0.0.1", 401),
        ("X-Forwarded-For", "x", 401),
        ("Forwarded", "for=203.0.113.7", 401),
        ("Forwarded", "for=\"[::1]:80\"", 200),
        ("X-Real-IP", "203.0.113.7", 401),
        ("CF-Connecting-IP", "203.0.113.7", 401),
        ("Via", "1.1 proxy", 401),
    ] {
        let answer = site.send("GET", "/api/1/queues", &[(header, address)], "").await;
        assert_eq!(answer.status, status, "{header} {address}: {answer:?}");
    }
}

#[tokio::test]
async fn sockets_and_health_answer_anybody_and_tell_nothing() {
    let door = Door::new().await;
    for path in ["/livez", "/readyz", "/openapi.json", "/assets/style.css"] {
        assert_eq!(door.site.get(path).await.status, 200, "{path}");
    }
    door.site.get("/metrics").await.problem(401, "not_set");
    let viewer = door.token(Caller::Viewer).expect("a token");
    assert_eq!(door.site.send_as(viewer, "GET", "/metrics", "".into()).await.status, 200);
    // Whoever watches has to name a trace or show a ticket once the socket is open; these are no sockets yet.
    for path in ["/api/2/progress_bars/traces/", "/api/2/journeys/live"] {
        let answer = door.site.get(path).await;
        assert!((400..500).contains(&answer.status), "{answer:?}");
    }
}
