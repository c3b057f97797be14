//! The first page: what is running here, on what, and what it holds.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, response::Response};
use keyrack_keys::Family;
use keyrack_store::{Info, Kind};

use super::{assets, render};
use crate::{app::App, census::Counts, human};

#[derive(Template)]
#[template(path = "home.html")]
struct Home {
    kind: Kind,
    url: String,
    /// What the store runs; empty when it does not tell.
    runs: String,
    /// How long the store took to answer.
    health: Result<String, String>,
    cards: Vec<Card>,
    /// What the numbers of keys are worth.
    note: Option<&'static str>,
    undeclared: Option<String>,
    groups: Vec<Group>,
}

/// A number to know, and a word on it.
struct Card {
    name: &'static str,
    value: String,
    note: String,
}

/// The families of one owner.
struct Group {
    owner: &'static str,
    /// Keys of all its families; empty when not known.
    count: String,
    rows: Vec<Row>,
}

struct Row {
    id: String,
    template: &'static str,
    noun: &'static str,
    summary: String,
    /// Empty when not known, and for channels.
    count: String,
    is_empty: bool,
}

/// `GET /`
pub(crate) async fn home(State(app): State<Arc<App>>) -> Response {
    let ping = app.ping().await;
    let (info, counts) = match &ping {
        Ok(_) => tokio::join!(async { app.store.info().await.ok() }, app.census.latest()),
        Err(_) => (None, None),
    };
    let counts = counts.as_deref();
    render(&Home {
        kind: app.store.kind(),
        url: app.store.to_string(),
        runs: info.as_ref().map(|info| info.version.clone()).unwrap_or_default(),
        health: ping.map(|ping| format!("{:.2}\u{a0}ms", ping.as_secs_f64() * 1000.0)),
        note: note(info.is_some(), counts),
        undeclared: counts.filter(|counts| counts.undeclared > 0).map(undeclared),
        cards: cards(info.as_ref(), app.uptime().as_secs()),
        groups: groups(counts),
    })
}

fn cards(info: Option<&Info>, uptime_s: u64) -> Vec<Card> {
    let mut cards = Vec::new();
    if let Some(info) = info {
        let value = human::count(info.keys());
        cards.push(Card { name: "Keys", value, note: databases(info) });
        let log = info.log_bytes.map(|bytes| format!("log on disk: {}", human::bytes(bytes)));
        let note = log.unwrap_or_else(|| "no log on disk".into());
        cards.push(Card { name: "Memory", value: human::bytes(info.memory_bytes), note });
    }
    let note = concat!("keyrack ", env!("CARGO_PKG_VERSION")).into();
    cards.push(Card { name: "Up for", value: human::duration(uptime_s), note });
    cards
}

/// Where the keys are; calculations have a database for each account, so only the first few are named.
fn databases(info: &Info) -> String {
    const NAMED_MAX: usize = 3;
    let named = info.databases.iter().take(NAMED_MAX);
    let named =
        named.map(|database| format!("{} in db {}", human::count(database.keys), database.db));
    match info.databases.len() {
        0 => "nothing stored yet".into(),
        n if n <= NAMED_MAX => named.collect::<Vec<_>>().join(", "),
        n => {
            format!("{} and more in {} others", named.collect::<Vec<_>>().join(", "), n - NAMED_MAX)
        }
    }
}

fn note(is_up: bool, counts: Option<&Counts>) -> Option<&'static str> {
    match counts {
        Some(counts) if counts.exact => None,
        Some(_) => Some("There are many keys, so these numbers are estimated from a sample."),
        None if is_up => {
            Some("The keys of each family are still being counted; look again in a moment.")
        }
        None => None,
    }
}

fn groups(counts: Option<&Counts>) -> Vec<Group> {
    let families: Vec<&'static Family> = keyrack_contract::registry().all().collect();
    families.chunk_by(|a, b| a.owner == b.owner).map(|families| group(families, counts)).collect()
}

fn group(families: &[&'static Family], counts: Option<&Counts>) -> Group {
    let total = counts.and_then(|counts| {
        let n = families.iter().map(|family| counts.of(family)).sum::<Option<u64>>()?;
        Some(counts.in_words(n))
    });
    Group {
        owner: families[0].owner,
        count: total.unwrap_or_default(),
        rows: families.iter().map(|family| row(family, counts)).collect(),
    }
}

fn row(family: &'static Family, counts: Option<&Counts>) -> Row {
    let counts = counts.filter(|_| !family.is_channel());
    Row {
        id: family.id(),
        template: family.template,
        noun: family.content.noun(),
        summary: first_sentence(&family.text()),
        count: counts.and_then(|counts| counts.shown(family)).unwrap_or_default(),
        is_empty: counts.is_some_and(|counts| counts.of(family) == Some(0)),
    }
}

fn undeclared(counts: &Counts) -> String {
    let number = counts.in_words(counts.undeclared);
    let rest = if counts.undeclared == 1 { "key belongs" } else { "keys belong" };
    format!("{number} {rest} to no family.")
}

fn first_sentence(text: &str) -> String {
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let end = paragraph.find(". ").map_or(paragraph.len(), |at| at + 1);
    paragraph[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_ends_with_the_first_sentence() {
        assert_eq!(first_sentence("One job. Kept until it ends."), "One job.");
        assert_eq!(first_sentence("One job.\n\nKept until it ends."), "One job.");
        assert_eq!(first_sentence("A number such as 1.5, kept."), "A number such as 1.5, kept.");
    }

    #[test]
    fn every_declared_family_is_listed_under_its_owner() {
        let groups = groups(None);
        let n_rows: usize = groups.iter().map(|group| group.rows.len()).sum();
        assert_eq!(n_rows, keyrack_contract::registry().all().count());
        let is_own = |group: &Group| group.rows.iter().all(|row| row.id.starts_with(group.owner));
        assert!(groups.iter().all(is_own));
    }
}
