//! The snapshot on the screen, whatever size that has.

use std::time::Duration;

use keyrack_entitlements::State;
use keyrack_format as format;
use keyrack_jobs::bee::Stats;
use keyrack_services::alerts::{Alert, Severity, alerts, muted_alerts};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style, Stylize as _},
    text::{Line, Span},
    widgets::{Block, Borders, Cell, Paragraph, Row, Table},
};

use super::{runs::TraceRow, snapshot::Snapshot, view::ScreenState};
use crate::jobs::stats::throughput::Throughput;

/// The most alerts and runs that are drawn: queues need room, too.
const ALERTS_MAX: usize = 5;
const RUNS_MAX: usize = 6;
/// How many minutes are drawn as bars.
const MINUTES: usize = 20;
/// How many characters the bar of a run has.
const BAR: usize = 20;

/// A column of the table of queues.
struct Column {
    name: &'static str,
    /// 0 for what is left by the others.
    width: u16,
    right: bool,
    /// How wide the screen has to be for it.
    screen_min: u16,
}

impl Column {
    const fn new(name: &'static str, width: u16, screen_min: u16) -> Column {
        Column { name, width, right: true, screen_min }
    }

    fn fits(&self, screen: u16) -> bool {
        screen >= self.screen_min
    }
}

const COLUMNS: [Column; 11] = [
    Column { right: false, ..Column::new("QUEUE", 0, 0) },
    Column::new("QUEUED", 8, 0),
    Column::new("RUNNING", 7, 60),
    Column::new("DELAYED", 7, 100),
    Column::new("WAITING", 7, 100),
    Column::new("FAILED", 7, 60),
    Column::new("OLDEST", 11, 0),
    Column::new("IN", 6, 80),
    Column::new("OUT", 6, 80),
    Column::new("WORKERS", 7, 60),
    Column { right: false, ..Column::new("COMPLETED", MINUTES as u16, 120) },
];

/// Draws a snapshot.
pub(super) fn draw(frame: &mut Frame<'_>, snapshot: &Snapshot, view: &mut ScreenState) {
    let (alerts, runs) = (alerts(&snapshot.facts), &snapshot.runs);
    let lines = |n: usize, max: usize| Constraint::Length(n.clamp(1, max) as u16 + 1);
    let areas = Layout::vertical([
        Constraint::Length(2),
        lines(alerts.len(), ALERTS_MAX),
        Constraint::Min(3),
        lines(runs.len(), RUNS_MAX),
        Constraint::Length(1),
    ]);
    let [head, attention, queues, progress, foot] = areas.areas(frame.area());
    frame.render_widget(Paragraph::new(header(snapshot)), head);
    draw_alerts(frame, attention, &alerts, muted_alerts(&snapshot.facts).len());
    draw_queues(frame, queues, snapshot, view);
    draw_runs(frame, progress, runs);
    frame.render_widget(Paragraph::new(footer(view)), foot);
}

fn titled(title: String) -> Block<'static> {
    Block::new().borders(Borders::TOP).title(title.bold()).border_style(Style::new().dim())
}

fn header(snapshot: &Snapshot) -> Vec<Line<'static>> {
    let info = &snapshot.info;
    let pace = snapshot.commands_per_s;
    let first = [
        Some(snapshot.store.clone()),
        Some(info.version.clone()),
        Some(format!("up {}", format::duration_s(info.uptime_s))),
        Some(format::counted(info.keys(), "key")),
        Some(format::bytes(info.memory_bytes)),
        info.log_bytes.map(|bytes| format!("log {}", format::bytes(bytes))),
        Some(format::counted(info.clients, "client")),
        pace.map(|n| format!("{}/s", format::counted(n, "command"))),
        Some(format!("answers in {:.1} ms", snapshot.ping.as_secs_f64() * 1_000.0)),
    ];
    let first: Vec<String> = first.into_iter().flatten().collect();
    let (hot, files) = (snapshot.hot, &snapshot.facts.files);
    let oldest =
        hot.oldest.map(|age| format!(", oldest {}", format::duration(age))).unwrap_or_default();
    let billing = match snapshot.facts.breaker {
        None | Some(State::Closed) => "billing asked".green(),
        Some(State::HalfOpen) => "billing tried again".yellow(),
        Some(State::Open) => "billing not asked".red(),
    };
    vec![
        Line::from(vec!["keyrack  ".bold(), Span::raw(first.join(" · "))]),
        Line::from(vec![
            Span::raw(format!("hot queue {}{oldest} · ", format::count(hot.waiting))),
            Span::raw(format!(
                "files {} waiting, {} due · ",
                format::count(files.waiting),
                format::count(files.due)
            )),
            billing,
        ]),
    ]
}

