//! The page of all queues: what each holds, how old the oldest job is, how fast it goes and who works on it.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, response::Response};
use keyrack_format as format;
use keyrack_jobs::bee::{Minute, SILENT_MS, Stats, WorkerStats};
use keyrack_services::alerts::QUEUES_MAX;
use keyrack_web::Problem;

use super::{
    Frame, Visit, assets,
    chart::{Spark, completed_by_minute},
    link,
    live::{View, live_page, show},
};
use crate::Site;

/// Over how many minutes the pace is measured.
const PACE_MINUTES: u64 = 5;
const MINUTE_MS: u64 = 60_000;

#[derive(Template)]
#[template(path = "queues.html", blocks = ["live"])]
pub(super) struct QueuesPage {
    frame: Frame,
    rows: Vec<Row>,
    workers: Vec<Worker>,
    /// Queues that do not fit on the page.
    left_out: usize,
}
live_page!(QueuesPage);

/// A queue as one line.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) link: String,
    pub(super) paused: bool,
    pub(super) queued: String,
    pub(super) running: String,
    /// Delayed, waiting for other jobs, or for their tenant.
    pub(super) later: String,
    pub(super) failed: String,
    pub(super) has_failed: bool,
    pub(super) oldest: String,
    pub(super) pace: String,
    pub(super) workers: u64,
    pub(super) spark: Spark,
}

/// A worker of a queue.
pub(super) struct Worker {
    pub(super) name: String,
    pub(super) queue: String,
    pub(super) queue_link: String,
    pub(super) running: u64,
    pub(super) concurrency: String,
    pub(super) seen: String,
    pub(super) up: String,
    pub(super) is_silent: bool,
}

/// What the page shows.
pub(super) struct Queues;

impl View for Queues {
    type Page = QueuesPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<QueuesPage, Problem> {
        let (stats, left_out) = site.services.queue_stats().await?;
        let now = site.services.jobs().await?.hive.now_ms();
        let workers = stats.iter().flat_map(|stats| {
            stats.workers.iter().map(|worker| Worker::of(worker, &stats.queue, now))
        });
        let mut workers: Vec<Worker> = workers.collect();
        workers.sort_by(|a, b| (!a.is_silent, &a.queue).cmp(&(!b.is_silent, &b.queue)));
        workers.truncate(QUEUES_MAX);
        let rows = stats.iter().map(|stats| Row::of(stats, now)).collect();
        Ok(QueuesPage { frame, rows, workers, left_out })
    }
}

/// `GET /jobs`
pub(crate) async fn queues(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    show(site, visit, Queues).await
}

impl Row {
    fn of(stats: &Stats, now: u64) -> Row {
        let completed = completed_by_minute(&stats.minutes, now);
        let total: f64 = completed.iter().sum();
        Row {
            name: stats.queue.clone(),
            link: link::queue(&stats.queue),
            paused: stats.paused,
            queued: format::count(stats.queued),
            running: format::count(stats.running),
            later: format::count(stats.delayed + stats.waiting + stats.parked),
            failed: format::count(stats.failed),
            has_failed: stats.failed > 0,
            oldest: stats.oldest_ms.map(format::age).unwrap_or_default(),
            pace: pace(&stats.minutes, now),
            workers: stats.workers_alive(now),
            spark: Spark::of(&completed, true, format!("{total} completed in the last hour")),
        }
    }
}

impl Worker {
    pub(super) fn of(worker: &WorkerStats, queue: &str, now: u64) -> Worker {
        let info = worker.info.as_ref();
        let silent_ms = now.saturating_sub(worker.seen_at);
        Worker {
            name: worker.worker.clone(),
            queue: queue.to_owned(),
            queue_link: link::queue(queue),
            running: worker.running,
            concurrency: info.map(|info| info.concurrency.to_string()).unwrap_or_default(),
            seen: format::age(silent_ms),
            up: info
                .map(|info| format::age(now.saturating_sub(info.started_at)))
                .unwrap_or_default(),
            is_silent: silent_ms > SILENT_MS,
        }
    }
}

/// Jobs that ended in a minute, over the last few.
fn pace(minutes: &[Minute], now: u64) -> String {
    let from = now.saturating_sub(PACE_MINUTES * MINUTE_MS) / MINUTE_MS * MINUTE_MS;
    let recent = minutes.iter().filter(|minute| minute.at >= from);
    let ended: u64 = recent.map(|minute| minute.completed + minute.failed).sum();
    // The minute under way counts for the part of it that has passed.
    let passed = (now - from) as f64 / MINUTE_MS as f64;
    let per_minute = ended as f64 / passed.max(1.0);
    match ended {
        0 => "0".into(),
        _ if per_minute < 10.0 => format!("{per_minute:.1}"),
        _ => format::count(per_minute.round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pace_is_that_of_the_last_minutes() {
        let minute = |at, completed| Minute { at: at * MINUTE_MS, completed, ..Minute::default() };
        let now = 100 * MINUTE_MS;
        assert_eq!(pace(&[minute(10, 9_999)], now), "0");
        assert_eq!(pace(&[minute(97, 10)], now), "2.0");
        assert_eq!(pace(&[minute(97, 10_000), minute(99, 5_000)], now), "3,000");
    }
}
