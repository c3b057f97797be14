//! The page of a key: its chart by calculation and interval, where it goes, its rules, and what they have said.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, State},
    response::Response,
};
use keyrack_calculations::{
    Error, KeyId, Ledger, OutputEvent, Trend, is_by_bucket,
    keys::{Account, Calculation, Dimension, DimensionKey, Interval, Project},
};
use keyrack_format as format;
use keyrack_web::Problem;
use serde::Deserialize;

use super::{
    super::{
        Frame, Visit, assets, link,
        live::{View, live_page, show},
    },
    account_link, named,
    plot::{Fit, plot},
    project::{usual_interval, word},
    project_link,
    rules::RuleRow,
};
use crate::{Site, axes::Chart};

/// Buckets of the chart: as many bars as can be told apart on a phone.
const POINTS: usize = 60;
/// The statistics in the order in which they are told.
const STATISTICS: [&str; 7] =
    ["average", "standard_deviation", "slope", "intercept", "ci_90", "ci_95", "ci_99"];
/// What rules have said lately.
const EVENTS_MAX: usize = 20;

#[derive(Template)]
#[template(path = "calculations_key.html", blocks = ["live"])]
pub(super) struct KeyPage {
    frame: Frame,
    account: String,
    project: String,
    dimension: String,
    key: String,
    account_link: String,
    project_link: String,
    dimension_link: String,
    page_link: String,
    values: String,
    calculations: Vec<Choice>,
    intervals: Vec<Choice>,
    /// What is chosen.
    interval: &'static str,
    plot: Option<Chart>,
    trend: Option<TrendText>,
    /// What each is called, the number, and the number with all its digits.
    statistics: Vec<(String, String, String)>,
    rules: Vec<RuleRow>,
    events: Vec<EventRow>,
    /// How many events are not shown.
    earlier: usize,
}
live_page!(KeyPage);

/// Something to switch to.
struct Choice {
    word: &'static str,
    link: String,
    is_chosen: bool,
}

/// Where the sums go, in words.
struct TrendText {
    word: &'static str,
    told: String,
    next: String,
    /// The same with or without the last bucket.
    other_link: String,
    with_last: bool,
}

/// What a rule has said.
struct EventRow {
    number: u64,
    kind: String,
    rule: String,
    bucket: String,
    value: String,
    at: String,
}

/// What the page shows.
struct OneKey {
    account: String,
    project: String,
    dimension: String,
    key: String,
    wanted: ResultsQuery,
}

/// What of the key.
#[derive(Debug, Default, Deserialize)]
struct ResultsQuery {
    #[serde(default)]
    calculation: String,
    #[serde(default)]
    interval: String,
    /// `without` leaves the last bucket out of the line.
    #[serde(default)]
    last: String,
}

impl View for OneKey {
    type Page = KeyPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<KeyPage, Problem> {
        let (ledger, project) = named(site, &self.account, &self.project).await?;
        let dimension = keyrack_calculations::dimension(&self.dimension)?;
        let key = keyrack_calculations::dimension_key(&self.key)?;
        let id = ledger.key(&project, &dimension, &key);
        let (declared, values) = tokio::try_join!(ledger.declared(&id), ledger.values_len(&id))?;
        let chosen = self.wanted.among(&declared);
        let Some(chosen) = chosen else {
            let name = format!("{dimension}/{key}");
            return Err(Error::NotFound { what: "key", name }.into());
        };
        let page_link = link_to(ledger.account(), &project, &dimension, &key);
        let drawn = self.draw(&ledger, &id, chosen).await?;
        let (rules, (events, said)) =
            tokio::try_join!(ledger.rules(&project), ledger.last_output_events(&id, EVENTS_MAX))?;
        let is_about =
            |rule: &keyrack_calculations::Rule| rule.dimension == dimension && rule.key == key;
        Ok(KeyPage {
            frame,
            account: self.account.clone(),
            project: self.project.clone(),
            dimension: self.dimension.clone(),
            key: self.key.clone(),
            account_link: account_link(ledger.account()),
            dimension_link: link::with_query(
                &project_link(ledger.account(), &project),
                &[("dimension", &self.dimension)],
            ),
            project_link: project_link(ledger.account(), &project),
            values: format::counted(values, "value"),
            calculations: self.wanted.calculations(&declared, chosen, &page_link),
            intervals: self.wanted.intervals(&declared, chosen, &page_link),
            interval: chosen.interval.as_str(),
            trend: drawn.trend.map(|trend| self.wanted.tell(trend, chosen, &page_link)),
            page_link,
            plot: drawn.plot,
            statistics: statistics(&ledger, &id, &declared, chosen.interval).await?,
            rules: rules
                .iter()
                .filter(|numbered| is_about(&numbered.rule))
                .map(RuleRow::of)
                .collect(),
            earlier: said - events.len(),
            events: events.iter().rev().map(EventRow::of).collect(),
        })
    }
}

