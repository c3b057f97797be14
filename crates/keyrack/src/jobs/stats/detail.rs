//! One queue, in all detail.

use std::{
    io::{self, Write},
    time::Duration,
};

use keyrack_http::human;
use keyrack_jobs::bee::{Stats, WorkerStats};

use super::{super::limits, pace::Pace};
use crate::{
    table::{Cell, Table},
    terminal::{Color, Paint},
    when,
};

pub(super) fn print(out: &mut impl Write, stats: &Stats, now_ms: u64) -> io::Result<()> {
    let paint = Paint::for_stdout();
    let paused = if stats.paused { "  paused" } else { "" };
    writeln!(out, "{}{}", stats.queue, paint.apply(Some(Color::Yellow), paused))?;
    let pace = Pace::of(stats, now_ms);
    let lines = [
        ("queued", queued(stats)),
        ("delayed", delayed(stats, now_ms)),
        ("waiting", waiting(stats)),
        ("running", human::count(stats.running)),
        ("ended", ended(stats)),
        ("limits", limits::lines(&stats.limits).join(", ")),
        (
            "last 60 s",
            format!("{} in, {} out", human::count(pace.submitted), human::count(pace.ended)),
        ),
        ("last hour", format!("{}  completed", paint.apply(Some(Color::Green), &pace.bars(60)))),
    ];
    for (name, value) in lines {
        writeln!(out, "  {}  {value}", paint.apply(Some(Color::Dim), &format!("{name:<9}")))?;
    }
    writeln!(out)?;
    let workers = workers(&stats.workers, now_ms);
    if workers.is_empty() { writeln!(out, "no workers") } else { workers.print(out) }
}

fn queued(stats: &Stats) -> String {
    let queued = human::count(stats.queued);
    match stats.oldest_ms.filter(|_| stats.queued > 0) {
        Some(ms) => format!("{queued}, the first for {}", when::short(Duration::from_millis(ms))),
        None => queued,
    }
}

fn delayed(stats: &Stats, now_ms: u64) -> String {
    let delayed = human::count(stats.delayed);
    match stats.next_due_at {
        Some(due) => format!("{delayed}, the next for {}", when::age(now_ms, due)),
        None => delayed,
    }
}

fn waiting(stats: &Stats) -> String {
    let for_jobs = human::count(stats.waiting);
    match stats.tenants {
        0 => format!("{for_jobs} for other jobs"),
        tenants => format!(
            "{for_jobs} for other jobs, {} for the turn of one of {}",
            human::count(stats.parked),
            human::counted(tenants, "tenant")
        ),
    }
}

fn ended(stats: &Stats) -> String {
    let mut told = human::count(stats.ended);
    if stats.failed > 0 {
        told += &format!(", {} of them failed", human::count(stats.failed));
    }
    if stats.dropped > 0 {
        let dropped = human::count(stats.dropped);
        told += &format!(
            "; {dropped} deleted before their ttl in the last hour, see \"keyrack jobs limits --keep-completed\""
        );
    }
    told
}

fn workers(workers: &[WorkerStats], now_ms: u64) -> Table {
    let mut table = Table::new(&["WORKER", "RUNNING", "OF", "SEEN", "UP"]);
    for worker in workers {
        let info = worker.info.as_ref();
        table.row(vec![
            worker.worker.as_str().into(),
            Cell::number(human::count(worker.running)),
            Cell::number(info.map_or_else(|| "-".into(), |info| human::count(info.concurrency))),
            Cell::number(format!("{} ago", when::age(worker.seen_at, now_ms))),
            Cell::number(
                info.map_or_else(|| "-".into(), |info| when::age(info.started_at, now_ms)),
            ),
        ]);
    }
    table
}
