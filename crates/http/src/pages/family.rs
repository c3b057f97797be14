//! The page of one key family: everything its declaration says.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::Response,
};
use keyrack_keys::{Family, Layout, Row, Slot};

use super::{assets, render};
use crate::{app::App, problem::Problem};

#[derive(Template)]
#[template(path = "family.html")]
struct FamilyPage {
    family: &'static Family,
    id: String,
    paragraphs: Vec<String>,
    facts: Vec<(&'static str, String)>,
    cluster: String,
    parts: Vec<Part>,
    rows: Vec<Row>,
}

/// A part of the name, on a cluster the shard in front of it too.
struct Part {
    name: &'static str,
    shape: String,
    prose: &'static str,
}

impl Part {
    fn of(slot: &Slot) -> Part {
        Part { name: slot.name, shape: slot.kind.shape.to_string(), prose: slot.kind.prose.trim() }
    }
}

/// `GET /keys/{family}`
pub(crate) async fn family(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let Some(family) = keyrack_contract::registry().get(&id) else {
        return Problem::new(StatusCode::NOT_FOUND, "family_not_found")
            .title("there is no such key family")
            .detail(format!("no family is called \"{id}\"; the first page lists them all"))
            .for_reader(&headers);
    };
    let counts = if family.is_channel() { None } else { app.census.latest().await };
    let count = counts.and_then(|counts| counts.shown(family));
    render(&FamilyPage {
        family,
        id,
        paragraphs: family.text().split("\n\n").map(str::to_owned).collect(),
        facts: facts(family, count),
        cluster: family.template_in(Layout::Cluster).into_owned(),
        parts: family.outside.iter().chain(family.parts).map(Part::of).collect(),
        rows: family.content.rows(),
    })
}

fn facts(family: &Family, count: Option<String>) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Type", family.content.noun().to_owned())];
    if !family.is_channel() {
        facts.push(("Expires", family.ttl.to_string()));
        facts.push(("Database", family.database.to_string()));
    }
    if !family.removed.is_empty() {
        facts.push(("Removed", family.removed.to_owned()));
    }
    facts.push(("Owner", family.owner.to_owned()));
    facts.push(("From", family.origin.to_string()));
    facts.extend(count.map(|count| ("Keys now", count)));
    facts
}
