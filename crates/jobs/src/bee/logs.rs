//! What jobs log: lines with a level, a time and the attempt that wrote them.
//!
//! A log is one list per job, whose first entry, the head, counts. It keeps the newest 1,000 lines of at most 256 KiB, because
//! people look for how an attempt ended. Lines that no longer fit, and lines that a worker could not pass on, are counted as
//! dropped. Lines have numbers from 0 on, so that a reader can continue where it was and notices a gap.
//!
//! A log is kept as long as its job. A worker that has lost its job may still add lines; they carry the number of its attempt. The
//! limits are the same for all queues.
//!
//! Workers write many lines of many jobs in one call (`worker/log_writer.rs`). A call whose answer was lost is repeated, so a
//! line may be stored twice.

use std::{str::FromStr, time::Duration};

use keyrack_store::{Script, Subscription};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::{
    hive::Hive,
    keys::{self, Jid},
};
use crate::Error;

static LOG: Script = bee_script!("log.lua");
static LOGS: Script = bee_script!("logs.lua");

/// The most lines that are kept of a job.
pub const LOG_LINES_MAX: usize = 1000;
/// The most bytes that are kept of a job's lines, as JSON.
pub const LOG_BYTES_MAX: usize = 256 * 1024;
/// Longer lines are cut.
pub const LOG_LINE_BYTES_MAX: usize = 4096;

/// How often a follower checks whether the job has ended.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The level of a line.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum LogLevel {
    /// Details of details.
    Trace,
    /// Details.
    Debug,
    /// What happens.
    #[default]
    Info,
    /// What may go wrong.
    Warn,
    /// What went wrong.
    Error,
}

impl LogLevel {
    /// All of them, the least important first.
    pub const ALL: [LogLevel; 5] =
        [LogLevel::Trace, LogLevel::Debug, LogLevel::Info, LogLevel::Warn, LogLevel::Error];

    /// The word that is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            LogLevel::Trace => "trace",
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Warn => "warn",
            LogLevel::Error => "error",
        }
    }
}

impl FromStr for LogLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<LogLevel, String> {
        LogLevel::ALL.into_iter().find(|level| level.as_str() == text).ok_or_else(|| {
            let words = LogLevel::ALL.map(LogLevel::as_str).join("\", \"");
            format!("\"{text}\" is no level; use one of \"{words}\"")
        })
    }
}

/// A line to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLogLine {
    /// When it was written, in unix milliseconds.
    pub at: u64,
    /// Its level.
    pub level: LogLevel,
    /// What it says. The end of a long text is cut off.
    pub text: String,
}

impl NewLogLine {
    pub(super) fn to_json(&self, attempt: u64) -> String {
        let end = self.text.floor_char_boundary(LOG_LINE_BYTES_MAX);
        let text = match end < self.text.len() {
            true => format!("{}…", &self.text[..end]),
            false => self.text.clone(),
        };
        let line = StoredLine { at: self.at, level: self.level, attempt, text };
        serde_json::to_string(&line).expect("plain data is JSON")
    }
}

/// A line as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct StoredLine {
    at: u64,
    level: LogLevel,
    attempt: u64,
    text: String,
}

/// A line of a job's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogLine {
    /// Its number: 0 for the first line of the job, and so on.
    pub n: u64,
    /// When it was written, in unix milliseconds.
    pub at: u64,
    /// Its level.
    pub level: LogLevel,
    /// The attempt that wrote it.
    pub attempt: u64,
    /// What it says.
    pub text: String,
}

/// Some lines of a job's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogPage {
    /// The lines, oldest first.
    pub lines: Vec<LogLine>,
    /// The number of the line after these: the `from` of the next read.
    pub next: u64,
    /// Whether there are more lines already.
    pub more: bool,
    /// How many lines of the job were dropped: older ones beyond the limits, and those that its worker could not pass on.
    pub dropped: u64,
}

/// New lines and progress of one attempt.
#[derive(Debug, Clone)]
pub(super) struct LogEntry {
    pub(super) jid: Jid,
    pub(super) attempt: u64,
    /// How many of its lines were dropped in the worker.
    pub(super) dropped: u64,
    pub(super) progress: Option<String>,
    /// As JSON.
    pub(super) lines: Vec<String>,
}

impl LogEntry {
    pub(super) fn new(jid: Jid, attempt: u64) -> LogEntry {
        LogEntry { jid, attempt, dropped: 0, progress: None, lines: Vec::new() }
    }

    fn values(&self) -> impl Iterator<Item = String> {
        let numbers = [self.jid.to_string(), self.attempt.to_string(), self.dropped.to_string()];
        let progress = self.progress.clone().unwrap_or_default();
        let lines = self.lines.iter().cloned();
        numbers.into_iter().chain([progress, self.lines.len().to_string()]).chain(lines)
    }
}

/// Whether an entry was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogVerdict {
    Ok,
    Gone,
    /// The attempt has not begun.
    Later,
}

