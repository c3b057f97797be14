//! The page of a project: its dimensions, their keys, and its rules.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, State},
    response::Response,
};
use futures_util::future::try_join_all;
use keyrack_calculations::{
    Direction, Error, KeyId, Ledger, is_by_bucket,
    keys::{Calculation, Dimension, DimensionKey, Interval, Project},
};
use keyrack_format as format;
use keyrack_web::Problem;
use serde::Deserialize;

use super::{
    super::{
        Frame, Visit, assets,
        chart::Spark,
        link,
        live::{View, live_page, show},
    },
    account_link, named, project_link,
    rules::RuleRow,
};
use crate::Site;

/// Keys on one page; each is a few reads.
const KEYS_MAX: usize = 50;
/// Buckets of a little picture.
const SPARK_POINTS: usize = 30;

#[derive(Template)]
#[template(path = "calculations_project.html", blocks = ["live"])]
pub(super) struct ProjectPage {
    frame: Frame,
    account: String,
    project: String,
    account_link: String,
    link: String,
    sections: Vec<Section>,
    rules: Vec<RuleRow>,
    settings: Vec<(&'static str, String)>,
}
live_page!(ProjectPage);

/// A dimension with the keys that fit on the page.
struct Section {
    dimension: String,
    /// How many keys it has.
    count: String,
    rows: Vec<KeyRow>,
    /// Where the others are.
    more: Option<String>,
}

/// One key at a glance.
struct KeyRow {
    key: String,
    link: String,
    values: String,
    /// What the picture shows: `sum by weeks`.
    what: String,
    last: String,
    spark: Spark,
    /// `rising`, `falling`, `flat`, or nothing.
    trend: &'static str,
}

/// What the page shows.
struct OneProject {
    account: String,
    project: String,
    only: KeysQuery,
}

/// Which of the keys.
#[derive(Debug, Default, Deserialize)]
struct KeysQuery {
    /// Those of this dimension.
    #[serde(default)]
    dimension: String,
    /// Those behind this one.
    #[serde(default)]
    after: String,
}

impl View for OneProject {
    type Page = ProjectPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<ProjectPage, Problem> {
        let (ledger, project) = named(site, &self.account, &self.project).await?;
        let mut dimensions = ledger.dimensions(&project).await?;
        if dimensions.is_empty() {
            let name = project.to_string();
            return Err(Error::NotFound { what: "project", name }.into());
        }
        dimensions.retain(|dimension| {
            self.only.dimension.is_empty() || dimension.as_str() == self.only.dimension
        });
        let (mut sections, mut left) = (Vec::new(), KEYS_MAX);
        for dimension in &dimensions {
            let section = self.section(&ledger, &project, dimension, left).await?;
            left = left.saturating_sub(section.rows.len());
            sections.push(section);
        }
        let (rules, settings) =
            tokio::try_join!(ledger.rules(&project), ledger.settings(&project))?;
        Ok(ProjectPage {
            frame,
            account_link: account_link(ledger.account()),
            link: project_link(ledger.account(), &project),
            account: self.account.clone(),
            project: self.project.clone(),
            sections,
            rules: rules.iter().map(RuleRow::of).collect(),
            settings: settings.entries().into(),
        })
    }
}

impl OneProject {
    /// A dimension with so many of its keys at most.
    async fn section(
        &self,
        ledger: &Ledger,
        project: &Project,
        dimension: &Dimension,
        keys_max: usize,
    ) -> Result<Section, Error> {
        let keys = ledger.keys(project, dimension).await?;
        let shown: Vec<&DimensionKey> =
            keys.iter().filter(|key| key.as_str() > self.only.after.as_str()).collect();
        let rows = shown.iter().take(keys_max).map(|key| row(ledger, project, dimension, key));
        let rows: Vec<KeyRow> = try_join_all(rows).await?;
        let more = (shown.len() > rows.len()).then(|| {
            let after = rows.last().map_or("", |row| row.key.as_str());
            let only = [("dimension", dimension.as_str()), ("after", after)];
            link::with_query(&project_link(ledger.account(), project), &only)
        });
        let count = format::counted(keys.len() as u64, "key");
        Ok(Section { dimension: dimension.to_string(), count, rows, more })
    }
}

async fn row(
    ledger: &Ledger,
    project: &Project,
    dimension: &Dimension,
    key: &DimensionKey,
) -> Result<KeyRow, Error> {
    let id = ledger.key(project, dimension, key);
    let (values, declared) = tokio::try_join!(ledger.values_len(&id), ledger.declared(&id))?;
    let glance = match telling(&declared) {
        Some(pair) => glance(ledger, &id, pair).await?,
        None => ProjectSummary::default(),
    };
    Ok(KeyRow {
        key: key.to_string(),
        link: super::key::link_to(ledger.account(), project, dimension, key),
        values: format::count(values),
        spark: spark(glance.heights, format!("{} of {key}", glance.what)),
        what: glance.what,
        last: glance.last,
        trend: glance.trend,
    })
}

/// What is seen of a key at a glance.
#[derive(Default)]
struct ProjectSummary {
    what: String,
    last: String,
    trend: &'static str,
    heights: Vec<f64>,
}

async fn glance(
    ledger: &Ledger,
    id: &KeyId,
    (calculation, interval): (Calculation, Interval),
) -> Result<ProjectSummary, Error> {
    let (series, trend) = tokio::try_join!(
        ledger.series(id, calculation, interval, SPARK_POINTS),
        ledger.trend(id, interval, true)
    )?;
    let values: Vec<String> = series.into_iter().filter_map(|point| point.value).collect();
    let number = |text: &String| text.parse().ok().filter(|n: &f64| n.is_finite());
    Ok(ProjectSummary {
        what: format!("{calculation} by {interval}"),
        heights: values.iter().filter_map(number).collect(),
        last: values.last().cloned().unwrap_or_default(),
        trend: trend.map(|trend| word(trend.direction)).unwrap_or_default(),
    })
}

/// A line through the values, of which one alone is level.
fn spark(mut heights: Vec<f64>, label: String) -> Spark {
    if let [only] = heights[..] {
        heights.push(only);
    }
    let is_above_zero = heights.iter().all(|height| *height >= 0.0);
    Spark::of(&heights, is_above_zero, label)
}

pub(super) fn word(direction: Direction) -> &'static str {
    match direction {
        Direction::Rising => "rising",
        Direction::Falling => "falling",
        Direction::Flat => "flat",
    }
}

