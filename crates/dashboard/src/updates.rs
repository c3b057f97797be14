//! The page of updates: the repositories there are, what was announced lately, and whose turn it is.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, response::Response};
use futures_util::future::try_join_all;
use keyrack_format as format;
use keyrack_updates::{Announcement, Updates, keys::Repo};
use keyrack_web::Problem;

use super::{
    Frame, Visit, assets,
    live::{View, live_page, show},
    plot::ms,
};
use crate::Site;

/// The most repositories on the page.
const REPOS_MAX: usize = 100;

#[derive(Template)]
#[template(path = "updates.html", blocks = ["live"])]
pub(super) struct UpdatesPage {
    frame: Frame,
    rows: Vec<Row>,
    /// Whether build servers can announce through this server.
    is_open: bool,
}
live_page!(UpdatesPage);

/// A repository.
struct Row {
    name: String,
    last: String,
    heard: String,
    /// Who updates itself right now.
    holder: String,
    earlier: Vec<String>,
}

struct UpdatesView;

impl View for UpdatesView {
    type Page = UpdatesPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<UpdatesPage, Problem> {
        let updates = Updates::new(site.services.store.clone());
        let mut repos: Vec<Repo> =
            updates.repos().await?.into_iter().map(|(repo, _)| repo).collect();
        let known = site.services.deploys.iter().flat_map(|deploys| &deploys.repos);
        for repo in known {
            if !repos.contains(repo) {
                repos.push(repo.clone());
            }
        }
        repos.truncate(REPOS_MAX);
        let now = site.services.store.now_ms();
        let rows = repos.iter().map(|repo| Row::look(&updates, repo, now));
        let rows = try_join_all(rows).await?;
        Ok(UpdatesPage { frame, rows, is_open: site.services.deploys.is_some() })
    }
}

/// `GET /updates`
pub(crate) async fn updates(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    show(site, visit, UpdatesView).await
}

impl Row {
    async fn look(updates: &Updates, repo: &Repo, now: u64) -> Result<Row, Problem> {
        let (announced, holder) =
            tokio::try_join!(updates.announcements(repo), updates.holder(repo))?;
        let last = announced.first();
        Ok(Row {
            name: repo.to_string(),
            last: last.map(|last| format::relative(ms(last.at), now)).unwrap_or_default(),
            heard: last.map(heard).unwrap_or_default(),
            holder: holder.unwrap_or_default(),
            earlier: announced
                .iter()
                .skip(1)
                .take(4)
                .map(|one| format!("{}, {}", format::relative(ms(one.at), now), heard(one)))
                .collect(),
        })
    }
}

fn heard(announcement: &Announcement) -> String {
    format!("heard by {}", format::count(announcement.heard))
}
