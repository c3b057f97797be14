//! One queue, in all detail.

use std::io::{self, Write};

use keyrack_format as format;
use keyrack_jobs::bee::{Stats, WorkerStats};

use super::{super::limits, throughput::Throughput};
use crate::{
    table::{Cell, Table},
    terminal::{Color, Paint},
};

pub(super) fn print(out: &mut impl Write, stats: &Stats, now_ms: u64) -> io::Result<()> {
    let paint = Paint::for_stdout();
    let paused = if stats.paused { "  paused" } else { "" };
    writeln!(out, "{}{}", stats.queue, paint.apply(Some(Color::Yellow), paused))?;
    let pace = Throughput::of(stats, now_ms);
    let lines = [
        ("queued", queued(stats)),
        ("delayed", delayed(stats, now_ms)),
        ("waiting", waiting(stats)),
        ("running", format::count(stats.running)),
        ("ended", ended(stats)),
        ("limits", limits::lines(&stats.limits).join(", ")),
        (
            "last 60 s",
            format!("{} in, {} out", format::count(pace.submitted), format::count(pace.ended)),
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
    let queued = format::count(stats.queued);
    match stats.oldest_ms.filter(|_| stats.queued > 0) {
        Some(ms) => format!("{queued}, the oldest for {}", format::duration_ms(ms)),
        None => queued,
    }
}

fn delayed(stats: &Stats, now_ms: u64) -> String {
    let delayed = format::count(stats.delayed);
    match stats.next_due_at {
        Some(due) => {
            format!("{delayed}, the next in {}", format::duration_ms(due.saturating_sub(now_ms)))
        }
        None => delayed,
    }
}

fn waiting(stats: &Stats) -> String {
    let for_jobs = format::count(stats.waiting);
    match stats.tenants {
        0 => format!("{for_jobs} for other jobs"),
        tenants => format!(
            "{for_jobs} for other jobs, {} for their tenant's turn ({})",
            format::count(stats.parked),
            format::counted(tenants, "tenant")
        ),
    }
}

fn ended(stats: &Stats) -> String {
    let mut told = format::count(stats.ended);
    if stats.failed > 0 {
        told += &format!(", {} of them failed", format::count(stats.failed));
    }
    if stats.dropped > 0 {
        let dropped = format::count(stats.dropped);
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
            Cell::number(format::count(worker.running)),
            Cell::number(info.map_or_else(|| "-".into(), |info| format::count(info.concurrency))),
            Cell::number(format!(
                "{} ago",
                format::duration_ms(now_ms.saturating_sub(worker.seen_at))
            )),
            Cell::number(info.map_or_else(
                || "-".into(),
                |info| format::duration_ms(now_ms.saturating_sub(info.started_at)),
            )),
        ]);
    }
    table
}