/// What says most about a key: sums if there are any, by the interval that people think in.
fn telling(declared: &[(Calculation, Interval)]) -> Option<(Calculation, Interval)> {
    let interval =
        usual_interval(declared.iter().filter(|pair| is_by_bucket(pair.0)).map(|it| it.1))?;
    let over = declared.iter().filter(|pair| pair.1 == interval && is_by_bucket(pair.0));
    let calculations: Vec<Calculation> = over.map(|pair| pair.0).collect();
    let sum = calculations.iter().find(|calculation| **calculation == Calculation::Sum);
    Some((*sum.or(calculations.first())?, interval))
}

/// The interval that people think in, of those there are.
pub(super) fn usual_interval(intervals: impl Iterator<Item = Interval>) -> Option<Interval> {
    use Interval::{Days, Hours, Minutes, Months, Seconds, Weeks, Years};

    let usual = [Days, Weeks, Months, Hours, Minutes, Years, Seconds];
    intervals.min_by_key(|interval| usual.iter().position(|other| other == interval))
}

/// `GET /calculations/{account}/{project}`
pub(super) async fn project(
    State(site): State<Arc<Site>>,
    Path((account, project)): Path<(String, String)>,
    visit: Visit,
) -> Response {
    match visit.query::<KeysQuery>() {
        Ok(only) => show(site, visit, OneProject { account, project, only }).await,
        Err(problem) => problem.for_reader(&visit.headers),
    }
}
