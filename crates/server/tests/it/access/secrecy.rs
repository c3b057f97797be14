//! What is declared as secret is shown to admins only: every family with sample data, every page and route with those who
//! are no admins.

use keyrack_identity::Role;
use keyrack_keys::{Content, Encoding, Family, Slot};
use keyrack_web::{Access, Auth};
use redis::Cmd;
use serde_json::json;

use super::table::{Asks, described, pages};
use crate::site::Site;

/// Stands in everything secret, and nowhere else.
const MARK: &str = "hushhush";

/// Names that are secret themselves; others that stand in keys are those of users and accounts.
const SECRET_PARTS: [&str; 3] = ["TokenUid", "CheckoutUid", "TokenDigest"];

/// A value of that form.
fn sample(encoding: &Encoding) -> String {
    match encoding {
        Encoding::Secret(_) => MARK.into(),
        Encoding::Optional(inner) | Encoding::OrEmpty(inner) => sample(inner),
        Encoding::AnyOf(forms) => sample(&forms[0]),
        Encoding::Integer { min, .. } => (*min).max(1).to_string(),
        Encoding::Words(words) => words[0].into(),
        Encoding::UnixSeconds | Encoding::UnixMs => "1700000000".into(),
        Encoding::Like(forms) => forms[0].replace('±', "+"),
        Encoding::Json(_) => ["{}", "[]", "\"x\"", "1"]
            .map(str::to_owned)
            .into_iter()
            .find(|text| encoding.check(text.as_bytes()).is_ok())
            .unwrap_or_else(|| json!({"at": 1, "actor": "x", "action": "x"}).to_string()),
        Encoding::Float | Encoding::Decimal => "1".into(),
        Encoding::List(item, n) => vec![sample(item); *n].join(","),
        Encoding::Tuple(fields) => {
            fields.iter().map(|field| sample(&field.encoding)).collect::<Vec<_>>().join(",")
        }
        Encoding::Text
        | Encoding::Bytes
        | Encoding::Id(_)
        | Encoding::Refers(_)
        | Encoding::KeyOf(_)
        | Encoding::IsoTime
        | Encoding::MsgPack => "x".into(),
        Encoding::Bool(_, yes) => (*yes).into(),
    }
}

/// A key of a family; one whose name is secret carries the mark in it.
fn name(family: &Family) -> String {
    let is_secret = |slot: &&Slot| SECRET_PARTS.contains(&slot.kind.name);
    match family.parts.iter().find(is_secret) {
        Some(slot) => family.template.replace(&format!("<{}>", slot.name), MARK),
        None => family.example.to_owned(),
    }
}

/// Commands that store a sample under a key.
fn stored(family: &Family, name: &str) -> Vec<Cmd> {
    let on = |command: &str| {
        let mut cmd = redis::cmd(command);
        cmd.arg(name);
        cmd
    };
    let cmd = match family.content {
        Content::String(value) => on("SET").arg(sample(&value.encoding)).to_owned(),
        Content::List(item) => on("RPUSH").arg(sample(&item.encoding)).to_owned(),
        Content::Set(member) => on("SADD").arg(sample(&member.encoding)).to_owned(),
        Content::SortedSet { member, score } => {
            let score = sample(&score.encoding).parse::<f64>().unwrap_or(0.0);
            on("ZADD").arg(score).arg(sample(&member.encoding)).to_owned()
        }
        Content::Map { field, value } => {
            on("HSET").arg(sample(&field.encoding)).arg(sample(&value.encoding)).to_owned()
        }
        Content::Hash(fields) => {
            let mut cmd = on("HSET");
            for field in fields {
                cmd.arg(field.name).arg(sample(&field.encoding));
            }
            cmd
        }
        Content::Channel(_) | Content::Stream(_) | Content::Bitmap(_) | Content::HyperLogLog(_) => {
            return Vec::new();
        }
    };
    // Two families may have the same example.
    vec![on("DEL"), cmd]
}

