//! The pages about calculations: accounts with their projects here, then `project` with its keys, and `key` with its chart.
//!
//! `plot` works out the chart; `rules` are what people make and delete on these pages, `delete` takes back values and keys.

mod delete;
mod key;
mod plot;
mod project;
mod rules;

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, response::Response};
use futures_util::future::try_join_all;
use keyrack_calculations::{
    Accounts, Error, Ledger,
    keys::{Account, Project},
};
use keyrack_format as format;
use keyrack_identity::Role::{Operator, Viewer};
use keyrack_web::{
    Problem,
    access::{Permission, Routes},
};
use serde::Deserialize;

use super::{
    Frame, Visit, assets, link,
    live::{View, live_page, show},
};
use crate::Site;

/// Accounts on the first page; others are found by their names.
const ACCOUNTS_MAX: usize = 50;

/// The routes of these pages.
pub(super) fn router() -> Routes<Arc<Site>> {
    Routes::default()
        .get("/calculations", Permission::read(Viewer), calculations)
        .get("/calculations/{account}/{project}", Permission::read(Viewer), project::project)
        .post(
            "/calculations/{account}/{project}/rules",
            Permission::change(Operator, "rule_made"),
            rules::create,
        )
        .post(
            "/calculations/{account}/{project}/rules/{number}/delete",
            Permission::change(Operator, "rule_deleted"),
            rules::delete,
        )
        .get(
            "/calculations/{account}/{project}/{dimension}/{key}",
            Permission::read(Viewer),
            key::key,
        )
        .post(
            "/calculations/{account}/{project}/{dimension}/{key}/delete-key",
            Permission::change(Operator, "calculation_key_deleted"),
            delete::key,
        )
        .post(
            "/calculations/{account}/{project}/{dimension}/{key}/delete-value",
            Permission::change(Operator, "calculation_value_deleted"),
            delete::at,
        )
}

#[derive(Template)]
#[template(path = "calculations.html", blocks = ["live"])]
pub(super) struct CalculationsPage {
    frame: Frame,
    /// The account that was asked for; empty for all.
    wanted: String,
    rows: Vec<Row>,
    left_out: usize,
}
live_page!(CalculationsPage);

/// A project of an account.
struct Row {
    account: String,
    database: String,
    project: String,
    link: String,
    dimensions: String,
    rules: String,
}

/// What the page shows.
#[derive(Debug, Default, Deserialize)]
struct CalculationsView {
    #[serde(default)]
    account: String,
}

impl View for CalculationsView {
    type Page = CalculationsPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<CalculationsPage, Problem> {
        let wanted = self.account.trim();
        let mut accounts = site.services.calculations.list().await?;
        accounts.retain(|(account, _)| wanted.is_empty() || account.as_str() == wanted);
        let left_out = accounts.len().saturating_sub(ACCOUNTS_MAX);
        accounts.truncate(ACCOUNTS_MAX);
        let looks =
            accounts.iter().map(|(account, db)| rows(&site.services.calculations, account, *db));
        let rows: Vec<Vec<Row>> = try_join_all(looks).await?;
        Ok(CalculationsPage {
            frame,
            wanted: wanted.to_owned(),
            rows: rows.into_iter().flatten().collect(),
            left_out,
        })
    }
}

async fn rows(accounts: &Accounts, account: &Account, db: i64) -> Result<Vec<Row>, Error> {
    let ledger = accounts.ledger(account).await?;
    let projects = ledger.projects().await?;
    try_join_all(projects.iter().map(|project| row(&ledger, project, db))).await
}

async fn row(ledger: &Ledger, project: &Project, db: i64) -> Result<Row, Error> {
    let (dimensions, rules) = tokio::try_join!(ledger.dimensions(project), ledger.rules(project))?;
    Ok(Row {
        account: ledger.account().to_string(),
        database: if db == 0 { "shared".into() } else { db.to_string() },
        project: project.to_string(),
        link: project_link(ledger.account(), project),
        dimensions: format::count(dimensions.len() as u64),
        rules: format::count(rules.len() as u64),
    })
}

/// `GET /calculations`
async fn calculations(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    match visit.query::<CalculationsView>() {
        Ok(view) => show(site, visit, view).await,
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

/// The projects of an account.
fn account_link(account: &Account) -> String {
    link::with_query("/calculations", &[("account", account.as_str())])
}

/// The page of a project.
fn project_link(account: &Account, project: &Project) -> String {
    let (account, project) = (link::segment(account.as_str()), link::segment(project.as_str()));
    format!("/calculations/{account}/{project}")
}

/// An account and a project by their names.
async fn named(site: &Site, account: &str, project: &str) -> Result<(Ledger, Project), Problem> {
    let account = keyrack_calculations::account(account)?;
    let project = keyrack_calculations::project(project)?;
    Ok((site.services.calculations.existing(&account).await?, project))
}
