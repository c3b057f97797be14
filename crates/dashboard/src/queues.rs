//! The page of all queues: what each holds, how old the oldest job is, how fast it goes and who works on it.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, response::Response};
use futures_util::future::try_join_all;
use keyrack_format as format;
use keyrack_jobs::bee::{Minute, QueueCounts, SILENT_MS, Stats, WorkerStats};
use keyrack_services::alerts::QueueState;
use keyrack_web::Problem;
use serde::Deserialize;

use super::{
    Frame, Visit, assets,
    chart::{Spark, completed_by_minute},
    form, link,
    live::{View, live_page, show},
};
use crate::Site;

/// Over how many minutes the pace is measured.
const PACE_MINUTES: u64 = 5;
const MINUTE_MS: u64 = 60_000;
/// Queues on a page.
const PAGE: usize = 50;
/// The states to choose from, in words.
pub(crate) const STATES: [(&str, &str); 4] = [
    (QueueState::NoWorker.word(), "jobs and no worker"),
    (QueueState::Paused.word(), "paused"),
    (QueueState::Failed.word(), "with failed jobs"),
    (QueueState::Queued.word(), "with queued jobs"),
];
/// Workers on a page.
const WORKERS_MAX: usize = 200;

#[derive(Template)]
#[template(path = "queues.html", blocks = ["live"])]
pub(super) struct QueuesPage {
    frame: Frame,
    wanted: QueuesQuery,
    rows: Vec<Row>,
    workers: Vec<Worker>,
    columns: Vec<Column>,
    /// How many queues there are, and which of them are shown.
    told: String,
    before: Option<String>,
    next: Option<String>,
    /// Whether there is any queue.
    is_empty: bool,
    /// Where the list is had as a file.
    exports: [(&'static str, String); 2],
}
live_page!(QueuesPage);

/// The head of a column.
struct Column {
    name: &'static str,
    title: &'static str,
    is_number: bool,
    /// Where the table is sorted by it, if it can be.
    link: Option<String>,
    /// `ascending` or `descending` where it is.
    sorted: Option<&'static str>,
}

/// Which queues are wanted, as it stands in the address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct QueuesQuery {
    /// Text in the name.
    name: String,
    state: String,
    /// A column, behind a `-` when the largest come first.
    sort: String,
    page: String,
}

/// The columns by which queues are sorted, as they stand in the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Name,
    Queued,
    Oldest,
    Running,
    Delayed,
    Failed,
}

impl Order {
    const ALL: [(Order, &str); 6] = [
        (Order::Name, "name"),
        (Order::Queued, "queued"),
        (Order::Oldest, "oldest"),
        (Order::Running, "running"),
        (Order::Delayed, "delayed"),
        (Order::Failed, "failed"),
    ];

    /// A column, and whether the largest come first.
    fn parse(text: &str) -> Result<(Order, bool), Problem> {
        let (word, is_descending) = match text.strip_prefix('-') {
            Some(word) => (word, true),
            None => (text, false),
        };
        if word.is_empty() {
            return Ok((Order::Name, false));
        }
        let found = Order::ALL.into_iter().find(|(_, name)| *name == word);
        let (order, _) = found.ok_or_else(|| {
            let words = Order::ALL.map(|(_, name)| name).join(", ");
            form::wrong("sort", &format!("\"{word}\" is no column to sort by; use one of {words}"))
        })?;
        Ok((order, is_descending))
    }

    fn key(self, counts: &QueueCounts) -> u64 {
        match self {
            // They are by name already.
            Order::Name => 0,
            Order::Queued => counts.queued,
            Order::Oldest => counts.oldest_ms.unwrap_or(0),
            Order::Running => counts.running,
            Order::Delayed => counts.delayed,
            Order::Failed => counts.failed,
        }
    }
}

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

