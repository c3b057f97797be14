//! What belongs to users: nobody else sees or touches it.

use keyrack_identity::Role;
use serde_json::{Value as Json, json};

use crate::site::{Site, jwt};

/// What a route asks of its callers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Asks {
    /// To be known.
    Viewer,
    /// To be allowed to make changes.
    Editor,
    /// To have signed in.
    SignedIn,
}

fn routes() -> Vec<(&'static str, &'static str, Json, Asks)> {
    vec![
        ("POST", "users/", json!({}), Asks::SignedIn),
        ("POST", "users/tokens/", json!({"name": "x"}), Asks::SignedIn),
        ("PUT", "users/tokens/{uid}", json!({"name": "x"}), Asks::SignedIn),
        ("DELETE", "users/tokens/{uid}", json!({}), Asks::SignedIn),
        ("POST", "users/tokens/search", json!({}), Asks::SignedIn),
        ("POST", "users/pricing_plans/tiers/search", json!({}), Asks::Viewer),
        ("GET", "user_usages/get_current", json!({}), Asks::Viewer),
        ("POST", "user_usages/search", json!({}), Asks::Viewer),
        ("POST", "progress_bars/", json!({"name": "new"}), Asks::Editor),
        ("PUT", "progress_bars/?name=theirs", json!({}), Asks::Editor),
        ("DELETE", "progress_bars/?name=theirs", json!({}), Asks::Editor),
        ("POST", "progress_bars/search", json!({}), Asks::Viewer),
        ("POST", "progress_bars/steps/?pbar_name=theirs&step_name=new", json!({}), Asks::Editor),
        ("PUT", "progress_bars/steps/?pbar_name=theirs&step_name=load", json!({}), Asks::Editor),
        ("DELETE", "progress_bars/steps/?pbar_name=theirs&step_name=load", json!({}), Asks::Editor),
        ("POST", "progress_bars/steps/search", json!({}), Asks::Viewer),
        (
            "POST",
            "progress_bars/traces/",
            json!({"pbar_name": "theirs", "uid": "t2", "step_name": "load", "now": 0}),
            Asks::Editor,
        ),
        (
            "DELETE",
            "progress_bars/traces/?pbar_name=theirs&trace_uid={trace}",
            json!({}),
            Asks::Editor,
        ),
        ("POST", "progress_bars/traces/search", json!({}), Asks::Viewer),
        (
            "POST",
            "progress_bars/traces/steps/",
            json!({"pbar_name": "theirs", "trace_uid": "running", "step_name": "load", "done": true, "now": 0}),
            Asks::Editor,
        ),
        ("POST", "progress_bars/traces/steps/search", json!({}), Asks::Viewer),
    ]
}

/// A user with a bar, a step, a retained trace, a running trace and a token.
struct Victim {
    site: Site,
    token: String,
    uid: String,
    trace: String,
}

impl Victim {
    async fn new() -> Victim {
        let site = Site::start().await;
        let victim = jwt("victim");
        let created =
            site.post_as(&victim, "/api/1/users/tokens/", json!({"name": "theirs"})).await.json();
        let token = created["token"].as_str().expect("a token").to_owned();
        let uid = created["uid"].as_str().expect("a uid").to_owned();
        for (path, body) in [
            (
                "traces/",
                json!({"pbar_name": "theirs", "uid": "past", "step_name": "load", "now": 0}),
            ),
            (
                "traces/steps/",
                json!({"pbar_name": "theirs", "trace_uid": "past", "step_name": "load", "done": true, "now": 0}),
            ),
        ] {
            let answer = site.post_as(&token, &format!("/api/1/progress_bars/{path}"), body).await;
            assert_eq!(answer.status, 204, "{answer:?}");
        }
        site.work().await;
        let body = json!({"pbar_name": "theirs", "uid": "running", "step_name": "load", "now": 0});
        site.post_as(&token, "/api/1/progress_bars/traces/", body).await;
        let traces =
            site.post_as(&token, "/api/1/progress_bars/traces/search", json!({})).await.ok();
        let trace = traces["items"][0]["uid"].as_str().expect("a retained trace").to_owned();
        Victim { site, token, uid, trace }
    }

    fn path(&self, path: &str) -> String {
        format!("/api/1/{}", path.replace("{uid}", &self.uid).replace("{trace}", &self.trace))
    }

