//! The page of one job: what it is, why it does not run yet, what happened to it, and what is around it.

use std::{collections::HashMap, sync::Arc};

use askama::Template;
use axum::{
    extract::{Path, State},
    response::Response,
};
use keyrack_format::{self as format, Zone};
use keyrack_jobs::bee::{
    Backoff, HistoryEntry, Hive, Job, Progress, Status,
    keys::Jid,
    logs::{LogLine, LogPage},
};
use keyrack_web::Problem;

use super::{
    Frame, Visit, assets,
    fold::{self, Piece},
    frame::go_and_tell,
    graph::{Graph, Neighbour, Role},
    link,
    live::{View, live_page, show},
};
use crate::Site;

/// The most of a text that is shown at once: a megabyte of data makes a page that nobody can use.
pub(super) const TEXT_BYTES_MAX: usize = 20_000;
/// The most lines of its log that are shown.
const LOG_LINES_SHOWN: usize = 200;
/// The most neighbours that are looked up.
const NEIGHBOURS_MAX: usize = 50;

#[derive(Template)]
#[template(path = "job.html", blocks = ["live"])]
pub(super) struct JobPage {
    frame: Frame,
    jid: String,
    link: String,
    queue: String,
    queue_link: String,
    status: Status,
    /// Why it does not run, when it waits.
    why: Option<String>,
    facts: Vec<(&'static str, String)>,
    tags: Vec<(String, String)>,
    error: Option<String>,
    /// The page of all failures of that cause.
    error_link: Option<String>,
    result: Option<Vec<Piece>>,
    data: Vec<Piece>,
    options: String,
    timeline: Vec<HistoryRow>,
    log: Option<String>,
    graph: Graph,
    can_cancel: bool,
    can_retry: bool,
    can_change: bool,
}
live_page!(JobPage);

/// Something that happened to it.
#[derive(Debug, PartialEq, Eq)]
struct HistoryRow {
    event: String,
    at: String,
    utc: String,
    /// How long after the one before.
    after: String,
    more: String,
    is_bad: bool,
}

/// What the page shows.
struct OneJob(Jid);

impl View for OneJob {
    type Page = JobPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<JobPage, Problem> {
        let hive = &site.services.jobs().await?.hive;
        let job = hive.job(&self.0).await?;
        let (status, now) = (job.status(), hive.now_ms());
        let waits = !status.is_final() && status != Status::Running;
        let why = if waits { Some(hive.why(&self.0).await?.explanation) } else { None };
        let (neighbours, left_out) = neighbours(hive, &self.0, &job).await?;
        let log = hive.log_end(&self.0, LOG_LINES_SHOWN).await?;
        let tag_link = |tag: String| (link::with_query("/find", &[("tag", &tag)]), tag);
        Ok(JobPage {
            jid: job.jid().to_owned(),
            link: link::job(job.jid()),
            queue: job.queue().to_owned(),
            queue_link: link::queue(job.queue()),
            status,
            why,
            facts: facts(&job, now, &frame.zone),
            tags: job.tags().into_iter().map(tag_link).collect(),
            error: job.failed_reason().map(str::to_owned),
            error_link: job.error_group().map(|id| link::error_group(job.queue(), id)),
            result: job.result().map(|result| fold::pieces(&pretty(result))),
            data: fold::pieces(&pretty(job.data())),
            options: pretty(job.options_json()),
            timeline: timeline(&job.history(), &frame.zone),
            log: log_text(&log, &frame.zone),
            graph: Graph::of(&job, &neighbours, left_out),
            can_cancel: !matches!(status, Status::Canceled | Status::Expired),
            can_retry: matches!(status, Status::Failed | Status::Canceled | Status::Expired),
            can_change: waits,
            frame,
        })
    }
}

/// The last lines of a log, if there are any.
fn log_text(log: &LogPage, zone: &Zone) -> Option<String> {
    let n_before = log.lines.first().map_or(log.dropped, |line| line.n.max(log.dropped));
    let before = (n_before > 0).then(|| format!("… {} before", format::counted(n_before, "line")));
    let line = |line: &LogLine| {
        let text = format::visible_lines(&line.text);
        format!("{}  #{}  {:<5}  {text}", zone.time(line.at), line.attempt, line.level.as_str())
    };
    let lines: Vec<String> = before.into_iter().chain(log.lines.iter().map(line)).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// `GET /jobs/{jid}`
pub(crate) async fn job(
    State(site): State<Arc<Site>>,
    Path(jid): Path<String>,
    visit: Visit,
) -> Response {
    match job_id(jid) {
        Ok(jid) => show(site, visit, OneJob(jid)).await,
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

/// `POST /jobs/{jid}/cancel`
pub(crate) async fn cancel(State(site): State<Arc<Site>>, Path(jid): Path<String>) -> Response {
    let to = link::job(&jid);
    let done: Result<_, Problem> = async {
        let jid = job_id(jid)?;
        Ok(site.services.jobs().await?.hive.cancel(&jid).await?.len())
    }
    .await;
    match done {
        Ok(1) => go_and_tell(&to, true, "Canceled."),
        Ok(n) => go_and_tell(&to, true, &format!("Canceled, and {} that it has submitted.", n - 1)),
        Err(problem) => go_and_tell(&to, false, problem.message()),
    }
}

/// `POST /jobs/{jid}/retry`
pub(crate) async fn retry(State(site): State<Arc<Site>>, Path(jid): Path<String>) -> Response {
    let to = link::job(&jid);
    let done: Result<_, Problem> = async {
        let jid = job_id(jid)?;
        Ok(site.services.jobs().await?.hive.retry(&jid).await?)
    }
    .await;
    match done {
        Ok(()) => go_and_tell(&to, true, "It runs again from the start."),
        Err(problem) => go_and_tell(&to, false, problem.message()),
    }
}

pub(super) fn job_id(jid: impl Into<String>) -> Result<Jid, Problem> {
    Ok(Jid::new(jid).map_err(keyrack_jobs::Error::from)?)
}

fn facts(job: &Job, now: u64, zone: &Zone) -> Vec<(&'static str, String)> {
    let options = job.options();
    let submitted =
        format!("{} ({})", format::relative(job.submitted(), now), zone.time(job.submitted()));
    let mut facts = vec![("Submitted", submitted)];
    let mut add = |name, value: Option<&str>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            facts.push((name, value.to_owned()));
        }
    };
    add("Worker", Some(job.worker()));
    add("Tenant", job.tenant());
    add("Preferred host", options.preferred_hostname.as_deref());
    let unique = job.unique().map(|unique| unique.in_words(format::duration_ms));
    add("Stands for", unique.as_deref());
    add("Hash", job.hash());
    facts.push(("Priority", options.priority.to_string()));
    if let Some(Progress { value, message, at, attempt }) = job.progress() {
        let message = message.map(|message| format!(" {message}")).unwrap_or_default();
        let when = format!("attempt {attempt}, {}", format::relative(at, now));
        facts.push(("Progress", format!("{value}{message} ({when})")));
    }
    let (attempts, retries) = (job.attempts(), options.retries);
    facts.push(("Attempts", format!("{attempts}, retried {} of {retries} times", job.retries())));
    if job.deaths() > 0 {
        facts.push(("Workers lost", job.deaths().to_string()));
    }
    facts.extend(options.own_backoff().map(|backoff| ("Waits before retries", waits(&backoff))));
    facts.extend(options.timeout.map(|ms| ("Time limit", format::duration_ms(ms))));
    facts.extend(options.start_by.map(|at| ("Has to start by", zone.time(at))));
    facts.push(("Result kept for", format::duration_ms(options.ttl)));
    facts
}

/// A backoff in words.
fn waits(backoff: &Backoff) -> String {
    let time = |ms: f64| format::duration_ms(ms as u64);
    let longest = backoff.max_ms.map(|ms| format!(", at most {}", time(ms))).unwrap_or_default();
    format!("{}, {} at first{longest}", backoff.kind, time(backoff.delay_ms))
}

/// The jobs around a job, and how many more there are.
async fn neighbours(hive: &Hive, jid: &Jid, job: &Job) -> Result<(Vec<Neighbour>, u64), Problem> {
    let (children, n_children) = hive.children(jid, NEIGHBOURS_MAX).await?;
    let mut left_out = n_children.saturating_sub(children.len() as u64);
    let mut around: Vec<(String, Role)> = Vec::new();
    around.extend(job.parent().map(|parent| (parent.to_owned(), Role::Parent)));
    let lists = [
        (job.options().dependencies, Role::Dependency),
        (children, Role::Child),
        (job.dependants(), Role::Dependant),
    ];
    for (ids, role) in lists {
        left_out += ids.len().saturating_sub(NEIGHBOURS_MAX) as u64;
        around.extend(ids.into_iter().take(NEIGHBOURS_MAX).map(|id| (id, role)));
    }
    let ids: Vec<Jid> = around.iter().filter_map(|(id, _)| Jid::new(id.as_str()).ok()).collect();
    let found = hive.jobs(&ids).await?;
    let statuses: HashMap<&str, &'static str> =
        found.iter().flatten().map(|job| (job.jid(), job.status().as_str())).collect();
    let neighbour = |(jid, role): (String, Role)| Neighbour {
        status: statuses.get(jid.as_str()).copied(),
        jid,
        role,
    };
    Ok((around.into_iter().map(neighbour).collect(), left_out))
}

fn timeline(history: &[HistoryEntry], zone: &Zone) -> Vec<HistoryRow> {
    let mut before: Option<u64> = None;
    let moment = |entry: &HistoryEntry| {
        let at = entry.timestamp.max(0.0) as u64;
        let after = before.replace(at).map(|before| at.saturating_sub(before));
        HistoryRow {
            event: entry.event.clone(),
            at: zone.time(at),
            utc: format::utc(at),
            after: after.map(|ms| format!("+{}", format::duration_ms(ms))).unwrap_or_default(),
            more: more(entry),
            is_bad: ["failed", "canceled", "expired", "lost"].contains(&entry.event.as_str())
                || entry.event.contains("fail"),
        }
    };
    history.iter().map(moment).collect()
}

/// What else is known of an event, as `name: value` pairs.
fn more(entry: &HistoryEntry) -> String {
    let pair = |(name, value): (&String, &serde_json::Value)| match value {
        serde_json::Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    };
    entry.more.iter().map(pair).collect::<Vec<_>>().join(", ")
}

/// JSON with a line for each value, but as it is written: numbers keep all their digits.
pub(super) fn pretty(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if out.len() > TEXT_BYTES_MAX {
            out.push_str("\n… the rest is left out; the API has all of it");
            break;
        }
        if in_text {
            out.push(letter);
            in_text = is_escaped || letter != '"';
            is_escaped = !is_escaped && letter == '\\';
            continue;
        }
        match letter {
            '{' | '[' => {
                out.push(letter);
                if matches!(letters.peek(), Some('}' | ']')) {
                    continue;
                }
                depth += 1;
                new_line(&mut out, depth);
            }
            '}' | ']' => {
                if !out.ends_with(['{', '[']) {
                    depth = depth.saturating_sub(1);
                    new_line(&mut out, depth);
                }
                out.push(letter);
            }
            ',' => {
                out.push(',');
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            letter if letter.is_whitespace() => {}
            letter => {
                in_text = letter == '"';
                out.push(letter);
            }
        }
    }
    out
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    // Deeper than this nobody can read, and a thousand brackets must not make a megabyte of spaces.
    out.extend(std::iter::repeat_n("  ", depth.min(20)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_laid_out_and_keeps_every_digit() {
        let told = pretty(r#"[{"to":"a, [b]: \"c\"","n":1.50e1000},[],{}]"#);
        let expected = "[\n  {\n    \"to\": \"a, [b]: \\\"c\\\"\",\n    \"n\": 1.50e1000\n  },\n  [],\n  {}\n]";
        assert_eq!(told, expected);
    }

    #[test]
    fn long_texts_are_cut_and_say_so() {
        let told = pretty(&format!("[\"{}\"]", "x".repeat(1_000_000)));
        assert!(told.len() < 2 * TEXT_BYTES_MAX && told.ends_with("all of it"));
        assert!(pretty(&"[".repeat(100_000)).len() < 2 * TEXT_BYTES_MAX);
    }

    #[test]
    fn timeline_tells_the_time_between_events() {
        let entry = |event: &str, timestamp| HistoryEntry {
            event: event.into(),
            timestamp,
            hive: String::new(),
            more: serde_json::Map::new(),
        };
        let told = timeline(&[entry("new", 1_000.0), entry("failed", 2_500.0)], &Zone::default());
        assert_eq!((told[0].after.as_str(), told[1].after.as_str()), ("", "+1.5 s"));
        assert_eq!((told[0].is_bad, told[1].is_bad), (false, true));
    }
}