/// Everything that can be wrong about a secret value, so that reports have to speak of it.
async fn spoil(site: &Site) {
    let long = MARK.repeat(40);
    for (command, words) in [
        ("HSET", vec!["calculations:tokens:7", "2", &long]),
        ("HSET", vec!["calculations:admins", &long, "never"]),
        ("HSET", vec!["identity:token:hushhush", "role", MARK, "more", MARK]),
        ("ZADD", vec!["checkout:open:alice", "1", "hushhush-gone"]),
        ("ZADD", vec!["identity:tokens:alice", "1", &long]),
    ] {
        let mut cmd = redis::cmd(command);
        cmd.arg(words).exec_async(&mut site.store.connection()).await.expect(command);
    }
}

async fn site_with(families: impl Iterator<Item = &'static Family>) -> (Site, Vec<String>) {
    let site = Site::letting_in(Access { auth: Auth::Required, ..Access::default() }).await;
    let mut names = Vec::new();
    for family in families.filter(|family| !family.is_channel()) {
        let name = name(family);
        for cmd in stored(family, &name) {
            cmd.exec_async(&mut site.store.connection()).await.expect("stored");
        }
        names.push(name);
    }
    (site, names)
}

fn encoded(name: &str) -> String {
    name.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test]
async fn no_key_page_shows_a_secret_to_those_who_are_no_admins() {
    let registry = keyrack_contract::registry();
    let (site, names) = site_with(registry.all()).await;
    spoil(&site).await;
    let admin = site.token_of("root", Role::Admin).await;
    let operator = site.token_of("op", Role::Operator).await;
    let viewer = site.token_of("eve", Role::Viewer).await;
    let begun = site.send_as(&operator, "POST", "/lint", json!({})).await;
    assert_eq!(begun.status, 303, "{begun:?}");
    let checked = async {
        while !site.send_as(&viewer, "GET", "/lint", json!({})).await.body.contains("Checked ") {
            tokio::task::yield_now().await;
        }
    };
    let patience = std::time::Duration::from_secs(60);
    tokio::time::timeout(patience, checked).await.expect("the check ends");

    let mut paths = vec!["/lint".to_owned(), "/keys".to_owned()];
    paths.extend(registry.all().map(|family| format!("/keys/{}", family.id())));
    paths.extend(names.iter().map(|name| format!("/key?name={}", encoded(name))));
    // Nor does the search for names say that there is such a key.
    paths.extend(names.iter().map(|name| format!("/palette?text={}", encoded(name))));
    let mut seen_by_admin = 0;
    for path in &paths {
        for token in [&viewer, &operator] {
            let seen = site.send_as(token, "GET", path, json!({})).await;
            // The page of a key repeats the name that was asked for.
            let is_refused = seen.status == 403;
            assert!(is_refused || !seen.body.contains(MARK), "{path}: {}", seen.body);
        }
        let seen = site.send_as(&admin, "GET", path, json!({})).await;
        assert_eq!(seen.status, 200, "{path}");
        seen_by_admin += usize::from(seen.body.contains(MARK));
    }
    let n_secret = registry.all().filter(|family| family.has_secrets()).count();
    assert!(n_secret > 8 && seen_by_admin > n_secret, "{seen_by_admin} of {n_secret}");
}

#[tokio::test]
async fn no_other_page_or_route_shows_a_secret_to_those_who_are_no_admins() {
    let registry = keyrack_contract::registry();
    let (site, _) = site_with(registry.all().filter(|family| family.has_secrets())).await;
    let operator = site.token_of("op", Role::Operator).await;
    let viewer = site.token_of("eve", Role::Viewer).await;
    let mut n_looked_at = 0;
    for route in described().into_iter().chain(pages()) {
        let is_for_them = matches!(route.asks, Asks::Server(_) | Asks::User(_) | Asks::Nothing);
        let is_stream = route.template.ends_with("/events") || route.template.ends_with("/live");
        if route.method != "GET" || !is_for_them || is_stream || route.is_change() {
            continue;
        }
        for token in [&viewer, &operator] {
            let seen = site.send_as(token, "GET", &route.path(), json!({})).await;
            assert!(!seen.body.contains(MARK), "{}: {}", route.template, seen.body);
        }
        n_looked_at += 1;
    }
    assert!(n_looked_at > 30, "{n_looked_at}");
}