    /// Everything that the user can see of their own.
    async fn possessions(&self) -> String {
        let mut seen = String::new();
        for (path, token) in [
            ("users/tokens/search", jwt("victim")),
            ("progress_bars/search", self.token.clone()),
            ("progress_bars/steps/search", self.token.clone()),
            ("progress_bars/traces/search", self.token.clone()),
            ("progress_bars/traces/steps/search", self.token.clone()),
        ] {
            seen += &self.site.post_as(&token, &self.path(path), json!({})).await.body;
        }
        seen
    }
}

#[tokio::test]
async fn whoever_is_not_known_is_turned_away_from_every_route() {
    let victim = Victim::new().await;
    let before = victim.possessions().await;
    let cut = &victim.token[..victim.token.len() - 1];
    let basic = format!("Basic {}", victim.token);
    let cut = format!("bearer {cut}");
    let forged = format!("bearer {}x", jwt("victim"));
    for (method, path, body, _) in routes() {
        for (header, status, word) in [
            (None, 401, "not_set"),
            (Some(basic.as_str()), 401, "bad_format"),
            (Some("token x"), 401, "bad_format"),
            (Some("bearer "), 401, "bad_format"),
            (Some("bearer ep_ut_x"), 403, "invalid"),
            (Some(cut.as_str()), 403, "invalid"),
            (Some(forged.as_str()), 403, "invalid"),
        ] {
            let headers: Vec<_> =
                header.map(|value| ("Authorization", value)).into_iter().collect();
            let body = body.to_string();
            let answer = victim.site.send(method, &victim.path(path), &headers, &body).await;
            let told = answer.problem(status, word);
            assert!(!told.contains("ep_ut_x") && !told.contains(cut.as_str()), "{told}");
        }
    }
    assert_eq!(victim.possessions().await, before);
}

#[tokio::test]
async fn every_role_does_what_it_may_and_no_more() {
    let victim = Victim::new().await;
    let before = victim.possessions().await;
    let viewer = victim.site.token_of("victim", Role::Viewer).await;
    let after_token = victim.possessions().await;
    for (method, path, body, asks) in routes() {
        let answer = victim.site.send_as(&viewer, method, &victim.path(path), body.clone()).await;
        match asks {
            Asks::Viewer => assert_eq!(answer.status, 200, "{method} {path}: {answer:?}"),
            Asks::Editor => drop(answer.problem(403, "forbidden")),
            Asks::SignedIn => drop(answer.problem(403, "invalid")),
        }
        if asks == Asks::SignedIn {
            let answer = victim.site.send_as(&victim.token, method, &victim.path(path), body).await;
            answer.problem(403, "invalid");
        }
    }
    assert_ne!(before, after_token);
    assert_eq!(victim.possessions().await, after_token);
}

#[tokio::test]
async fn nobody_sees_or_touches_what_belongs_to_others() {
    let victim = Victim::new().await;
    let before = victim.possessions().await;
    let attackers = [
        victim.site.token("attacker").await,
        victim.site.token_of("admin", Role::Admin).await,
        jwt("attacker"),
    ];
    for attacker in &attackers {
        for (method, path, body, asks) in routes() {
            if asks == Asks::SignedIn && !attacker.contains('.') {
                continue;
            }
            let answer =
                victim.site.send_as(attacker, method, &victim.path(path), body.clone()).await;
            for secret in ["victim", &victim.uid, &victim.trace, &victim.token] {
                let is_echo = path.contains('{') && answer.status == 404;
                assert!(is_echo || !answer.body.contains(secret), "{method} {path}: {answer:?}");
            }
        }
        let filter = json!({"filters": {"user_sub": {"operator": "eq", "value": "victim"}}});
        for path in
            ["progress_bars/search", "progress_bars/steps/search", "progress_bars/traces/search"]
        {
            let answer = victim.site.post_as(attacker, &victim.path(path), filter.clone()).await;
            assert!(!answer.ok().to_string().contains("victim"), "{path}");
        }
    }
    assert_eq!(victim.possessions().await, before);
    let done = json!({"pbar_name": "theirs", "trace_uid": "running", "step_name": "load", "done": true, "now": 0});
    let answer =
        victim.site.post_as(&victim.token, &victim.path("progress_bars/traces/steps/"), done).await;
    assert_eq!(answer.status, 204, "the trace still runs: {answer:?}");
}
