//! `keyrack jobs tail`.

use std::{collections::BTreeSet, io::Write as _, time::Duration};

use keyrack_format as format;
use keyrack_jobs::bee::{Event, EventKind, Hive, Job, StreamItem, keys::QueueName};
use serde::Serialize;
use serde_json::Value as Json;
use tokio::time::interval;

use super::{names, open};
use crate::{
    Exit, Globals,
    terminal::{self, Color, Paint},
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The queues [default: all, also those created later]
    #[arg(value_name = "QUEUE", value_parser = names::queue)]
    queues: Vec<QueueName>,
}

/// How often to look for queues that have begun.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Prints events until nobody wants them any more.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let hive = open(globals).await?;
    let mut known: BTreeSet<QueueName> = match &args.queues[..] {
        [] => hive.queues().await?.into_iter().collect(),
        queues => queues.iter().cloned().collect(),
    };
    let names: Vec<QueueName> = known.iter().cloned().collect();
    let mut events = hive.events(&names).await?;
    globals.say(match known.len() {
        1 => "listening to 1 queue; stop with Ctrl-C".to_owned(),
        n => format!("listening to {n} queues; stop with Ctrl-C"),
    });
    let mut looks = interval(LOOK_EVERY);
    loop {
        let is_open = args.queues.is_empty();
        tokio::select! {
            heard = events.next() => match heard {
                Some(heard) => print(&heard, hive.now_ms(), globals)?,
                None => anyhow::bail!("the store has gone away"),
            },
            _ = looks.tick(), if is_open => {
                let new = new_queues(&hive, &mut known).await;
                if !new.is_empty() {
                    events.join(&hive, &new).await?;
                }
            }
        }
    }
}

/// Queues that have begun since the last look. A store that cannot be reached is asked again.
async fn new_queues(hive: &Hive, known: &mut BTreeSet<QueueName>) -> Vec<QueueName> {
    let all = hive.queues().await.unwrap_or_default();
    all.into_iter().filter(|queue| known.insert(queue.clone())).collect()
}

/// An event as JSON.
#[derive(Serialize)]
struct EventLine<'a> {
    at: u64,
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    queue: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    jid: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<&'a Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<&'a Job>,
}

fn print(heard: &StreamItem, now_ms: u64, globals: &Globals) -> anyhow::Result<()> {
    let mut out = globals.out();
    if globals.json {
        let gap = EventLine {
            at: now_ms,
            kind: "gap",
            queue: "",
            jid: "",
            progress: None,
            message: None,
            job: None,
        };
        let line = match heard {
            StreamItem::Gap => gap,
            StreamItem::Event(event) => EventLine {
                kind: event.kind.as_str(),
                queue: &event.queue,
                jid: &event.jid,
                progress: event.progress.as_ref(),
                message: event.message.as_deref(),
                job: event.job.as_ref(),
                ..gap
            },
        };
        writeln!(out, "{}", serde_json::to_string(&line)?)?;
    } else {
        let paint = Paint::for_stdout();
        let at = paint.apply(Some(Color::Dim), &format::local_clock(now_ms));
        match heard {
            StreamItem::Gap => writeln!(out, "{at}  {}", paint.apply(Some(Color::Yellow), GAP))?,
            StreamItem::Event(event) => writeln!(out, "{at}  {}", words(event, paint))?,
        }
    }
    // Whoever reads this reads it now.
    Ok(out.flush()?)
}

const GAP: &str = "the connection was lost; what happened meanwhile is not told";

/// An event on a line. Anybody can publish one, so nothing in it may move the cursor.
fn words(event: &Event, paint: Paint) -> String {
    let kind = paint.apply(color(event.kind), &format!("{:<9}", event.kind.as_str()));
    let about = format!("{}  {}", event.queue, event.jid);
    let about = format::one_line(about.trim_end(), None);
    let used = "08:13:42  completed  ".len() + about.chars().count() + 2;
    let room = terminal::width().map(|width| width.saturating_sub(used).max(DETAIL_WIDTH_MIN));
    let line = format!("{kind}  {about}  {}", format::one_line(&detail(event), room));
    line.trim_end().to_owned()
}

/// Of the detail at least so much is shown, even if the terminal has to wrap the line.
const DETAIL_WIDTH_MIN: usize = 10;

fn detail(event: &Event) -> String {
    let job = event.job.as_ref();
    let text = match event.kind {
        EventKind::Progress => {
            let value = event.progress.as_ref().map(Json::to_string).unwrap_or_default();
            let message = event.message.as_deref().unwrap_or_default();
            return format!("{value}  {message}").trim_end().to_owned();
        }
        EventKind::Duplicate => {
            return job
                .and_then(Job::duplicate_of)
                .map(|jid| format!("of {jid}"))
                .unwrap_or_default();
        }
        EventKind::Completed => job.and_then(Job::result),
        EventKind::Failed => job.and_then(Job::failed_reason),
        EventKind::New
        | EventKind::Canceled
        | EventKind::Delayed
        | EventKind::Resumed
        | EventKind::Other => None,
    };
    text.unwrap_or_default().to_owned()
}

fn color(kind: EventKind) -> Option<Color> {
    match kind {
        EventKind::Completed => Some(Color::Green),
        EventKind::Failed => Some(Color::Red),
        EventKind::Progress => Some(Color::Blue),
        EventKind::Canceled | EventKind::Duplicate => Some(Color::Yellow),
        EventKind::Delayed | EventKind::Resumed | EventKind::Other => Some(Color::Dim),
        EventKind::New => None,
    }
}
