//! Why jobs failed: the groups of failures of one queue or of all. `group` is the page of one, with what can be done about it.

mod group;

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, response::Response};
use keyrack_format::{self as format, Zone};
use keyrack_jobs::bee::{
    Hive,
    errors::{ErrorGroup, ErrorHour, ErrorQuery, Errors, Mute},
};
use keyrack_services::Cache;
use keyrack_web::Problem;
use serde::Deserialize;

pub(crate) use self::group::{group, mute, retry, unmute};
use super::{
    Frame, Visit, assets,
    chart::Spark,
    form, link,
    live::{View, live_page, show},
    queue::queue_name,
};
use crate::Site;

/// Groups on a page.
const PAGE: usize = 100;
/// Queues whose groups are read, those first that failed last.
const QUEUES_MAX: usize = 200;
/// How long all who look share what was read.
const SHARED_FOR: std::time::Duration = std::time::Duration::from_secs(1);
const HOUR_MS: u64 = 3_600_000;
/// Hours of the trend.
const HOURS: u64 = 24;

/// Which groups are wanted, as it stands in the address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub(super) struct ErrorsQuery {
    queue: String,
    text: String,
    /// `hide` leaves muted groups out.
    muted: String,
    sort: String,
    page: String,
}

/// In which order groups are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Last,
    First,
    Count,
    Failed,
}

impl Order {
    const ALL: [(Order, &str, &str); 4] = [
        (Order::Last, "", "last seen"),
        (Order::First, "first", "newest"),
        (Order::Failed, "failed", "jobs failed"),
        (Order::Count, "count", "failures"),
    ];

    fn parse(word: &str) -> Result<Order, Problem> {
        let known = Order::ALL.iter().find(|(_, name, _)| *name == word);
        let reason = || format!("\"{word}\" is no order; use one of first, failed, count, or none");
        known.map(|(order, ..)| *order).ok_or_else(|| form::wrong("sort", &reason()))
    }

    fn key(self, group: &ErrorGroup) -> u64 {
        match self {
            Order::Last => group.last_at,
            Order::First => group.first_at,
            Order::Count => group.count,
            Order::Failed => group.failed,
        }
    }
}

/// The groups of the queues that failed last, and how many queues were left out.
type ErrorList = Arc<(Vec<Errors>, usize)>;

/// The groups of all queues, read a moment ago.
#[derive(Debug)]
pub(crate) struct ErrorLists(Cache<(String, String, bool), ErrorList>);

impl Default for ErrorLists {
    fn default() -> ErrorLists {
        ErrorLists(Cache::new(SHARED_FOR))
    }
}