impl View for QueuesQuery {
    type Page = QueuesPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<QueuesPage, Problem> {
        let (order, is_descending) = Order::parse(&self.sort)?;
        let page = form::number::<usize>("page", &self.page)?.unwrap_or(1).max(1);
        let all = site.services.queue_counts().await?;
        let chosen = self.choose(&all)?;
        let skipped = (page - 1).saturating_mul(PAGE);
        let hive = &site.services.jobs().await?.hive;
        let shown = chosen.iter().skip(skipped).take(PAGE);
        let stats = try_join_all(shown.map(|one| hive.stats(&one.queue))).await?;
        let now = hive.now_ms();
        let at = |page: usize| self.link(&self.sort, page);
        Ok(QueuesPage {
            rows: stats.iter().map(|stats| Row::of(stats, now)).collect(),
            workers: workers(&stats, now),
            columns: self.columns(order, is_descending),
            told: told(chosen.len(), all.len(), skipped, stats.len()),
            before: (page > 1).then(|| at(page - 1)),
            next: (skipped + PAGE < chosen.len()).then(|| at(page + 1)),
            is_empty: all.is_empty(),
            exports: self.exports(),
            wanted: self.clone(),
            frame,
        })
    }
}

/// How many queues there are, and which of them are shown.
fn told(chosen: usize, all: usize, skipped: usize, shown: usize) -> String {
    let count = |n: usize| format::count(n as u64);
    let of = if chosen < all { format!(" of {}", count(all)) } else { String::new() };
    let queues = format!("{}{of} {}", count(chosen), if all == 1 { "queue" } else { "queues" });
    match shown {
        shown if shown < chosen => {
            format!("{queues}, {} to {} shown", count(skipped + 1), count(skipped + shown))
        }
        _ => queues,
    }
}

fn workers(stats: &[Stats], now: u64) -> Vec<Worker> {
    let workers = stats
        .iter()
        .flat_map(|stats| stats.workers.iter().map(|one| Worker::of(one, &stats.queue, now)));
    let mut workers: Vec<Worker> = workers.collect();
    workers.sort_by(|a, b| (!a.is_silent, &a.queue).cmp(&(!b.is_silent, &b.queue)));
    workers.truncate(WORKERS_MAX);
    workers
}

impl QueuesQuery {
    /// All that are wanted, on whatever page.
    pub(super) async fn all_chosen(&self, site: &Site) -> Result<Vec<QueueCounts>, Problem> {
        let all = site.services.queue_counts().await?;
        Ok(self.choose(&all)?.into_iter().cloned().collect())
    }

