//! `keyrack calc show`.

use std::{collections::BTreeMap, io::Write};

use keyrack_calculations::{
    Direction, KeyId, Ledger, Point, Trend, is_by_bucket,
    keys::{Account, Calculation, Dimension, DimensionKey, Interval, Project},
};
use serde_json::{Value as Json, json};

use super::{open, scope, spark};
use crate::{
    Exit, Failure, Globals,
    table::{Cell, Table},
};

/// Buckets of which each series is drawn.
const DRAWN: usize = 60;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The account
    #[arg(long, short, value_parser = scope::parse_account)]
    account: Account,
    /// The project
    #[arg(value_parser = scope::parse_project)]
    project: Project,
    /// The dimension
    #[arg(value_parser = scope::parse_dimension)]
    dimension: Dimension,
    /// The key
    #[arg(value_parser = scope::parse_key)]
    key: DimensionKey,
    /// Only results of this interval
    #[arg(long, short, value_name = "INTERVAL")]
    interval: Option<Interval>,
    /// List the last N buckets of each series
    #[arg(long, short = 'n', default_value_t = 10)]
    buckets: usize,
}

/// Shows everything that is calculated for a key.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let ledger = open(globals).await?.existing(&args.account).await?;
    let id = ledger.key(&args.project, &args.dimension, &args.key);
    let declared = ledger.declared(&id).await?;
    if declared.is_empty() {
        let message = format!("no key \"{}\" in dimension \"{}\"", args.key, args.dimension);
        let hint = format!("\"keyrack calc list --account {}\" lists the keys", args.account);
        return Err(Failure::new(Exit::NotFound, message).hint(hint).into());
    }
    let mut by_interval: BTreeMap<Interval, Vec<Calculation>> = BTreeMap::new();
    for (calculation, interval) in declared {
        if args.interval.is_none_or(|only| only == interval) {
            by_interval.entry(interval).or_default().push(calculation);
        }
    }
    let mut views = Vec::new();
    for (interval, calculations) in by_interval {
        views.push(IntervalResults::read(&ledger, &id, interval, calculations).await?);
    }
    if globals.json {
        let all: serde_json::Map<String, Json> =
            views.iter().map(|view| (view.interval.to_string(), view.json())).collect();
        globals.print_json(&all)?;
        return Ok(Exit::Ok);
    }
    let mut out = globals.out();
    for (at, view) in views.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        view.print(&mut out, args.buckets)?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}

/// Everything over one interval.
struct IntervalResults {
    interval: Interval,
    series: Vec<(Calculation, Vec<Point>)>,
    statistics: Vec<(String, String)>,
    trend: Option<Trend>,
}

impl IntervalResults {
    async fn read(
        ledger: &Ledger,
        id: &KeyId,
        interval: Interval,
        calculations: Vec<Calculation>,
    ) -> anyhow::Result<IntervalResults> {
        let (mut series, mut statistics, mut trend) = (Vec::new(), Vec::new(), None);
        for calculation in calculations {
            if is_by_bucket(calculation) {
                series.push((calculation, ledger.series(id, calculation, interval, DRAWN).await?));
            } else {
                statistics.extend(ledger.result(id, calculation, interval).await?);
            }
            if calculation == Calculation::LinearRegression {
                trend = ledger.trend(id, interval, true).await?;
            }
        }
        Ok(IntervalResults { interval, series, statistics, trend })
    }

    fn json(&self) -> Json {
        let series: BTreeMap<_, _> = self
            .series
            .iter()
            .map(|(calculation, points)| (calculation.to_string(), points))
            .collect();
        let statistics: BTreeMap<_, _> = self.statistics.iter().cloned().collect();
        let trend = self.trend.map(|trend| {
            json!({
                "direction": trend.direction,
                "confidence": trend.confidence,
                "buckets": trend.buckets,
                "next": trend.prediction.map(|next| next.value),
                "next_half_width": trend.prediction.map(|next| next.half_width),
            })
        });
        json!({ "series": series, "statistics": statistics, "trend": trend })
    }

    fn print(&self, out: &mut impl Write, buckets: usize) -> anyhow::Result<()> {
        writeln!(out, "{}", self.interval)?;
        for (calculation, points) in &self.series {
            let numbers: Vec<Option<f64>> = points
                .iter()
                .map(|point| point.value.as_ref().and_then(|value| value.parse().ok()))
                .collect();
            let first = points.first().map_or("", |point| point.bucket.as_str());
            let last = points.last().map_or("", |point| point.bucket.as_str());
            writeln!(out, "  {calculation}  {}  {first} to {last}", spark::line(&numbers))?;
            let mut table = Table::new(&["   BUCKET", "VALUE"]);
            for point in points.iter().skip(points.len().saturating_sub(buckets)) {
                let value = point.value.as_deref().unwrap_or("-");
                table.row(vec![format!("   {}", point.bucket).into(), Cell::number(value)]);
            }
            table.print(out)?;
        }
        for (name, value) in &self.statistics {
            writeln!(out, "  {name:<19} {value}")?;
        }
        if let Some(trend) = &self.trend {
            writeln!(out, "  trend               {}", in_words(trend))?;
        }
        Ok(())
    }
}

fn in_words(trend: &Trend) -> String {
    let direction = match trend.direction {
        Direction::Rising => "rising",
        Direction::Falling => "falling",
        Direction::Flat => "flat",
    };
    let mut words = match trend.confidence {
        0 => format!("{direction}, by {} buckets", trend.buckets),
        percent => format!("{direction} at {percent} %, by {} buckets", trend.buckets),
    };
    if let Some(next) = trend.prediction {
        words += &format!("; next {:.2} ± {:.2}", next.value, next.half_width);
    }
    words
}