fn draw_alerts(frame: &mut Frame<'_>, area: Rect, alerts: &[Alert], n_muted: usize) {
    let lines: Vec<Line<'_>> = if alerts.is_empty() {
        vec![Line::from("nothing needs attention".dim())]
    } else {
        alerts.iter().take(ALERTS_MAX).map(line).collect()
    };
    let more = match alerts.len().saturating_sub(ALERTS_MAX) {
        0 => String::new(),
        n => format!(", {n} more"),
    };
    let muted = if n_muted > 0 { format!(", {n_muted} muted") } else { String::new() };
    let block = titled(format!("attention{more}{muted} "));
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn line(alert: &Alert) -> Line<'static> {
    let color = match alert.severity {
        Severity::Broken => Color::Red,
        Severity::Warning => Color::Yellow,
        Severity::Note => Color::Blue,
    };
    let subject = format::one_line(&alert.subject, Some(40));
    let text = format::one_line(&alert.text, None);
    let mark = Span::styled("● ", color);
    let mut spans = vec![mark, subject.bold(), Span::raw("  "), Span::raw(text)];
    spans.extend(alert.mute.as_ref().map(|mute| {
        let told = format!("  {} by {}: {}", mute.kind.word(), mute.actor, mute.reason);
        format::one_line(&told, None).dim()
    }));
    Line::from(spans)
}

fn draw_queues(frame: &mut Frame<'_>, area: Rect, snapshot: &Snapshot, view: &mut ScreenState) {
    let sorted = view.sort.apply(&snapshot.facts.queues);
    // The title and the heads of the columns take a line each.
    let room = usize::from(area.height).saturating_sub(2);
    view.skipped = view.skipped.min(sorted.len().saturating_sub(room));
    let rows = sorted.iter().skip(view.skipped).take(room);
    let rows = rows.map(|stats| row(stats, snapshot.facts.now_ms, area.width));
    let shown: Vec<&Column> = COLUMNS.iter().filter(|column| column.fits(area.width)).collect();
    let head = shown.iter().map(|column| {
        let line = Line::from(column.name);
        Cell::from(if column.right { line.right_aligned() } else { line })
    });
    let widths = shown.iter().map(|column| match column.width {
        0 => Constraint::Min(12),
        width => Constraint::Length(width),
    });
    let n = format::counted(sorted.len() as u64, "queue");
    let title = format!("{n} by {} ", view.sort.word());
    let table = Table::new(rows, widths)
        .header(Row::new(head).style(Style::new().add_modifier(Modifier::DIM)))
        .block(titled(title));
    frame.render_widget(table, area);
}

fn row(stats: &Stats, now_ms: u64, width: u16) -> Row<'static> {
    let pace = Throughput::of(stats, now_ms);
    let cell = |text: String, color: Option<Color>| {
        let line = Line::from(text).right_aligned();
        Cell::from(color.map_or(line.clone(), |color| line.fg(color)))
    };
    let number = |n: u64| cell(if n == 0 { "-".into() } else { format::count(n) }, None);
    let oldest = stats.oldest_ms.filter(|_| stats.queued > 0);
    let oldest = oldest.map_or_else(|| "-".into(), format::duration_ms);
    let workers = stats.workers_alive(now_ms);
    let is_stuck = workers == 0 && stats.queued > 0 && !stats.paused;
    let name = format::one_line(&stats.queue, None);
    let name = if stats.paused { format!("{name} (paused)").yellow() } else { Span::raw(name) };
    let cells = [
        Cell::from(name),
        number(stats.queued),
        number(stats.running),
        number(stats.delayed),
        number(stats.waiting + stats.parked),
        cell(format::count(stats.failed), (stats.failed > 0).then_some(Color::Red)),
        cell(oldest, None),
        number(pace.submitted),
        number(pace.ended),
        cell(format::count(workers), is_stuck.then_some(Color::Red)),
        Cell::from(pace.bars(MINUTES).green()),
    ];
    let shown = COLUMNS.iter().zip(cells).filter(|(column, _)| column.fits(width));
    Row::new(shown.map(|(_, cell)| cell))
}

fn draw_runs(frame: &mut Frame<'_>, area: Rect, runs: &[TraceRow]) {
    let lines: Vec<Line<'_>> = if runs.is_empty() {
        vec![Line::from("no progress bar is under way".dim())]
    } else {
        runs.iter().take(RUNS_MAX).map(run).collect()
    };
    let title = format!("{} under way ", format::counted(runs.len() as u64, "progress bar"));
    frame.render_widget(Paragraph::new(lines).block(titled(title)), area);
}

fn run(run: &TraceRow) -> Line<'static> {
    let done = run.share().map_or(0, |share| (share * BAR as f64).round() as usize);
    let bar = format!("{}{}", "█".repeat(done), "░".repeat(BAR - done));
    let time = |s: f64| format::duration(Duration::from_secs_f64(s.clamp(0.0, 1e9)));
    let left = match run.left_s {
        Some([low, mid, high]) => format!("{} left ({} to {})", time(mid), time(low), time(high)),
        None => format!("since {}", time(run.spent_s)),
    };
    let step = match run.iterations {
        Some((done, all)) => format!("{} {done} of {all}", run.step),
        None => run.step.clone(),
    };
    let name = format!("  {} of {}", run.bar, run.user);
    Line::from(vec![
        bar.green(),
        Span::raw(format!("{:<42}", format::one_line(&name, Some(42)))),
        Span::raw(format!("{:<22}", format::one_line(&format!("  {step}"), Some(22)))),
        Span::raw(format!("  {left}")).dim(),
    ])
}

fn footer(view: &ScreenState) -> Line<'static> {
    let frozen = if view.frozen { "frozen still  ".yellow().bold() } else { Span::raw("") };
    Line::from(vec![frozen, "s sort · p hold · ↑ ↓ scroll · q quit".dim()])
}

#[cfg(test)]
mod tests;
