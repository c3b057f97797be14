//! The page of a progress bar: how long it takes, each step's times as a plot, what is under way, and what was.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::Response,
};
use futures_util::future::try_join_all;
use keyrack_format as format;
use keyrack_keys::UserSub;
use keyrack_progress::{Bar, Sample, Sampling};
use keyrack_web::Problem;

use super::{
    UNDERWAY_LOOK, UNDERWAY_MAX,
    bar_history::{BarHistory, past},
    running_row::Row,
    trace_link, user_sub,
};
use crate::{
    Frame, Site, Visit, assets, link,
    live::{View, live_page, show},
    plot::{Dots, ms, quantile, seconds},
};

/// The most past traces that are listed.
const LISTED_MAX: usize = 20;
/// Colours of steps; further steps take them again.
const COLORS: usize = 6;

#[derive(Template)]
#[template(path = "bar.html", blocks = ["live"])]
pub(super) struct BarPage {
    frame: Frame,
    name: String,
    user: String,
    user_link: String,
    /// How long a run will take: the middle, and the range of eight in ten.
    whole: Option<(String, String)>,
    facts: Vec<(&'static str, String)>,
    steps: Vec<StepRow>,
    underway: Vec<Row>,
    past: Vec<PastRow>,
    left_out: String,
}
live_page!(BarPage);

/// A step and its times.
struct StepRow {
    name: String,
    color: usize,
    iterations: String,
    median: String,
    range: String,
    each: String,
    dots: Dots,
}

/// A past trace, with each step's part of the longest one's time.
struct PastRow {
    when: String,
    link: String,
    uid: String,
    took: String,
    parts: Vec<Part>,
}

/// What a step took, in hundredths of the longest trace.
struct Part {
    color: usize,
    x: f64,
    width: f64,
    title: String,
}

/// A bar.
struct BarView {
    user: UserSub,
    bar: String,
}

impl View for BarView {
    type Page = BarPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<BarPage, Problem> {
        let (past, underway) =
            tokio::try_join!(past(site, &self.user, &self.bar), self.underway(site))?;
        if past.is_none() && underway.is_empty() {
            return Err(Problem::new(StatusCode::NOT_FOUND, "progress_bar_not_found")
                .title("there is no such progress bar")
                .detail(format!("\"{}\" has no bar \"{}\"", self.user, self.bar)));
        }
        let past = past.as_deref();
        let traces = past.map_or(&[][..], |past| &past.samples.traces);
        let retained = traces.len().saturating_sub(LISTED_MAX) as u64;
        Ok(BarPage {
            frame,
            name: self.bar.clone(),
            user: self.user.to_string(),
            user_link: link::with_query("/progress", &[("user", self.user.as_str())]),
            whole: past.and_then(|past| past.model.whole_run()).map(|whole| {
                let range = format!("{} to {}", seconds(whole.p10), seconds(whole.p90));
                (seconds(whole.p50), range)
            }),
            facts: past.map(|past| facts(&past.samples.bar)).unwrap_or_default(),
            steps: past.map(steps).unwrap_or_default(),
            underway,
            past: past.map(|past| rows(past, site.services.store.now_ms())).unwrap_or_default(),
            left_out: if retained == 0 { String::new() } else { format::count(retained) },
        })
    }
}

impl BarView {
    async fn underway(&self, site: &Site) -> Result<Vec<Row>, Problem> {
        let mut found = site.services.progress.running(0, UNDERWAY_LOOK).await?;
        found.retain(|trace| trace.user == self.user && trace.bar == self.bar);
        found.truncate(UNDERWAY_MAX);
        let rows = found.iter().map(|trace| Row::look(site, trace));
        Ok(try_join_all(rows).await?.into_iter().flatten().collect())
    }
}

/// `GET /progress/{user}/{bar}`
pub(crate) async fn bar(
    State(site): State<Arc<Site>>,
    Path((user, bar)): Path<(String, String)>,
    visit: Visit,
) -> Response {
    match user_sub(&user) {
        Ok(user) => show(site, visit, BarView { user, bar }).await,
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

fn facts(bar: &Bar) -> Vec<(&'static str, String)> {
    let settings = &bar.settings;
    let which = match settings.sampling_technique {
        Sampling::Systematic => "evenly over time",
        Sampling::SimpleRandom => "at random",
    };
    let age = settings.sampling_max_age_seconds;
    let age = age.map_or_else(|| "for good".into(), |s| format!("for {}", format::duration_s(s)));
    let count = format::counted(settings.sampling_max_count, "trace");
    vec![
        ("Learns from", format!("up to {count}, picked {which}, kept {age}")),
        ("Steps changed", format::counted(bar.version, "time")),
        ("Since", format::utc(ms(bar.created_at))),
    ]
}

fn steps(past: &BarHistory) -> Vec<StepRow> {
    let samples = &past.samples;
    let rows = samples.steps.iter().skip(1).enumerate().map(|(at, step)| {
        let taken = samples.traces.iter().filter_map(|trace| Some((trace, trace.steps.get(at)?)));
        let taken: Vec<_> = taken.collect();
        let times: Vec<(f64, String)> = taken
            .iter()
            .map(|(trace, step)| (step.duration(), format::utc(ms(trace.created_at))))
            .collect();
        let mut sorted: Vec<f64> = times.iter().map(|(s, _)| *s).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let mut each: Vec<f64> = taken
            .iter()
            .filter_map(|(_, step)| Some(step.duration() / step.iterations?.max(1) as f64))
            .collect();
        each.sort_unstable_by(f64::total_cmp);
        let told = |share| quantile(&sorted, share).map(seconds).unwrap_or_default();
        StepRow {
            name: step.name.clone(),
            color: at % COLORS,
            iterations: past.model.usual_iterations(at).map(format::count).unwrap_or_default(),
            median: told(0.5),
            range: if sorted.is_empty() {
                String::new()
            } else {
                format!("{} to {}", told(0.1), told(0.9))
            },
            each: quantile(&each, 0.5).map(seconds).unwrap_or_default(),
            dots: Dots::of(&times),
        }
    });
    rows.collect()
}

fn rows(past: &BarHistory, now: u64) -> Vec<PastRow> {
    let bar = &past.samples.bar;
    let took = |trace: &Sample| trace.steps.iter().map(|step| step.duration()).sum::<f64>();
    let newest = || past.samples.traces.iter().rev().take(LISTED_MAX);
    let longest = newest().map(took).fold(0.001, f64::max);
    let rows = newest().map(|trace| {
        let mut x = 0.0;
        let parts = trace.steps.iter().zip(past.samples.steps.iter().skip(1)).enumerate().map(
            |(at, (taken, step))| {
                let width = 100.0 * taken.duration().max(0.0) / longest;
                let title = format!("{}: {}", step.name, seconds(taken.duration()));
                let part = Part { color: at % COLORS, x, width, title };
                x += width;
                part
            },
        );
        PastRow {
            parts: parts.collect(),
            when: format::relative(ms(trace.created_at), now),
            link: trace_link(&bar.user_sub, &bar.name, &trace.uid),
            uid: trace.uid.clone(),
            took: seconds(took(trace)),
        }
    });
    rows.collect()
}
