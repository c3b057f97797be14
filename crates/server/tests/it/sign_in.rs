//! Signing in with a browser, and what is put down about who does what.

use keyrack_identity::{Role, keys::TokenUid};
use keyrack_keys::UserSub;
use keyrack_web::{Access, Auth};
use serde_json::{Value as Json, json};

use crate::site::{Answer, Site};

/// A site that asks everybody to sign in.
async fn locked() -> Site {
    let hosts = vec!["keyrack.example.com".to_owned()];
    Site::letting_in(Access { auth: Auth::Required, hosts, ..Access::default() }).await
}

impl Site {
    async fn sign_in(&self, token: &str, headers: &[(&str, &str)]) -> Answer {
        let body: String = form_urlencoded::Serializer::new(String::new())
            .append_pair("token", token)
            .append_pair("next", "/jobs?x=1")
            .finish();
        let headers = [&[("Accept", "text/html")], headers].concat();
        self.send("POST", "/sign-in", &headers, &body).await
    }

    /// The cookie of somebody who has signed in.
    async fn session(&self, token: &str) -> String {
        let answer = self.sign_in(token, &[]).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some("/jobs?x=1")));
        let cookie = answer.header("set-cookie").expect("a cookie");
        cookie.split(';').next().expect("a pair").to_owned()
    }

    async fn with_cookie(&self, method: &str, path: &str, cookie: &str) -> Answer {
        self.send(method, path, &[("Cookie", cookie), ("Accept", "text/html")], "").await
    }

    async fn changes(&self) -> Vec<Json> {
        let admin = self.token_of("auditor", Role::Admin).await;
        let told = self.send_as(&admin, "GET", "/api/1/audit", json!({})).await.ok();
        told["changes"].as_array().expect("changes").clone()
    }
}

