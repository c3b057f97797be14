//! The page of one key: what its name means, and what it holds, in the meaning that was declared.

mod content;
mod meaning;

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, http::StatusCode, response::Response};
use keyrack_format as format;
use keyrack_keys::{ExplainedPart, Explanation, Layout};
use keyrack_store::Store;
use keyrack_web::Problem;
use serde::Deserialize;

use self::content::Line;
use super::{Frame, Visit, assets, form, live::still};
use crate::Site;

/// Which key.
#[derive(Debug, Deserialize)]
struct KeyQuery {
    name: String,
    #[serde(default)]
    db: String,
}

#[derive(Template)]
#[template(path = "key.html")]
struct KeyPage {
    frame: Frame,
    name: String,
    /// What the declarations say of it; nothing when no family has such keys.
    explained: Option<Explained>,
    is_channel: bool,
    /// What is there; nothing when there is no such key.
    found: Option<Found>,
}

struct Explained {
    id: String,
    paragraphs: Vec<String>,
    parts: Vec<ExplainedPart>,
}

/// A key that is there.
struct Found {
    kind: String,
    ttl: String,
    memory: String,
    size: String,
    /// What a line's name and value are.
    heads: (&'static str, &'static str),
    lines: Vec<Line>,
    /// Whether there is more than is shown.
    is_cut: bool,
}

/// `GET /key`
pub(crate) async fn key(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    let looked = async {
        let wanted: KeyQuery = visit.query()?;
        let name = wanted.name.trim().to_owned();
        check_reader(&name, &visit.frame)?;
        let explanation = keyrack_contract::registry().explain(name.as_bytes());
        let raw = stored_name(&site.services.store, &name, explanation.as_ref());
        let db: Option<i64> = form::number("db", &wanted.db)?;
        let found = match database(&site.services.store, db).await? {
            Some(store) => {
                let reader = content::Reader {
                    content: explanation.as_ref().map(|explanation| explanation.family.content),
                    parsed: keyrack_contract::registry().parse(raw.as_bytes()),
                    sees_secrets: visit.frame.caller.is_admin(),
                };
                found(&store, &raw, &reader).await?
            }
            None => None,
        };
        let is_channel = explanation.as_ref().is_some_and(|it| it.family.is_channel());
        let explained = explanation.map(Explained::from);
        Ok::<_, Problem>(KeyPage { frame: visit.frame.clone(), name, explained, is_channel, found })
    };
    match looked.await {
        Ok(page) => {
            let is_known = page.found.is_some() || page.explained.is_some();
            let status = if is_known { StatusCode::OK } else { StatusCode::NOT_FOUND };
            still(&page, &visit.frame, status)
        }
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

/// Whether there is a key of that name. Of keys that one may not read one does not learn even that.
pub(super) async fn is_there(site: &Site, name: &str, frame: &Frame) -> bool {
    if check_reader(name, frame).is_err() {
        return false;
    }
    let store = &site.services.store;
    let explanation = keyrack_contract::registry().explain(name.as_bytes());
    let mut cmd = redis::cmd("EXISTS");
    cmd.arg(stored_name(store, name, explanation.as_ref()));
    cmd.query_async(&mut store.connection()).await.unwrap_or(false)
}

/// The name of a key as the store has it.
fn stored_name(store: &Store, name: &str, explanation: Option<&Explanation>) -> String {
    match (explanation, store.layout()) {
        (Some(explanation), Layout::Cluster) => explanation.cluster.clone(),
        _ => name.to_owned(),
    }
}

/// Refuses keys that are declared as secret to those who are no admins.
fn check_reader(name: &str, frame: &Frame) -> Result<(), Problem> {
    let is_secret = |name: &str| {
        let explanation = keyrack_contract::registry().explain(name.as_bytes());
        explanation.is_some_and(|explanation| explanation.family.secret)
    };
    // On a cluster a name has braces, and they may stand anywhere.
    let without_braces = || name.replace(['{', '}'], "");
    if !frame.caller.is_admin() && (is_secret(name) || is_secret(&without_braces())) {
        return Err(Problem::new(StatusCode::FORBIDDEN, "forbidden")
            .title("the token does not allow this")
            .detail("keys about users and tokens take the role admin"));
    }
    Ok(())
}

/// The store at a database; nothing when that one holds no keys, or is none.
async fn database(store: &Store, db: Option<i64>) -> Result<Option<Store>, keyrack_store::Error> {
    let Some(db) = db.filter(|db| *db != store.db()) else { return Ok(Some(store.clone())) };
    let is_there = store.info().await?.databases.iter().any(|database| database.db == db);
    if is_there { store.database(db).await.map(Some) } else { Ok(None) }
}

impl From<Explanation> for Explained {
    fn from(explanation: Explanation) -> Explained {
        let family = explanation.family;
        Explained {
            id: family.id(),
            paragraphs: family.text().split("\n\n").map(str::to_owned).collect(),
            parts: explanation.parts,
        }
    }
}

/// Reads a bounded part of a key.
async fn found(
    store: &Store,
    raw: &str,
    reader: &content::Reader,
) -> Result<Option<Found>, keyrack_store::Error> {
    let mut about = redis::pipe();
    about.cmd("TYPE").arg(raw).cmd("PTTL").arg(raw).cmd("MEMORY").arg("USAGE").arg(raw);
    let (kind, ttl, memory): (String, i64, Option<u64>) =
        about.query_async(&mut store.connection()).await?;
    if kind == "none" {
        return Ok(None);
    }
    let content = content::read(store, raw, &kind, reader).await?;
    Ok(Some(Found {
        ttl: u64::try_from(ttl)
            .map_or("never".into(), |ms| format!("in {}", format::duration_ms(ms))),
        memory: memory.map(format::bytes).unwrap_or_default(),
        size: content.size,
        heads: content.heads,
        lines: content.lines,
        is_cut: content.is_cut,
        kind,
    }))
}
