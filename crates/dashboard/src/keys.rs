//! The key browser: every family with how many keys it has and what memory they take.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, response::Response};
use keyrack_format as format;
use keyrack_keys::Family;
use keyrack_services::census::Counts;
use keyrack_web::Problem;

use super::{
    Frame, Visit, assets,
    live::{View, live_page, show},
};
use crate::Site;

#[derive(Template)]
#[template(path = "keys.html", blocks = ["live"])]
pub(super) struct KeysPage {
    frame: Frame,
    /// What the numbers of keys are worth.
    note: Option<&'static str>,
    undeclared: Option<String>,
    groups: Vec<Group>,
}
live_page!(KeysPage);

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
    /// The same of the memory that they take, which is always an estimate.
    memory: String,
    is_empty: bool,
}

struct KeysView;

impl View for KeysView {
    type Page = KeysPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<KeysPage, Problem> {
        let counts = site.services.census.latest().await;
        let counts = counts.as_deref();
        Ok(KeysPage {
            frame,
            note: note(counts),
            undeclared: counts.filter(|counts| counts.undeclared > 0).map(undeclared),
            groups: groups(counts),
        })
    }
}

/// `GET /keys`
pub(crate) async fn keys(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    show(site, visit, KeysView).await
}

fn note(counts: Option<&Counts>) -> Option<&'static str> {
    match counts {
        Some(counts) if counts.exact => None,
        Some(_) => Some("There are many keys, so these numbers are estimated from a sample."),
        None => Some("The keys of each family are still being counted."),
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
        memory: counts
            .and_then(|counts| counts.bytes(family))
            .map(format::bytes)
            .unwrap_or_default(),
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