/// What is drawn, and the line through it.
struct Drawn {
    plot: Option<Chart>,
    trend: Option<Trend>,
}

impl OneKey {
    async fn draw(&self, ledger: &Ledger, id: &KeyId, chosen: Chosen) -> Result<Drawn, Error> {
        let with_last = self.wanted.with_last();
        let trend = ledger.trend(id, chosen.interval, with_last).await?;
        let Some(calculation) = chosen.calculation else { return Ok(Drawn { plot: None, trend }) };
        let series = ledger.series(id, calculation, chosen.interval, POINTS).await?;
        let gaps = ledger.settings(&id.project).await?.gaps;
        // The line goes through the sums, so it belongs to no other chart.
        let fit = trend.filter(|_| calculation == Calculation::Sum).map(|trend| Fit {
            line: trend.line,
            buckets: trend.buckets,
            with_last,
            gaps,
        });
        Ok(Drawn {
            plot: plot(&series, fit.as_ref(), calculation.as_str(), chosen.interval.as_str()),
            trend,
        })
    }
}

/// The calculation, if one has buckets, and the interval.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Chosen {
    calculation: Option<Calculation>,
    interval: Interval,
}

impl ResultsQuery {
    /// What was asked for if it is there, else what says most.
    fn among(&self, declared: &[(Calculation, Interval)]) -> Option<Chosen> {
        let intervals = || declared.iter().map(|pair| pair.1);
        let asked = intervals().find(|interval| interval.as_str() == self.interval);
        let interval = asked.or_else(|| usual_interval(intervals()))?;
        let drawable: Vec<Calculation> = drawable(declared, interval).collect();
        let find = |word: &str| drawable.iter().find(|it| it.as_str() == word);
        let calculation = find(&self.calculation).or_else(|| find("sum")).or(drawable.first());
        Some(Chosen { calculation: calculation.copied(), interval })
    }

    fn with_last(&self) -> bool {
        self.last != "without"
    }

    fn calculations(
        &self,
        declared: &[(Calculation, Interval)],
        chosen: Chosen,
        page: &str,
    ) -> Vec<Choice> {
        let choices = drawable(declared, chosen.interval).map(|calculation| Choice {
            word: calculation.as_str(),
            link: self.link(page, Some(calculation), chosen.interval, self.with_last()),
            is_chosen: chosen.calculation == Some(calculation),
        });
        choices.collect()
    }

    fn intervals(
        &self,
        declared: &[(Calculation, Interval)],
        chosen: Chosen,
        page: &str,
    ) -> Vec<Choice> {
        let mut intervals: Vec<Interval> = declared.iter().map(|pair| pair.1).collect();
        intervals.sort_unstable();
        intervals.dedup();
        let choices = intervals.into_iter().map(|interval| Choice {
            word: interval.as_str(),
            link: self.link(page, chosen.calculation, interval, self.with_last()),
            is_chosen: chosen.interval == interval,
        });
        choices.collect()
    }

    fn link(
        &self,
        page: &str,
        calculation: Option<Calculation>,
        interval: Interval,
        with_last: bool,
    ) -> String {
        let last = if with_last { "" } else { "without" };
        let calculation = calculation.map_or("", Calculation::as_str);
        let query = [("calculation", calculation), ("interval", interval.as_str()), ("last", last)];
        link::with_query(page, &query)
    }

