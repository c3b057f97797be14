//! Secrets stay where they are: none of them turns up in logs, errors, keys or metrics.

use std::{
    io,
    sync::{Arc, Mutex},
};

use keyrack_identity::Role;
use keyrack_store::Store;
use keyrack_web::{Access, Auth};
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use crate::{
    calculations::project_token,
    entitlements::{SECRETS, billing_of_nobody},
    site::{DEPLOY_SECRET, JOURNEY_SECRET, Site, jwt, sign_in},
};

/// A log that can be read.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Log;

    fn make_writer(&self) -> Log {
        self.clone()
    }
}

/// Everything that is stored, names and values.
async fn everything(store: &Store) -> String {
    let mut connection = store.connection();
    let mut names: Vec<String> = Vec::new();
    let mut cursor = 0_u64;
    loop {
        let mut cmd = redis::cmd("SCAN");
        let (next, page): (u64, Vec<String>) = cmd
            .arg(cursor)
            .arg("COUNT")
            .arg(1_000)
            .query_async(&mut connection)
            .await
            .expect("keys");
        names.extend(page);
        cursor = next;
        if cursor == 0 {
            break;
        }
    }
    let mut told = String::new();
    for name in names {
        let kind: String =
            redis::cmd("TYPE").arg(&name).query_async(&mut connection).await.expect("a type");
        let mut cmd = match kind.as_str() {
            "string" => redis::cmd("GET"),
            "hash" => redis::cmd("HGETALL"),
            "set" => redis::cmd("SMEMBERS"),
            "zset" | "list" => redis::cmd(if kind == "list" { "LRANGE" } else { "ZRANGE" }),
            other => panic!("{name} is a {other}"),
        };
        cmd.arg(&name);
        if ["zset", "list"].contains(&kind.as_str()) {
            cmd.arg(0).arg(-1);
        }
        let value: redis::Value = cmd.query_async(&mut connection).await.expect("a value");
        told += &format!("{name} {value:?}\n");
    }
    told
}

#[tokio::test]
async fn no_secret_shows_up_in_logs_errors_keys_or_metrics() {
    let log = Log::default();
    // One thread runs the test and the server, so this hears both.
    let listener =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(log.clone());
    let _listening = tracing::subscriber::set_default(listener.finish());
    let store = Store::open("embedded:memory").await.expect("a store");
    let access = Access { auth: Auth::Required, ..Access::default() };
    let billing = billing_of_nobody(&store);
    let site = Site::guarded(store, Vec::new(), Some(billing), access).await;

    let admin = site.token_of("ada", Role::Admin).await;
    let project = project_token(&site, "7", "2").await;
    let signed = jwt("customer");
    let form = format!("token={admin}&next=%2F");
    let signed_in = site.send("POST", "/sign-in", &[("Accept", "text/html")], &form).await;
    let cookie = signed_in.header("set-cookie").expect("a session").to_owned();
    let session = cookie.split([';', '=']).nth(1).expect("a value").to_owned();
    let keyrack_identity::KeySource::DevSecret(dev) = sign_in().keys else { panic!("a secret") };
    let mut secrets = vec![admin, session, project, signed, dev];
    secrets.extend([DEPLOY_SECRET, JOURNEY_SECRET].map(str::to_owned));
    secrets.extend(SECRETS.map(str::to_owned));

    let mut heard = String::new();
    let paths = [
        ("GET", "/api/1/queues"),
        ("POST", "/api/1/queues/x/pause"),
        ("GET", "/api/1/jobs/none"),
        ("GET", "/audit"),
        ("POST", "/api/1/users/tokens/"),
        ("POST", "/api/1/progress_bars/"),
        ("GET", "/api/1/users/me/entitlements/pro"),
        ("POST", "/api/1/users/me/checkout/stripe/start"),
        ("POST", "/api/1/continuous_deployment/update"),
        ("POST", "/api/1/journeys"),
        ("POST", "/api/1/checkout/stripe/webhook"),
        ("POST", "/api/1.0/admin/account"),
        ("POST", "/api/1.0/event"),
        ("GET", "/api/1/calculations/settings"),
        ("POST", "/sign-in"),
        ("GET", "/nothing"),
        ("GET", "/metrics"),
        ("GET", "/key?name=identity:audit"),
    ];
    for (method, path) in paths {
        for secret in &secrets {
            for (name, value) in [
                ("Authorization", format!("bearer {secret}")),
                ("Authorization", secret.clone()),
                ("Cookie", format!("keyrack_session={secret}")),
                ("Access-Token", secret.clone()),
                ("Stripe-Signature", format!("t=1,v1={secret}")),
            ] {
                // A body is echoed to nobody either, unless it is what was asked to be shown.
                let body = json!({"access_token": secret}).to_string();
                let answer = site.send(method, path, &[(name, &value)], &body).await;
                heard += &format!("{answer:?}\n");
            }
        }
    }
    let stored = everything(&site.store).await;
    let logged = String::from_utf8(log.0.lock().expect("no panic").clone()).expect("text");
    assert!(logged.contains("a token was denied"), "the log was heard: {logged}");
    assert!(stored.contains("signed_in") && heard.contains("keyrack_http_requests"));
    for secret in &secrets {
        for (place, text) in [("answers", &heard), ("logs", &logged), ("store", &stored)] {
            let around = text.find(secret.as_str()).map(|at| &text[at.saturating_sub(200)..at]);
            assert_eq!(around, None, "a secret is in the {place}");
        }
    }
}
