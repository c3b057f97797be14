//! What has a name: queues, jobs, keys and their families, for the palette of every page.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use keyrack_jobs::bee::keys::Jid;
use serde::{Deserialize, Serialize};

use super::{Frame, Visit, key, link};
use crate::Site;

/// The most of each kind that are found.
const FOUND_MAX: usize = 8;
/// The longest text that is looked for.
const TEXT_BYTES_MAX: usize = 512;

/// What is looked for.
#[derive(Debug, Deserialize)]
struct PaletteQuery {
    text: String,
}

/// Something that can be gone to.
#[derive(Debug, Serialize)]
struct Item {
    kind: &'static str,
    name: String,
    link: String,
}

/// `GET /palette`
pub(crate) async fn palette(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    let text = match visit.query::<PaletteQuery>() {
        Ok(query) => query.text.trim().to_owned(),
        Err(problem) => return problem.into_response(),
    };
    if text.is_empty() || text.len() > TEXT_BYTES_MAX {
        return Json(Vec::<Item>::new()).into_response();
    }
    let key = key(&site, &text, &visit.frame);
    let (job, queues, key) = tokio::join!(job(&site, &text), queues(&site, &text), key);
    let mut items: Vec<Item> = job.into_iter().chain(key).collect();
    items.extend(queues);
    items.extend(families(&text));
    Json(items).into_response()
}

/// The job of that id.
async fn job(site: &Site, text: &str) -> Option<Item> {
    let jid = Jid::new(text).ok()?;
    let job = site.services.jobs().await.ok()?.hive.job(&jid).await.ok()?;
    let name = format!("{} of {}, {}", job.jid(), job.queue(), job.status());
    Some(Item { kind: "job", name, link: link::job(job.jid()) })
}

/// Queues with the text in their name.
async fn queues(site: &Site, text: &str) -> Vec<Item> {
    let text = text.to_lowercase();
    let Ok(counts) = site.services.queue_counts().await else { return Vec::new() };
    let names = counts.iter().map(|one| one.queue.as_str());
    let found = names.filter(|name| name.to_lowercase().contains(&text)).take(FOUND_MAX);
    let item = |name: &str| Item { kind: "queue", name: name.to_owned(), link: link::queue(name) };
    found.map(item).collect()
}

/// The key of that name, if there is one that one may read.
async fn key(site: &Site, text: &str, frame: &Frame) -> Option<Item> {
    let link = link::with_query("/key", &[("name", text)]);
    let is_there = key::is_there(site, text, frame).await;
    is_there.then(|| Item { kind: "key", name: text.to_owned(), link })
}

/// Families of keys with the text in their name.
fn families(text: &str) -> impl Iterator<Item = Item> {
    let text = text.to_lowercase();
    let families = keyrack_contract::registry().families();
    let names = families.map(|family| family.id());
    let found = names.filter(move |name| name.to_lowercase().contains(&text)).take(FOUND_MAX);
    found.map(|name| Item { kind: "keys", link: format!("/keys/{}", link::segment(&name)), name })
}