    /// Those that are wanted, in order.
    fn choose<'a>(&self, all: &'a [QueueCounts]) -> Result<Vec<&'a QueueCounts>, Problem> {
        let (order, is_descending) = Order::parse(&self.sort)?;
        let state = self.state()?;
        let name = self.name.trim().to_lowercase();
        let mut chosen: Vec<&QueueCounts> = all
            .iter()
            .filter(|one| state.is_none_or(|state| state.is_of(one)))
            .filter(|one| name.is_empty() || one.queue.as_str().to_lowercase().contains(&name))
            .collect();
        match (order, is_descending) {
            (Order::Name, true) => chosen.reverse(),
            (Order::Name, false) => {}
            (order, true) => chosen.sort_by_key(|one| std::cmp::Reverse(order.key(one))),
            (order, false) => chosen.sort_by_key(|one| order.key(one)),
        }
        Ok(chosen)
    }

    /// Where the list is had as a file.
    fn exports(&self) -> [(&'static str, String); 2] {
        let pairs =
            [("name", self.name.as_str()), ("state", &self.state), ("sort", self.sort.as_str())];
        [("CSV", "/export/queues/csv"), ("NDJSON", "/export/queues/ndjson")]
            .map(|(word, path)| (word, link::with_query(path, &pairs)))
    }

    fn state(&self) -> Result<Option<QueueState>, Problem> {
        if self.state.is_empty() {
            return Ok(None);
        }
        let found = QueueState::ALL.into_iter().find(|state| state.word() == self.state);
        let words = || QueueState::ALL.map(QueueState::word).join(", ");
        found.map(Some).ok_or_else(|| {
            form::wrong("state", &format!("\"{}\" is no state; use one of {}", self.state, words()))
        })
    }

    fn link(&self, sort: &str, page: usize) -> String {
        let page = if page > 1 { page.to_string() } else { String::new() };
        let pairs =
            [("name", self.name.as_str()), ("state", &self.state), ("sort", sort), ("page", &page)];
        link::with_query("/jobs", &pairs)
    }

    fn columns(&self, order: Order, is_descending: bool) -> Vec<Column> {
        let column = |name, title, by: Option<Order>| {
            let is_sorted = by == Some(order);
            let word = by.and_then(|by| Order::ALL.iter().find(|(one, _)| *one == by));
            // Of numbers the largest matter, and a second click turns the order round.
            let starts_descending = by != Some(Order::Name);
            let next = if is_sorted { !is_descending } else { starts_descending };
            let sort = word.map(|(_, word)| format!("{}{word}", if next { "-" } else { "" }));
            Column {
                name,
                title,
                is_number: name != "Queue" && name != "Last hour",
                link: sort.map(|sort| self.link(&sort, 1)),
                sorted: is_sorted.then_some(if is_descending { "descending" } else { "ascending" }),
            }
        };
        vec![
            column("Queue", "", Some(Order::Name)),
            column("Queued", "Jobs that could start now", Some(Order::Queued)),
            column("Oldest", "For how long the first job has been queued", Some(Order::Oldest)),
            column("Running", "", Some(Order::Running)),
            column(
                "Later",
                "Delayed, or waiting for other jobs or their tenant",
                Some(Order::Delayed),
            ),
            column("Failed", "Failed for good, and kept", Some(Order::Failed)),
            column("Per minute", "Jobs that ended in a minute, over the last five", None),
            column("Workers", "Workers heard of in the last minute", None),
            column("Last hour", "Jobs completed in each minute of the last hour", None),
        ]
    }
}

/// `GET /jobs`
pub(crate) async fn queues(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    match visit.query::<QueuesQuery>() {
        Ok(wanted) => show(site, visit, wanted).await,
        Err(problem) => problem.for_reader(&visit.headers),
    }
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
    fn a_column_is_sorted_by_its_largest_first_and_turned_round_by_a_second_click() {
        let query = |sort: &str| QueuesQuery {
            sort: sort.into(),
            name: "a".into(),
            ..QueuesQuery::default()
        };
        let links = |sort: &str| -> Vec<String> {
            let (order, is_descending) = Order::parse(sort).expect("an order");
            let columns = query(sort).columns(order, is_descending);
            columns.into_iter().filter_map(|column| column.link).take(2).collect()
        };
        assert_eq!(links(""), ["/jobs?name=a&sort=-name", "/jobs?name=a&sort=-queued"]);
        assert_eq!(links("-queued"), ["/jobs?name=a&sort=name", "/jobs?name=a&sort=queued"]);
        let refused = Order::parse("-size").expect_err("no column");
        assert!(refused.message().contains("\"size\" is no column"), "{}", refused.message());
    }

    #[test]
    fn it_is_told_which_queues_are_shown() {
        assert_eq!(told(1, 1, 0, 1), "1 queue");
        assert_eq!(told(10_000, 10_000, 50, 50), "10,000 queues, 51 to 100 shown");
        assert_eq!(told(7, 10_000, 0, 7), "7 of 10,000 queues");
    }

    #[test]
    fn pace_is_that_of_the_last_minutes() {
        let minute = |at, completed| Minute { at: at * MINUTE_MS, completed, ..Minute::default() };
        let now = 100 * MINUTE_MS;
        assert_eq!(pace(&[minute(10, 9_999)], now), "0");
        assert_eq!(pace(&[minute(97, 10)], now), "2.0");
        assert_eq!(pace(&[minute(97, 10_000), minute(99, 5_000)], now), "3,000");
    }
}