#[tokio::test]
async fn a_token_opens_a_session_that_scripts_and_other_sites_cannot_use() {
    let site = locked().await;
    let token = site.token_of("ada", Role::Operator).await;
    let answer = site.sign_in(&format!(" {token}\r\n"), &[]).await;
    let cookie = answer.header("set-cookie").expect("a cookie");
    assert!(cookie.starts_with("keyrack_session=ep_ut_"), "{cookie}");
    assert!(cookie.ends_with("; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains(&token), "the browser keeps a session and not the token");
    let behind_https = site.sign_in(&token, &[("X-Forwarded-Proto", "https")]).await;
    assert!(behind_https.header("set-cookie").expect("a cookie").ends_with("; Secure"));

    let session = site.session(&token).await;
    let page = site.with_cookie("GET", "/jobs", &session).await;
    assert_eq!(page.status, 200);
    assert!(page.body.contains("<span>ada</span> <small>operator</small>"), "{page:?}");
    let foreign = [("Cookie", &*session), ("Origin", "https://evil.example.com")];
    site.send("POST", "/recurring/x/run", &foreign, "").await.problem(403, "foreign_page");
    let api = site.send("GET", "/api/1/queues", &[("Cookie", &session)], "").await;
    assert_eq!(api.status, 200, "pages may ask the API");
    let own = site.send("POST", "/api/1/progress_bars/search", &[("Cookie", &session)], "{}").await;
    own.problem(401, "not_set");
}

#[tokio::test]
async fn what_is_no_token_is_refused_in_the_same_words_and_not_for_ever() {
    let site = locked().await;
    let own = {
        let jwt = crate::site::jwt("customer");
        let made = site.post_as(&jwt, "/api/1/users/tokens/", json!({"name": "x"})).await.json();
        made["token"].as_str().expect("a token").to_owned()
    };
    let mut told = Vec::new();
    for wrong in ["", "nonsense", "ep_ut_x", &own, &crate::site::jwt("customer")] {
        let answer = site.sign_in(wrong, &[]).await;
        assert_eq!((answer.status, answer.header("set-cookie")), (403, None), "{answer:?}");
        assert!(wrong.is_empty() || !answer.body.contains(wrong), "{answer:?}");
        told.push(answer.body);
    }
    told.dedup();
    assert_eq!(told.len(), 1, "all are told the same");
    for _ in told.len()..16 {
        site.sign_in("ep_ut_guess", &[]).await;
    }
    let answer = site.sign_in(&site.token_of("ada", Role::Admin).await, &[]).await;
    assert_eq!((answer.status, answer.header("retry-after")), (429, Some("60")), "{answer:?}");
}

#[tokio::test]
async fn signing_in_does_not_count_as_guessing() {
    let site = locked().await;
    let token = site.token_of("ada", Role::Operator).await;
    for _ in 0..25 {
        site.session(&token).await;
    }
}

#[tokio::test]
async fn who_guesses_behind_a_proxy_locks_nobody_else_out() {
    let site = locked().await;
    let token = site.token_of("ada", Role::Operator).await;
    let wrong = format!("ep_ut_{}", "x".repeat(64));
    // Nobody has vouched for this proxy, so all its clients would share an address.
    let proxied = [("X-Forwarded-For", "203.0.113.7")];
    for _ in 0..20 {
        assert_eq!(site.sign_in(&wrong, &proxied).await.status, 403);
    }
    assert_eq!(site.sign_in(&wrong, &proxied).await.status, 429, "that token is not guessed at");
    assert_eq!(site.sign_in(&token, &proxied).await.status, 303);
}

#[tokio::test]
async fn behind_a_trusted_proxy_everybody_has_an_address_of_their_own() {
    let trusted_proxies = vec!["127.0.0.0/8".parse().expect("a network")];
    let access = Access { auth: Auth::Required, trusted_proxies, ..Access::default() };
    let site = Site::letting_in(access).await;
    let token = site.token_of("ada", Role::Operator).await;
    let (eve, ada) = ([("X-Forwarded-For", "203.0.113.7")], [("X-Forwarded-For", "192.0.2.9")]);
    for n in 0..20 {
        assert_eq!(site.sign_in(&format!("ep_ut_{n:064}"), &eve).await.status, 403);
    }
    assert_eq!(site.sign_in(&token, &eve).await.status, 429);
    assert_eq!(site.sign_in(&token, &ada).await.status, 303);
    let changes = site.changes().await;
    let signed_in = changes.iter().find(|change| change["action"] == "signed_in");
    assert_eq!(signed_in.expect("on record")["from"], "192.0.2.9");
}

#[tokio::test]
async fn a_session_is_over_when_its_user_signs_out_or_its_token_is_taken_back() {
    let site = locked().await;
    let token = site.token_of("ada", Role::Operator).await;
    let session = site.session(&token).await;
    let answer = site.with_cookie("POST", "/sign-out", &session).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/sign-in")));
    assert!(answer.header("set-cookie").is_some_and(|cookie| cookie.contains("Max-Age=0")));
    let page = site.with_cookie("GET", "/jobs?place=x", &session).await;
    assert_eq!(page.header("location"), Some("/sign-in?next=%2Fjobs%3Fplace%3Dx"));

    let session = site.session(&token).await;
    assert_eq!(site.with_cookie("GET", "/jobs", &session).await.status, 200);
    let ada = UserSub::new("ada").expect("a subject");
    for token in site.identity.tokens(&ada).await.expect("tokens") {
        if token.parent.is_none() {
            let uid = TokenUid::new(token.uid).expect("a uid");
            site.identity.delete_token("console", &ada, &uid).await.expect("revoked");
        }
    }
    assert_eq!(site.with_cookie("GET", "/jobs", &session).await.status, 303);
}

#[tokio::test]
async fn streams_end_when_the_token_behind_them_is_taken_back() {
    let site = locked().await;
    let token = site.token_of("ada", Role::Viewer).await;
    let session = site.session(&token).await;
    let headers = [("Cookie", &*session), ("Accept", "text/event-stream")];
    let mut page = site.stream("/jobs", &headers).await;
    page.next_text().await;
    let bearer = format!("bearer {token}");
    let api = site.stream("/api/1/jobs/events", &[("Authorization", &bearer)]).await;
    let ada = UserSub::new("ada").expect("a subject");
    for token in site.identity.tokens(&ada).await.expect("tokens") {
        let uid = TokenUid::new(token.uid).expect("a uid");
        site.identity.delete_token("console", &ada, &uid).await.expect("revoked");
    }
    page.ends().await;
    api.ends().await;
}

#[tokio::test]
async fn forms_lead_to_pages_of_this_server_only() {
    let site = locked().await;
    let token = site.token_of("ada", Role::Viewer).await;
    for next in ["https://evil.example.com", "//evil.example.com", "/\\evil.example.com"] {
        let body: String = form_urlencoded::Serializer::new(String::new())
            .append_pair("token", &token)
            .append_pair("next", next)
            .finish();
        let answer = site.send("POST", "/sign-in", &[("Accept", "text/html")], &body).await;
        assert_eq!(answer.header("location"), Some("/"), "{next}");
    }
}

#[tokio::test]
async fn the_server_is_known_by_its_addresses_and_the_names_it_was_given() {
    let site = locked().await;
    for (host, status) in [("keyrack.example.com", 303), ("rebound.example.com", 403)] {
        let request = format!(
            "GET / HTTP/1.1\r\nHost: {host}\r\nAccept: text/html\r\nConnection: close\r\n\r\n"
        );
        let answer = site.raw(&request).await;
        assert_eq!(answer.status, status, "{host}: {answer:?}");
    }
}

#[tokio::test]
async fn who_changed_what_from_where_and_with_what_success_is_on_record() {
    let site = locked().await;
    let ada = site.token_of("ada", Role::Operator).await;
    let session = site.session(&ada).await;
    let submit = async |body: Json| site.post_as(&ada, "/api/1/queues/mail/jobs", body).await;
    assert_eq!(submit(json!({"jid": "j1"})).await.status, 201);
    site.post_as(&ada, "/api/1/queues/mail/pause", json!({})).await.ok();
    site.with_cookie("POST", "/jobs/j1/cancel", &session).await;
    site.with_cookie("POST", "/jobs/nothing/retry", &session).await;
    let missing = "/api/1/jobs/nothing/retry";
    site.post_as(&ada, missing, json!({})).await.problem(404, "job_not_found");
    let viewer = site.token_of("eve", Role::Viewer).await;
    site.post_as(&viewer, "/api/1/queues/mail/resume", json!({})).await.problem(403, "forbidden");
    let filter = json!({"place": "failed", "dry_run": true});
    site.post_as(&ada, "/api/1/queues/mail/jobs/retry", filter).await.ok();
    let claim = json!({"worker": "w", "max": 1});
    site.post_as(&ada, "/api/1/queues/mail/claim", claim).await.ok();

    let changes = site.changes().await;
    let told: Vec<_> = changes
        .iter()
        .filter(|change| change["action"].as_str().is_some_and(|word| !word.contains("created")))
        .map(|change| {
            let word = |name: &str| change[name].as_str().unwrap_or("-").to_owned();
            format!(
                "{} {} {} {} {}",
                word("actor"),
                word("action"),
                word("subject"),
                word("from"),
                word("failed")
            )
        })
        .collect();
    let expected = [
        "ada jobs_retried failed mail: 0 of 0 (only counted) 127.0.0.1 -",
        "ada job_retried nothing 127.0.0.1 there is no job \"nothing\"; it may have expired",
        "ada job_retried nothing 127.0.0.1 there is no job \"nothing\"; it may have expired",
        "ada job_canceled j1 127.0.0.1 -",
        "ada queue_paused mail 127.0.0.1 -",
        "ada signed_in - 127.0.0.1 -",
    ];
    assert_eq!(told, expected);

    for path in ["/api/1/audit", "/key?name=identity:audit", "/key?name=%7Bidentity%7D:audit"] {
        site.send_as(&ada, "GET", path, json!({})).await.problem(403, "forbidden");
    }
    let admin = site.token_of("root", Role::Admin).await;
    let session = site.session(&admin).await;
    let page = site.with_cookie("GET", "/audit", &session).await;
    assert!(page.body.contains("queue paused") && page.body.contains("127.0.0.1"), "{page:?}");
}
