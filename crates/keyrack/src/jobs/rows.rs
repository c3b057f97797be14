//! Jobs in a table.

use keyrack_format as format;
use keyrack_jobs::bee::{Job, Status};

use crate::{
    table::{Cell, Table},
    terminal::Color,
};

/// A table of jobs, which shows the queue of each if they may differ.
pub(super) fn table(jobs: &[Job], now_ms: u64, shows_queue: bool) -> Table {
    let titles: &[&str] = match shows_queue {
        true => &["JOB", "QUEUE", "STATUS", "AGE", "RETRIES", "DATA"],
        false => &["JOB", "STATUS", "AGE", "RETRIES", "DATA"],
    };
    let mut table = Table::new(titles);
    for job in jobs {
        let mut cells: Vec<Cell> = vec![job.jid().into()];
        if shows_queue {
            cells.push(job.queue().into());
        }
        cells.push(status(job.status()));
        cells.push(Cell::number(format::duration_ms(now_ms.saturating_sub(job.submitted()))));
        cells.push(Cell::number(format!("{}/{}", job.retries(), job.options().retries)));
        cells.push(summary(job).into());
        table.row(cells);
    }
    table
}

/// A status in its colour.
pub(super) fn status(status: Status) -> Cell {
    Cell::painted(status.as_str(), color(status))
}

/// The colour of a status.
pub(super) fn color(status: Status) -> Option<Color> {
    match status {
        Status::Completed => Some(Color::Green),
        Status::Failed => Some(Color::Red),
        Status::Running => Some(Color::Blue),
        Status::Retried => Some(Color::Yellow),
        Status::Canceled | Status::Duplicate | Status::Expired => Some(Color::Dim),
        Status::New | Status::Queued => None,
    }
}

/// The arguments of a job, and why it failed.
fn summary(job: &Job) -> String {
    match failed_reason(job).filter(|_| job.status() == Status::Failed) {
        Some(reason) => format!("{} – {}", job.data(), reason.lines().next().unwrap_or_default()),
        None => job.data().to_owned(),
    }
}

/// Why a job failed; of one that was tried too often, also what went wrong the last time.
pub(super) fn failed_reason(job: &Job) -> Option<String> {
    let reason = job.failed_reason()?;
    let history = job.history();
    let last = history.iter().rev().find(|entry| entry.event == "exception");
    let message = last.and_then(|entry| entry.more.get("message")?.as_str());
    Some(match message.filter(|message| *message != reason) {
        Some(message) => format!("{reason}: {message}"),
        None => reason.to_owned(),
    })
}
