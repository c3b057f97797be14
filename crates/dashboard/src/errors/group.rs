//! The page of one group of failures: a sample, when they happened, and what can be done about it.

use std::sync::Arc;

use askama::Template;
use axum::{
    body::Bytes,
    extract::{Path, State},
    response::Response,
};
use keyrack_format::{self as format, Zone};
use keyrack_jobs::bee::{
    BulkDone, Job,
    errors::{ErrorGroup, ErrorHour, ErrorJob, GroupRetry, Mute, MuteRequest},
    keys::{Jid, QueueName},
};
use keyrack_web::{Problem, access::Subject};
use serde::Deserialize;

use super::{
    super::{
        Frame, Visit, assets,
        axes::{Chart, Scale, Unit, time_ticks},
        form,
        frame::go_and_tell,
        link,
        live::{View, live_page, show},
        queue::queue_name,
    },
    ErrorRow, HOUR_MS, HOURS, TITLE, by_hour, first_line, until,
};
use crate::Site;

/// Jobs of a probe.
const PROBE: u64 = 10;
/// The most letters of a message.
const MESSAGE_MAX: usize = 20_000;

#[derive(Template)]
#[template(path = "error_group.html", blocks = ["live"])]
pub(crate) struct ErrorPage {
    frame: Frame,
    row: ErrorRow,
    id: String,
    errors_link: String,
    find_link: String,
    message: String,
    chart: Chart,
    facts: Vec<(&'static str, String)>,
    /// Other queues in which the same was seen.
    queues: Vec<(String, String)>,
    jobs: Vec<JobRow>,
    probe: u64,
}
live_page!(ErrorPage);

/// A job that failed with it, as it is now.
struct JobRow {
    jid: String,
    link: String,
    failed: String,
    failed_at: String,
    /// What became of it; nothing if it is not kept any more.
    status: Option<&'static str>,
    reason: String,
}

/// What the page shows.
struct OneGroup {
    queue: QueueName,
    id: String,
}

impl View for OneGroup {
    type Page = ErrorPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<ErrorPage, Problem> {
        let hive = &site.services.jobs().await?.hive;
        hive.check_queue(&self.queue).await?;
        let group = hive.error_group(&self.queue, &self.id).await?;
        let queues = hive.queues_with_error(&self.id).await?;
        let (now, queue) = (hive.now_ms(), self.queue.as_str());
        let ids: Vec<Jid> =
            group.jobs.iter().filter_map(|job| Jid::new(job.jid.as_str()).ok()).collect();
        let jobs = hive.jobs(&ids).await?;
        let others = queues.into_iter().filter(|name| name != queue);
        let find = [("queue", queue), ("place", "failed"), ("error", self.id.as_str())];
        Ok(ErrorPage {
            row: ErrorRow::of(queue, &group, now, &frame.zone),
            id: group.id.clone(),
            errors_link: link::with_query("/errors", &[("queue", queue)]),
            find_link: link::with_query("/find", &find),
            message: sample(&group, &jobs),
            chart: chart(&group.hours, now, &frame.zone),
            facts: facts(&group),
            queues: others.map(|name| (link::error_group(&name, &group.id), name)).collect(),
            jobs: group.jobs.iter().map(|job| job_row(job, &jobs, now, &frame.zone)).collect(),
            probe: PROBE,
            frame,
        })
    }
}

/// The whole reason of the last job that failed with it, or else the last message.
fn sample(group: &ErrorGroup, jobs: &[Option<Job>]) -> String {
    let is_of_group = |job: &&Job| job.error_group() == Some(group.id.as_str());
    let failed = jobs.iter().flatten().filter(is_of_group).find_map(Job::failed_reason);
    failed.unwrap_or(&group.message).chars().take(MESSAGE_MAX).collect()
}

fn job_row(failed: &ErrorJob, jobs: &[Option<Job>], now: u64, zone: &Zone) -> JobRow {
    let job = jobs.iter().flatten().find(|job| job.jid() == failed.jid);
    let reason = job.and_then(Job::failed_reason).unwrap_or_default();
    JobRow {
        link: link::job(&failed.jid),
        jid: failed.jid.clone(),
        failed: format::relative(failed.at, now),
        failed_at: zone.exact(failed.at),
        status: job.map(|job| job.status().as_str()),
        reason: first_line(reason, TITLE),
    }
}

fn facts(group: &ErrorGroup) -> Vec<(&'static str, String)> {
    let lists =
        [("Versions", &group.versions), ("Hosts", &group.hosts), ("Tenants", &group.tenants)];
    let told = lists.into_iter().filter(|(_, list)| !list.is_empty());
    told.map(|(name, list)| (name, list.join(", "))).collect()
}

/// Failures by the hour.
fn chart(hours: &[ErrorHour], now: u64, zone: &Zone) -> Chart {
    let counts = by_hour(hours, now);
    let first = (now / HOUR_MS + 1).saturating_sub(HOURS) * HOUR_MS;
    let sum: f64 = counts.iter().sum();
    let scale = Scale::linear(0.0, counts.iter().copied().fold(0.0, f64::max), Unit::Count);
    let bars: Vec<(f64, f64)> = counts.iter().map(|n| (0.0, *n)).collect();
    let titles = counts.iter().enumerate().map(|(at, n)| {
        let clock = zone.clock(first + at as u64 * HOUR_MS);
        format!("{clock}: {}", format::counted(*n as u64, "failure"))
    });
    let mut chart = Chart::new("Failures per hour", &scale)
        .with_slots(titles)
        .with_bars("failed", "failed attempts".into(), &scale, &bars)
        .with_places(time_ticks(first, first + HOURS * HOUR_MS, zone));
    chart.label = format!("{} in the last {HOURS} hours", format::counted(sum as u64, "failure"));
    chart
}

/// `GET /queues/{queue}/errors/{group}`
pub(crate) async fn group(
    State(site): State<Arc<Site>>,
    Path((queue, id)): Path<(String, String)>,
    visit: Visit,
) -> Response {
    match queue_name(queue) {
        Ok(queue) => show(site, visit, OneGroup { queue, id }).await,
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

/// `POST /queues/{queue}/errors/{group}/retry`: the first few as a probe.
pub(crate) async fn retry(
    State(site): State<Arc<Site>>,
    Path((name, id)): Path<(String, String)>,
) -> Response {
    let to = link::error_group(&name, &id);
    let done: Result<BulkDone, Problem> = async {
        let queue = queue_name(name.as_str())?;
        let hive = &site.services.jobs().await?.hive;
        hive.check_queue(&queue).await?;
        let request = GroupRetry { max: Some(PROBE), ..GroupRetry::default() };
        let done = hive.retry_errors(&queue, &id, &request).await?;
        site.errors.0.clear();
        Ok(done)
    }
    .await;
    match done {
        Ok(BulkDone { changed: 0, .. }) => {
            go_and_tell(&to, false, "No failed job of this group is kept any more.")
        }
        Ok(done) => {
            let jobs = format::counted(done.changed, "job");
            let told = format!("{jobs} of this group, which failed last, run again as a probe.");
            let mut response = go_and_tell(&to, true, &told);
            let subject = format!("{name} {id}: {} of {}", done.changed, done.matched);
            response.extensions_mut().insert(Subject(subject));
            response
        }
        Err(problem) => go_and_tell(&to, false, problem.message()),
    }
}

/// For how long, as the form has it.
#[derive(Debug, Deserialize)]
struct MuteForm {
    #[serde(default)]
    time: String,
    #[serde(default)]
    version: String,
}

impl MuteForm {
    fn request(&self, now_ms: u64) -> Result<MuteRequest, Problem> {
        let time = match self.time.trim() {
            "" => None,
            text => {
                let time = format::duration::parse_positive(text);
                let time =
                    time.map_err(|reason| form::wrong("time", &format!("\"{text}\": {reason}")))?;
                Some(now_ms.saturating_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)))
            }
        };
        let version = Some(self.version.trim().to_owned()).filter(|version| !version.is_empty());
        Ok(MuteRequest { until: time, version })
    }
}

/// `POST /queues/{queue}/errors/{group}/mute`
pub(crate) async fn mute(
    State(site): State<Arc<Site>>,
    Path((name, id)): Path<(String, String)>,
    visit: Visit,
    body: Bytes,
) -> Response {
    let to = link::error_group(&name, &id);
    let done: Result<Mute, Problem> = async {
        let queue = queue_name(name.as_str())?;
        let hive = &site.services.jobs().await?.hive;
        hive.check_queue(&queue).await?;
        let request = form::read::<MuteForm>(&body)?.request(hive.now_ms())?;
        let mute = hive.mute_error(&queue, &id, &request).await?;
        site.errors.0.clear();
        Ok(mute)
    }
    .await;
    match done {
        Ok(mute) => {
            let told = format!("It raises no alert: {}.", until(&mute, &visit.frame.zone));
            go_and_tell(&to, true, &told)
        }
        Err(problem) => go_and_tell(&to, false, problem.message()),
    }
}

/// `POST /queues/{queue}/errors/{group}/unmute`
pub(crate) async fn unmute(
    State(site): State<Arc<Site>>,
    Path((name, id)): Path<(String, String)>,
) -> Response {
    let to = link::error_group(&name, &id);
    let done: Result<(), Problem> = async {
        let queue = queue_name(name.as_str())?;
        let hive = &site.services.jobs().await?.hive;
        hive.check_queue(&queue).await?;
        hive.unmute_error(&queue, &id).await?;
        site.errors.0.clear();
        Ok(())
    }
    .await;
    match done {
        Ok(()) => go_and_tell(&to, true, "It raises alerts again."),
        Err(problem) => go_and_tell(&to, false, problem.message()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chart_has_a_place_for_each_hour() {
        let hours = [ErrorHour { at: 100 * HOUR_MS, count: 3 }];
        let chart = chart(&hours, 100 * HOUR_MS + 5, &Zone::default());
        assert_eq!(chart.slots.len(), HOURS as usize);
        assert_eq!(chart.slots[23].title, "04:00: 3 failures");
    }

    #[test]
    fn a_mute_needs_a_length_of_time_that_can_be_read() {
        let form = |time: &str, version: &str| {
            MuteForm { time: time.into(), version: version.into() }.request(1_000)
        };
        let request = form("1h", " ").expect("a request");
        assert_eq!((request.until, request.version), (Some(3_601_000), None));
        let refused = form("soon", "").expect_err("no time");
        assert!(refused.message().starts_with("time: \"soon\": write a number and a unit"));
    }
}