impl Hive {
    /// Adds lines of an attempt to the log of a job. The attempt may be over: its worker may be late.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`]; an invalid `attempt` that has not begun; when the store fails.
    pub async fn write_log(
        &self,
        jid: &Jid,
        attempt: u64,
        lines: &[NewLogLine],
    ) -> Result<(), Error> {
        let lines = lines.iter().map(|line| line.to_json(attempt)).collect();
        let entry = LogEntry { lines, ..LogEntry::new(jid.clone(), attempt) };
        let verdicts = self.write_log_entries(&[entry], true).await?;
        match verdicts.first() {
            Some(LogVerdict::Ok) | None => Ok(()),
            Some(LogVerdict::Gone) => Err(Error::NoSuchJob { jid: jid.to_string() }),
            Some(LogVerdict::Later) => {
                let reason = format!("{attempt}; this attempt of the job \"{jid}\" has not begun");
                Err(Error::invalid("attempt", reason))
            }
        }
    }

    /// Adds entries about attempts at jobs of one group. `known_only` refuses attempts that have not begun; without it, one more
    /// attempt is taken, because a reserved job may have begun without the store knowing.
    pub(super) async fn write_log_entries(
        &self,
        entries: &[LogEntry],
        known_only: bool,
    ) -> Result<Vec<LogVerdict>, Error> {
        let Some(first) = entries.first() else { return Ok(Vec::new()) };
        let group = first.jid.group();
        let call = self
            .call(&LOG, &group)
            .key("job", &keys::job(&first.jid, &group))
            .arg("lines_max", LOG_LINES_MAX)
            .arg("bytes_max", LOG_BYTES_MAX)
            .arg("known_only", u8::from(known_only))
            .args("entries", entries.iter().flat_map(LogEntry::values).collect::<Vec<_>>());
        let words: Vec<String> = call.run().await?;
        let verdict = |word: String| match word.as_str() {
            "ok" => LogVerdict::Ok,
            "LATER" => LogVerdict::Later,
            _ => LogVerdict::Gone,
        };
        Ok(words.into_iter().map(verdict).collect())
    }

    /// At most `max` lines of a job's log, from the line number `from` on. A job that has logged nothing, or is gone, has none.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn log(&self, jid: &Jid, from: u64, max: usize) -> Result<LogPage, Error> {
        self.read_log(jid, from.to_string(), max).await
    }

    /// The last lines of a job's log, at most `max`.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn log_end(&self, jid: &Jid, max: usize) -> Result<LogPage, Error> {
        self.read_log(jid, format!("-{}", max.min(LOG_LINES_MAX)), max).await
    }

    async fn read_log(&self, jid: &Jid, from: String, max: usize) -> Result<LogPage, Error> {
        let call = self.call_on_job(&LOGS, jid).arg("from", from).arg("max", max);
        let (first, end, dropped, stored): (u64, u64, u64, Vec<String>) = call.run().await?;
        let next = first + stored.len() as u64;
        let read = |(n, text): (u64, String)| {
            let line: StoredLine = serde_json::from_str(&text).ok()?;
            let StoredLine { at, level, attempt, text } = line;
            Some(LogLine { n, at, level, attempt, text })
        };
        let lines = (first..).zip(stored).filter_map(read).collect();
        Ok(LogPage { lines, next, more: next < end, dropped })
    }

    /// Follows the log of a job, from the line number `from` on, until the job has ended.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn follow_log(&self, jid: &Jid, from: u64) -> Result<LogFollower, Error> {
        let messages = self.store().subscribe(&[keys::log_events(jid, &jid.group())]).await?;
        let (hive, jid) = (self.clone(), jid.clone());
        Ok(LogFollower { hive, jid, messages, from, is_over: false })
    }
}

/// Follows the log of a job.
#[derive(Debug)]
pub struct LogFollower {
    hive: Hive,
    jid: Jid,
    messages: Subscription,
    from: u64,
    is_over: bool,
}

impl LogFollower {
    /// The next lines, as soon as there are some; `None` when the job has ended and all lines were read.
    ///
    /// A message only says that there are new lines. Whether the job has ended is checked every second: listening to its queue
    /// would make the end of every job in it more expensive.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn next(&mut self) -> Result<Option<LogPage>, Error> {
        loop {
            let page = self.hive.log(&self.jid, self.from, LOG_LINES_MAX).await?;
            if page.next > self.from {
                self.from = page.next;
                return Ok(Some(page));
            }
            if self.is_over {
                return Ok(None);
            }
            match timeout(LOOK_EVERY, self.messages.next()).await {
                Ok(Some(_)) => continue,
                // The store itself is gone.
                Ok(None) => return Ok(None),
                Err(_) => {}
            }
            // An attempt's lines are stored before its end: what is read after this is all.
            self.is_over = match self.hive.job(&self.jid).await {
                Ok(job) => job.status().is_final(),
                Err(Error::NoSuchJob { .. }) => true,
                Err(error) => return Err(error),
            };
        }
    }
}