#[derive(Template)]
#[template(path = "errors.html", blocks = ["live"])]
pub(super) struct ErrorsPage {
    frame: Frame,
    wanted: ErrorsQuery,
    rows: Vec<ErrorRow>,
    /// The orders, each with its address and whether it is the present one.
    orders: Vec<(&'static str, String, bool)>,
    /// How many groups there are in all, and how many failures they count.
    told: String,
    /// What is not on any page.
    left_out: String,
    /// Where the list is had as a file.
    exports: [(&'static str, String); 2],
    before: Option<String>,
    next: Option<String>,
    is_all_queues: bool,
}
live_page!(ErrorsPage);

/// A group of failures as one line.
#[derive(Debug)]
pub(super) struct ErrorRow {
    pub(super) title: String,
    pub(super) link: String,
    pub(super) queue: String,
    pub(super) queue_link: String,
    /// The last message, if it says more than the title.
    pub(super) sample: String,
    pub(super) count: String,
    pub(super) failed: String,
    pub(super) has_failed: bool,
    pub(super) trend: Spark,
    pub(super) first: String,
    pub(super) first_at: String,
    pub(super) last: String,
    pub(super) last_at: String,
    pub(super) versions: String,
    pub(super) muted: Option<String>,
    pub(super) retry_link: String,
}

/// Letters of a title and of a sample in a table.
const TITLE: usize = 160;

impl ErrorRow {
    pub(super) fn of(queue: &str, group: &ErrorGroup, now: u64, zone: &Zone) -> ErrorRow {
        let title = title(group);
        let sample = first_line(&group.message, TITLE);
        let hours = by_hour(&group.hours, now);
        let sum: f64 = hours.iter().sum();
        ErrorRow {
            link: link::error_group(queue, &group.id),
            queue: queue.to_owned(),
            queue_link: link::queue(queue),
            sample: if sample == title { String::new() } else { sample },
            title: first_line(&title, TITLE),
            count: format::count(group.count),
            failed: format::count(group.failed),
            has_failed: group.failed > 0,
            trend: Spark::of(
                &hours,
                true,
                format!("{} in the last {HOURS} hours", format::counted(sum as u64, "failure")),
            ),
            first: format::relative(group.first_at, now),
            first_at: zone.exact(group.first_at),
            last: format::relative(group.last_at, now),
            last_at: zone.exact(group.last_at),
            versions: group.versions.join(", "),
            muted: group.mute.as_ref().map(|mute| until(mute, zone)),
            retry_link: retry_link(queue, &group.id),
        }
    }
}

/// The type of an error and its message, as far as there are such.
fn title(group: &ErrorGroup) -> String {
    match (group.kind.as_str(), group.text.as_str()) {
        ("", "") => "no message".into(),
        ("", text) => text.to_owned(),
        (kind, "") => kind.to_owned(),
        (kind, text) => format!("{kind}: {text}"),
    }
}

/// The first line of a text with something on it, cut where it would not fit.
pub(super) fn first_line(text: &str, max: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut short: String = line.chars().take(max).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

fn until(mute: &Mute, zone: &Zone) -> String {
    let version = mute.version.as_ref().map(|version| format!(" or version {version}"));
    format!("muted until {}{}", zone.time(mute.until), version.unwrap_or_default())
}

/// Where all failed jobs of a group can run again.
fn retry_link(queue: &str, id: &str) -> String {
    let pairs = [("what", "retry"), ("queue", queue), ("place", "failed"), ("error", id)];
    link::with_query("/bulk", &pairs)
}

/// Failures in each of the last hours, oldest first.
fn by_hour(hours: &[ErrorHour], now: u64) -> Vec<f64> {
    let first = (now / HOUR_MS + 1).saturating_sub(HOURS);
    let mut counts = vec![0.0; HOURS as usize];
    for hour in hours {
        let place = (hour.at / HOUR_MS).checked_sub(first).map(|place| place as usize);
        if let Some(count) = place.and_then(|place| counts.get_mut(place)) {
            *count += hour.count as f64;
        }
    }
    counts
}

impl View for ErrorsQuery {
    type Page = ErrorsPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<ErrorsPage, Problem> {
        let order = Order::parse(&self.sort)?;
        let page = form::number::<usize>("page", &self.page)?.unwrap_or(1).max(1);
        let (list, places) = self.all_groups(site).await?;
        let (errors, queues_left_out) = &*list;
        let now = site.services.jobs().await?.hive.now_ms();
        let group = |(at, group): (usize, usize)| (&*errors[at].queue, &errors[at].groups[group]);
        let groups: Vec<(&str, &ErrorGroup)> = places.into_iter().map(group).collect();
        let failed: u64 = groups.iter().map(|(_, group)| group.failed).sum();
        let skipped = (page - 1).saturating_mul(PAGE);
        let shown = groups.iter().skip(skipped).take(PAGE);
        let rows = shown.map(|(queue, group)| ErrorRow::of(queue, group, now, &frame.zone));
        let at = |page: usize| self.link(&self.sort, page);
        Ok(ErrorsPage {
            rows: rows.collect(),
            orders: Order::ALL
                .map(|(one, word, name)| (name, self.link(word, 1), one == order))
                .into(),
            told: format!(
                "{} with {} failed for good",
                format::counted(groups.len() as u64, "group"),
                format::counted(failed, "job")
            ),
            left_out: left_out(errors, *queues_left_out),
            exports: self.exports(),
            before: (page > 1).then(|| at(page - 1)),
            next: (skipped + PAGE < groups.len()).then(|| at(page + 1)),
            is_all_queues: self.queue.is_empty(),
            wanted: self.clone(),
            frame,
        })
    }
}

impl ErrorsQuery {
    /// All groups on whatever page: what was read, and the places of a queue and of a group in it, in order.
    pub(super) async fn all_groups(
        &self,
        site: &Site,
    ) -> Result<(ErrorList, Vec<(usize, usize)>), Problem> {
        let order = Order::parse(&self.sort)?;
        let list = self.read(site, &site.services.jobs().await?.hive).await?;
        let errors = list.0.iter().enumerate();
        let places =
            errors.flat_map(|(at, one)| (0..one.groups.len()).map(move |group| (at, group)));
        let mut places: Vec<(usize, usize)> = places.collect();
        places.sort_by_key(|(at, group)| {
            let errors = &list.0[*at];
            (std::cmp::Reverse(order.key(&errors.groups[*group])), errors.queue.as_str())
        });
        Ok((list, places))
    }

    /// Where the list is had as a file.
    fn exports(&self) -> [(&'static str, String); 2] {
        let pairs = [
            ("queue", self.queue.as_str()),
            ("text", &self.text),
            ("muted", &self.muted),
            ("sort", &self.sort),
        ];
        [("CSV", "/export/errors/csv"), ("NDJSON", "/export/errors/ndjson")]
            .map(|(word, path)| (word, link::with_query(path, &pairs)))
    }

    async fn read(&self, site: &Site, hive: &Hive) -> Result<ErrorList, Problem> {
        let text = Some(self.text.trim().to_owned()).filter(|text| !text.is_empty());
        let query = ErrorQuery { text, without_muted: self.muted == "hide" };
        let queue = match self.queue.as_str() {
            "" => None,
            name => Some(queue_name(name)?),
        };
        let key = (self.queue.clone(), self.text.clone(), query.without_muted);
        let read = async {
            Ok(Arc::new(match &queue {
                Some(queue) => {
                    hive.check_queue(queue).await?;
                    (vec![hive.errors(queue, &query).await?], 0)
                }
                None => hive.errors_of_all(&query, QUEUES_MAX).await?,
            }))
        };
        site.errors.0.get(key, read).await
    }

    fn link(&self, sort: &str, page: usize) -> String {
        let page = if page > 1 { page.to_string() } else { String::new() };
        let pairs = [
            ("queue", self.queue.as_str()),
            ("text", &self.text),
            ("muted", &self.muted),
            ("sort", sort),
            ("page", &page),
        ];
        link::with_query("/errors", &pairs)
    }
}

/// What is on no page, in words.
fn left_out(errors: &[Errors], queues: usize) -> String {
    let folded: u64 = errors.iter().filter_map(|one| Some(one.other.as_ref()?.count)).sum();
    let mut told = Vec::new();
    if folded > 0 {
        let failures = format::counted(folded, "failure");
        told.push(format!("{failures} more in groups that had to make room for others."));
    }
    if queues > 0 {
        let queues = format::counted(queues as u64, "more queue");
        told.push(format!("{queues} with older failures: name the queue to see them."));
    }
    told.join(" ")
}

/// `GET /errors`
pub(crate) async fn errors(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    match visit.query::<ErrorsQuery>() {
        Ok(wanted) => show(site, visit, wanted).await,
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trend_has_each_of_the_last_hours_once() {
        let now = 100 * HOUR_MS + 5;
        let hour = |at: u64, count| ErrorHour { at: at * HOUR_MS, count };
        let counts = by_hour(&[hour(5, 7), hour(77, 1), hour(100, 3)], now);
        assert_eq!((counts.len(), counts[0], counts[23]), (24, 1.0, 3.0));
        assert_eq!(counts.iter().sum::<f64>(), 4.0, "what is older is left out");
    }

    #[test]
    fn a_title_is_one_short_line() {
        assert_eq!(first_line("\n  SMTP 550\n at x", 20), "SMTP 550");
        assert_eq!(first_line("äöüäöü", 3), "äöü…");
        let group = ErrorGroup { kind: "ValueError".into(), ..ErrorGroup::default() };
        assert_eq!(title(&group), "ValueError");
        assert_eq!(title(&ErrorGroup::default()), "no message");
    }
}
