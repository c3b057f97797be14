//! Pictures as they look, and on screens of every size.

use insta::assert_snapshot;
use keyrack_jobs::bee::{Minute, WorkerStats};
use keyrack_services::alerts::{AlertFacts, FileFacts};
use keyrack_store::{DatabaseInfo, Info};
use ratatui::{Terminal, backend::TestBackend};

use super::{super::snapshot::Hot, *};

const NOW: u64 = 1_700_000_030_000;

fn drawn(snapshot: &Snapshot, view: &mut ScreenState, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a screen");
    terminal.draw(|frame| draw(frame, snapshot, view)).expect("drawn");
    terminal.backend().to_string()
}

fn queue(name: &str, queued: u64) -> Stats {
    let worker = WorkerStats { worker: "w".into(), seen_at: NOW - 1_000, running: 1, info: None };
    Stats {
        queue: name.into(),
        queued,
        running: 3,
        oldest_ms: Some(queued * 1_500),
        workers: vec![worker],
        minutes: vec![Minute {
            at: NOW - 30_000,
            submitted: 90,
            completed: 80,
            ..Minute::default()
        }],
        ..Stats::default()
    }
}

fn snapshot() -> Snapshot {
    let mut queues: Vec<Stats> = vec![queue("mail", 4), queue("video", 1_234)];
    queues.push(Stats {
        paused: true,
        queued: 12,
        ..Stats { queue: "archive".into(), ..Stats::default() }
    });
    queues.push(Stats {
        queue: "legacy".into(),
        queued: 7,
        oldest_ms: Some(900_000),
        failed: 2,
        ..Stats::default()
    });
    let run = |user: &str, left_s| TraceRow {
        user: user.into(),
        bar: "import customers".into(),
        step: "rows".into(),
        iterations: Some((12, 40)),
        spent_s: 6.0,
        left_s,
    };
    Snapshot {
        store: "redis://127.0.0.1:6379".into(),
        info: Info {
            version: "Redis 7.0.15".into(),
            servers: 1,
            uptime_s: 7_300,
            memory_bytes: 3_456_789,
            clients: 12,
            commands: 1_000,
            log_bytes: None,
            databases: vec![DatabaseInfo { db: 0, keys: 12_345, expires: 5 }],
        },
        commands_per_s: Some(1_520),
        ping: Duration::from_micros(420),
        facts: AlertFacts {
            queues,
            files: FileFacts { waiting: 25, due: 4, ..FileFacts::default() },
            breaker: Some(State::Open),
            now_ms: NOW,
            ..AlertFacts::default()
        },
        runs: vec![run("alice", Some([3.0, 6.0, 12.5])), run("bob", None)],
        hot: Hot { waiting: 3, oldest: Some(Duration::from_millis(40)) },
    }
}

#[test]
fn attention_comes_first_then_queues_then_bars() {
    assert_snapshot!(drawn(&snapshot(), &mut ScreenState::default(), 130, 24));
}

#[test]
fn empty_store_says_so() {
    let empty = Snapshot { store: "embedded:memory".into(), ..Snapshot::default() };
    assert_snapshot!(drawn(&empty, &mut ScreenState::default(), 80, 12));
}

#[test]
fn any_size_will_do() {
    let mut view = ScreenState { skipped: 1_000, ..ScreenState::default() };
    for width in [1, 2, 10, 40, 79, 300] {
        for height in 1..40 {
            drawn(&snapshot(), &mut view, width, height);
        }
    }
    drawn(&snapshot(), &mut view, 130, 60);
    assert_eq!(view.skipped, 0, "all queues fit, so none is scrolled away");
}

#[test]
fn names_cannot_move_the_cursor() {
    let mut snapshot = snapshot();
    snapshot.facts.queues[0].queue = "\u{1b}[2J\u{1b}[Hevil".into();
    snapshot.runs[0].bar = "\u{1b}]0;evil\u{7}".into();
    let text = drawn(&snapshot, &mut ScreenState::default(), 130, 30);
    assert!(
        text.contains("\\u001b[2J\\u001b[Hevil")
            && !text.contains('\u{1b}')
            && !text.contains('\u{7}')
    );
}