    fn tell(&self, trend: Trend, chosen: Chosen, page: &str) -> TrendText {
        let buckets = format::counted(trend.buckets, "bucket");
        let told = match trend.confidence {
            0 => format!("no trend that {buckets} could tell from chance"),
            sure => format!("at {sure} %, by {buckets}"),
        };
        let told = format!("{told}; {} a bucket", signed(trend.line.slope));
        let next = trend.prediction.map(|next| {
            format!("{} ± {} at 95 %", format::short(next.value), format::short(next.half_width))
        });
        let with_last = self.with_last();
        TrendText {
            word: word(trend.direction),
            told,
            next: next.unwrap_or_default(),
            other_link: self.link(page, chosen.calculation, chosen.interval, !with_last),
            with_last,
        }
    }
}

fn signed(number: f64) -> String {
    let sign = if number > 0.0 { "+" } else { "" };
    format!("{sign}{}", format::short(number))
}

/// What has a bar for each bucket of an interval.
fn drawable(
    declared: &[(Calculation, Interval)],
    interval: Interval,
) -> impl Iterator<Item = Calculation> {
    let over = declared.iter().filter(move |pair| pair.1 == interval).map(|pair| pair.0);
    over.filter(|calculation| is_by_bucket(*calculation))
}

/// The results that are one number over all buckets.
async fn statistics(
    ledger: &Ledger,
    id: &KeyId,
    declared: &[(Calculation, Interval)],
    interval: Interval,
) -> Result<Vec<(String, String, String)>, Error> {
    let mut all: Vec<(String, String)> = Vec::new();
    for (calculation, _) in declared.iter().filter(|pair| pair.1 == interval) {
        if !is_by_bucket(*calculation) {
            all.extend(ledger.result(id, *calculation, interval).await?);
        }
    }
    all.sort_by_key(|(name, _)| STATISTICS.iter().position(|other| other == name));
    let told = |(name, exact): (String, String)| {
        let number = exact.parse().ok().filter(|number: &f64| number.is_finite());
        (name.replace('_', " "), number.map_or_else(|| exact.clone(), format::short), exact)
    };
    Ok(all.into_iter().map(told).collect())
}

impl EventRow {
    fn of(event: &OutputEvent) -> EventRow {
        let field = |name: &str| event.fields.get(name).cloned().unwrap_or_default();
        EventRow {
            number: event.number,
            kind: field("event_type"),
            rule: field("rule"),
            bucket: field("bucket"),
            value: field("calculated_value"),
            at: field("created_at"),
        }
    }
}

/// The page of a key.
pub(super) fn link_to(
    account: &Account,
    project: &Project,
    dimension: &Dimension,
    key: &DimensionKey,
) -> String {
    let (dimension, key) = (link::segment(dimension.as_str()), link::segment(key.as_str()));
    format!("{}/{dimension}/{key}", project_link(account, project))
}

/// `GET /calculations/{account}/{project}/{dimension}/{key}`
pub(super) async fn key(
    State(site): State<Arc<Site>>,
    Path((account, project, dimension, key)): Path<(String, String, String, String)>,
    visit: Visit,
) -> Response {
    match visit.query::<ResultsQuery>() {
        Ok(wanted) => show(site, visit, OneKey { account, project, dimension, key, wanted }).await,
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_gives_way_to_what_says_most() {
        use Calculation::{Average, Count, Sum};
        use Interval::{Days, Hours, Months};

        let declared = [(Sum, Months), (Count, Days), (Sum, Days), (Average, Hours)];
        let chosen = |calculation: &str, interval: &str| {
            let wanted = ResultsQuery {
                calculation: calculation.into(),
                interval: interval.into(),
                last: String::new(),
            };
            wanted.among(&declared).map(|chosen| (chosen.calculation, chosen.interval))
        };
        assert_eq!(chosen("", ""), Some((Some(Sum), Days)));
        assert_eq!(chosen("count", "days"), Some((Some(Count), Days)));
        assert_eq!(chosen("count", "months"), Some((Some(Sum), Months)));
        assert_eq!(chosen("<b>", "hours"), Some((None, Hours)));
        assert_eq!(ResultsQuery::default().among(&[]), None);
    }
}
