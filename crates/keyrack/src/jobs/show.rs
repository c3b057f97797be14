//! `keyrack jobs show`.

use std::{
    io::{self, Write},
    time::Duration,
};

use keyrack_format as format;
use keyrack_jobs::bee::{HistoryEntry, Job, Options, Progress, Why, keys::Jid};
use serde::Serialize;
use serde_json::Value as Json;

use super::{names, open, rows};
use crate::{
    Exit, Globals,
    terminal::{Color, Paint},
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The id of the job
    #[arg(value_name = "JOB", value_parser = names::jid)]
    jid: Jid,
}

/// A job, and why it is not running yet.
#[derive(Serialize)]
struct JobJson<'a> {
    #[serde(flatten)]
    job: &'a Job,
    why: &'a Why,
}

/// Shows a job.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let hive = open(globals).await?;
    let job = hive.job(&args.jid).await?;
    let why = hive.why(&args.jid).await?;
    if globals.json {
        globals.print_json(&JobJson { job: &job, why: &why })?;
        return Ok(Exit::Ok);
    }
    let mut out = globals.out();
    print(&mut out, &job, &why)?;
    out.flush()?;
    Ok(Exit::Ok)
}

fn print(out: &mut impl Write, job: &Job, why: &Why) -> io::Result<()> {
    let paint = Paint::for_stdout();
    let status = paint.apply(rows::color(job.status()), job.status().as_str());
    writeln!(out, "{}  {status}", job.jid())?;
    for (name, value) in facts(job) {
        let mut lines = value.lines();
        let name = paint.apply(Some(Color::Dim), &format!("{name:<10}"));
        writeln!(out, "  {name}  {}", plain(lines.next().unwrap_or_default()))?;
        for line in lines {
            writeln!(out, "              {}", plain(line))?;
        }
    }
    if !job.status().is_final() {
        writeln!(out, "\n{}", plain(&why.explanation))?;
    }
    print_history(out, &job.history(), paint)
}

/// Without what would move the cursor.
fn plain(line: &str) -> String {
    format::one_line(line, None)
}

/// What there is to say about a job; what it does not have is left out.
fn facts(job: &Job) -> Vec<(&'static str, String)> {
    let options = job.options();
    let list = |items: Vec<String>| Some(items.join(", ")).filter(|text| !text.is_empty());
    let text = |text: Option<&str>| text.map(str::to_owned);
    let facts = [
        ("queue", text(Some(job.queue()))),
        ("data", text(Some(job.data()))),
        ("result", text(job.result())),
        ("failed", rows::failed_reason(job)),
        ("progress", job.progress().as_ref().map(progress_in_words)),
        ("duplicate", job.duplicate_of().map(|jid| format!("of {jid}"))),
        ("tags", list(job.tags())),
        ("tenant", text(job.tenant())),
        ("parent", text(job.parent())),
        ("stands for", job.unique().map(|unique| unique.in_words(typed_ms))),
        ("runs after", list(options.dependencies.clone())),
        ("before", list(job.dependants())),
        ("options", Some(options_in_words(&options))),
        ("retried", Some(job.retries()).filter(|n| *n > 0).map(|n| format::counted(n, "time"))),
        ("lost", Some(job.deaths()).filter(|n| *n > 0).map(|n| format::counted(n, "worker"))),
        ("worker", text(Some(job.worker()).filter(|worker| !worker.is_empty()))),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn progress_in_words(progress: &Progress) -> String {
    let Progress { value, message, at, attempt } = progress;
    let about = match message {
        Some(message) => format!("{value}  {message}"),
        None => value.to_string(),
    };
    format!("{about}  (attempt {attempt}, {})", format::local_s(*at))
}

fn typed_ms(ms: u64) -> String {
    format::duration::typed(Duration::from_millis(ms))
}

fn options_in_words(options: &Options) -> String {
    let time = |ms: f64| typed_ms(ms.max(0.0) as u64);
    let mut words = Vec::new();
    if options.priority != 0.0 {
        words.push(format!("priority {}", options.priority));
    }
    if options.delay > 0.0 {
        words.push(format!("delayed by {}", time(options.delay)));
    }
    if options.dependencies_on_tags {
        words.push("after all jobs with its tags".into());
    }
    if let Some(host) = &options.preferred_hostname {
        words.push(format!("preferably on {host}"));
    }
    words.push(match options.retries {
        0 => "never tried again".into(),
        n => {
            let more = if options.progressive_delay { " and more each time" } else { "" };
            let tries = if n == 1 { "1 retry".into() } else { format!("{n} retries") };
            format!("{tries} after {}{more}", time(options.retry_delay))
        }
    });
    words.push(format!("kept for {}", time(options.ttl as f64)));
    words.join(", ")
}

/// What happened to the job: the first moment by the clock, the others by how much later they were.
fn print_history(out: &mut impl Write, history: &[HistoryEntry], paint: Paint) -> io::Result<()> {
    let Some(first) = history.first() else { return Ok(()) };
    let start = first.timestamp.max(0.0) as u64;
    let width = history.iter().map(|entry| entry.event.chars().count()).max().unwrap_or(0);
    writeln!(out)?;
    for (place, entry) in history.iter().enumerate() {
        let at = match place {
            0 => format::local_ms(start),
            _ => format!(
                "+ {}",
                format::duration_ms((entry.timestamp.max(0.0) as u64).saturating_sub(start))
            ),
        };
        let at = paint.apply(Some(Color::Dim), &format!("{at:>23}"));
        let event = format!("{:<width$}", plain(&entry.event));
        let line = format!("  {at}  {event}  {}", plain(&circumstances(entry)));
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// What else a history entry tells; its hive only when nothing tells more.
fn circumstances(entry: &HistoryEntry) -> String {
    let told = entry.more.iter().map(|(name, value)| match (name.as_str(), value) {
        ("till", Json::Number(ms)) => {
            format!("till {}", format::local_ms(ms.as_f64().unwrap_or(0.0) as u64))
        }
        (name, Json::String(text)) => format!("{name}: {text}"),
        (name, value) => format!("{name}: {value}"),
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() { format!("by {}", host_of(&entry.hive)) } else { told.join(", ") }
}

/// The host and process of a hive; the rest of its id tells people nothing.
fn host_of(hive: &str) -> String {
    let mut parts = hive.split(':');
    match (parts.next(), parts.next()) {
        (Some(host), Some(pid)) => format!("{host}:{pid}"),
        _ => hive.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_told_in_words() {
        assert_eq!(options_in_words(&Options::default()), "5 retries after 30s, kept for 30m");
        let options = Options {
            priority: 2.5,
            delay: 1_500.0,
            dependencies_on_tags: true,
            preferred_hostname: Some("h".into()),
            retries: 1,
            progressive_delay: true,
            ..Options::default()
        };
        let told = "priority 2.5, delayed by 1s500ms, after all jobs with its tags, preferably on h, \
                    1 retry after 30s and more each time, kept for 30m";
        assert_eq!(options_in_words(&options), told);
    }
}
