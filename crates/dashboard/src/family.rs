//! The page of one key family: everything its declaration says, and some of its keys.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use askama::Template;
use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::Response,
};
use keyrack_keys::{Family, Layout, Row, SECRET, Slot};
use keyrack_web::Problem;

use super::{Frame, Visit, assets, link, live::still};
use crate::Site;

/// How many keys are shown, and for how long they are looked for: a family may have a few among millions of others.
const KEYS_MAX: usize = 50;
const PATIENCE: Duration = Duration::from_millis(250);
/// Keys that one step of a walk looks at.
const STEP_KEYS: usize = 1_000;

#[derive(Template)]
#[template(path = "family.html")]
struct FamilyPage {
    frame: Frame,
    family: &'static Family,
    id: String,
    paragraphs: Vec<String>,
    facts: Vec<(&'static str, String)>,
    cluster: String,
    parts: Vec<Part>,
    rows: Vec<Row>,
    /// Names of some keys, and their pages.
    keys: Vec<(String, String)>,
    /// Whether these are all.
    is_all: bool,
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
    State(site): State<Arc<Site>>,
    Path(id): Path<String>,
    visit: Visit,
) -> Response {
    let Some(family) = keyrack_contract::registry().get(&id) else {
        return Problem::new(StatusCode::NOT_FOUND, "family_not_found")
            .title("there is no such key family")
            .detail(format!("no family is called \"{id}\"; the first page lists them all"))
            .for_reader(&visit.headers);
    };
    let counts = if family.is_channel() { None } else { site.services.census.latest().await };
    let count = counts.and_then(|counts| counts.shown(family));
    // Without the keys the page still says what they would be.
    let is_hidden = family.secret && !visit.frame.caller.is_admin();
    let (keys, is_all) = match is_hidden {
        // The names themselves tell of users.
        true => (Vec::new(), false),
        false => some_keys(&site, family).await.unwrap_or_default(),
    };
    let page = FamilyPage {
        frame: visit.frame,
        keys,
        is_all,
        family,
        id,
        paragraphs: family.text().split("\n\n").map(str::to_owned).collect(),
        facts: facts(family, count),
        cluster: family.template_in(Layout::Cluster).into_owned(),
        parts: family.outside.iter().chain(family.parts).map(Part::of).collect(),
        rows: family.content.rows(),
    };
    still(&page, &page.frame, StatusCode::OK)
}

/// Some keys of a family, and whether those are all.
async fn some_keys(
    site: &Site,
    family: &'static Family,
) -> Result<(Vec<(String, String)>, bool), keyrack_store::Error> {
    if family.is_channel() {
        return Ok((Vec::new(), true));
    }
    let (pattern, started) = (family.pattern(site.services.store.layout()), Instant::now());
    let registry = keyrack_contract::registry();
    let recogniser = keyrack_lint::Recogniser::new(&site.services.store, registry).await?;
    let mut found = Vec::new();
    for keyspace in site.services.store.keyspaces().await? {
        let mut cursor = 0;
        loop {
            let (next, keys) = keyspace.scan(cursor, Some(&pattern), STEP_KEYS).await?;
            // A pattern may match keys of other families and other programs too.
            let names: Vec<_> = keys
                .iter()
                .map(|key| (key.as_slice(), registry.family_of(key).map(|(of, _)| of)))
                .filter(|(_, of)| of.is_some_and(|of| std::ptr::eq(of, family)))
                .collect();
            let ask = async |pipeline: &redis::Pipeline| keyspace.pipeline(pipeline).await;
            let belong = recogniser.belong(registry, keyspace.db(), &names, ask).await?;
            let own = names.iter().zip(belong).filter(|(_, family)| family.is_some());
            found.extend(own.map(|((key, _), _)| named(key, keyspace.db())));
            if found.len() > KEYS_MAX || started.elapsed() > PATIENCE {
                found.truncate(KEYS_MAX);
                found.sort_unstable();
                return Ok((found, false));
            }
            cursor = next;
            if cursor == 0 {
                break;
            }
        }
    }
    found.sort_unstable();
    Ok((found, true))
}

fn named(key: &[u8], db: i64) -> (String, String) {
    let name = keyrack_lint::printable(key);
    let db_text = if db == 0 { String::new() } else { db.to_string() };
    let page = link::with_query("/key", &[("name", &name), ("db", &db_text)]);
    (name, page)
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
    if family.secret {
        facts.push(("Secret", SECRET.to_owned()));
    }
    facts.push(("Owner", family.owner.to_owned()));
    facts.push(("From", family.origin.to_string()));
    facts.extend(count.map(|count| ("Keys now", count)));
    facts
}
