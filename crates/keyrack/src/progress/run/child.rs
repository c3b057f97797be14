//! The command itself: started, listened to, told of signals.

use std::{
    ffi::OsString,
    io::{self, Read, Write},
    os::unix::process::ExitStatusExt as _,
    process::{Command, ExitStatus, Stdio},
    sync::Arc,
    thread,
};

use rustix::process::{Pid, Signal, getpgrp, kill_process};
use tokio::{
    signal::unix::{self, SignalKind},
    sync::{mpsc, oneshot},
};

use super::{
    course::Shared,
    filter::{FilteredOutput, OutputFilter},
};
use crate::{
    Exit, Failure,
    progress::meter::{Meter, Stream},
};

/// A running command.
pub(super) struct Child {
    pub(super) pid: Pid,
    /// How it ended, once it has.
    pub(super) ended: Ended,
    /// Comes when all it wrote was passed on.
    pub(super) drained: Drained,
}

type Ended = std::pin::Pin<Box<dyn Future<Output = io::Result<CommandEnd>> + Send>>;
/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CommandEnd {
    /// The exit code, as shells tell it.
    pub(super) code: u8,
    /// The signal that ended it.
    pub(super) signal: Option<u64>,
}

type Drained = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

impl Child {
    /// Starts a command. It stays in our process group, so that the keys of the terminal reach it as if we were not there.
    pub(super) fn start(
        argv: &[OsString],
        [bar, uid]: [&str; 2],
        course: &Arc<Shared>,
        meter: &Meter,
    ) -> anyhow::Result<Child> {
        let (program, args) = argv.split_first().expect("clap requires a program");
        let mut child = Command::new(program)
            .args(args)
            .env("KEYRACK_PROGRESS_BAR", bar)
            .env("KEYRACK_PROGRESS_UID", uid)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| not_started(program, &error))?;
        let pid = Pid::from_child(&child);
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (open, mut drained) = mpsc::channel::<()>(1);
        let ways = [
            stdout.map(|pipe| OutputPipe {
                from: Box::new(pipe),
                to: Box::new(io::stdout()),
                stream: Stream::Out,
            }),
            stderr.map(|pipe| OutputPipe {
                from: Box::new(pipe),
                to: Box::new(io::stderr()),
                stream: Stream::Err,
            }),
        ];
        for way in ways.into_iter().flatten() {
            let (course, meter, open) = (Arc::clone(course), meter.clone(), open.clone());
            // A thread, as writing to a terminal or a slow pipe blocks.
            thread::Builder::new().name("keyrack-output".into()).spawn(move || {
                way.pass_all(&course, &meter);
                drop(open);
            })?;
        }
        drop(open);
        let (tell, told) = oneshot::channel();
        thread::Builder::new().name("keyrack-wait".into()).spawn(move || {
            // Nobody asks when the program is ending already.
            let _ = tell.send(child.wait().map(CommandEnd::of));
        })?;
        let ended =
            async move { told.await.unwrap_or_else(|_| Err(io::Error::other("nobody waits"))) };
        let drained = async move { while drained.recv().await.is_some() {} };
        Ok(Child { pid, ended: Box::pin(ended), drained: Box::pin(drained) })
    }
}

fn not_started(program: &OsString, error: &io::Error) -> Failure {
    let program = program.display();
    match error.kind() {
        io::ErrorKind::NotFound => {
            let message = format!("there is no program \"{program}\"");
            Failure::new(Exit::Command(NOT_FOUND), message)
                .hint("name one in PATH or by its path; a line for the shell is: sh -c 'LINE'")
        }
        _ => {
            let message = format!("could not start \"{program}\": {error}");
            Failure::new(Exit::Command(NOT_RUNNABLE), message)
        }
    }
}

/// The exit codes with which shells say that there is no such command, or that it cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_RUNNABLE: u8 = 126;

impl CommandEnd {
    fn of(status: ExitStatus) -> CommandEnd {
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        let code = code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX);
        CommandEnd { code, signal: status.signal().and_then(|signal| u64::try_from(signal).ok()) }
    }
}

/// One output stream of the command.
struct OutputPipe {
    from: Box<dyn Read + Send>,
    to: Box<dyn Write + Send>,
    stream: Stream,
}

impl OutputPipe {
    /// Passes everything on. When nobody wants it any more, the command is to notice, so its pipe is closed.
    fn pass_all(mut self, course: &Shared, meter: &Meter) {
        let mut filter = OutputFilter::new();
        let mut chunk = vec![0; 16 * 1024];
        loop {
            let n = match self.from.read(&mut chunk) {
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => 0,
            };
            let filtered = if n == 0 { filter.end() } else { filter.feed(&chunk[..n]) };
            if self.take(filtered, course, meter).is_err() || n == 0 {
                return;
            }
        }
    }

    fn take(&mut self, filtered: FilteredOutput, course: &Shared, meter: &Meter) -> io::Result<()> {
        let FilteredOutput { pass, lines, words } = filtered;
        if lines > 0 || !words.is_empty() {
            let mut course = course.lock();
            course.count_lines(lines);
            words.into_iter().for_each(|word| course.hear(word));
        }
        if pass.is_empty() {
            return Ok(());
        }
        let OutputPipe { to, stream, .. } = self;
        meter.pass(*stream, &pass, || {
            to.write_all(&pass)?;
            to.flush()
        })
    }
}

/// The signals that are passed on.
pub(super) struct Forward {
    signals: Vec<(Signal, unix::Signal)>,
    is_in_terminal: bool,
}

impl Forward {
    /// Takes signals over from the system, which would end us without the command.
    pub(super) fn listen() -> io::Result<Forward> {
        let kinds = [
            (Signal::INT, SignalKind::interrupt()),
            (Signal::TERM, SignalKind::terminate()),
            (Signal::HUP, SignalKind::hangup()),
            (Signal::QUIT, SignalKind::quit()),
            (Signal::USR1, SignalKind::user_defined1()),
            (Signal::USR2, SignalKind::user_defined2()),
        ];
        let signals = kinds.into_iter().map(|(signal, kind)| Ok((signal, unix::signal(kind)?)));
        let signals: io::Result<Vec<_>> = signals.collect();
        let foreground = rustix::termios::tcgetpgrp(io::stdin());
        let is_in_terminal = foreground.is_ok_and(|group| group == getpgrp());
        Ok(Forward { signals: signals?, is_in_terminal })
    }

    /// The next signal.
    pub(super) async fn next(&mut self) -> Signal {
        std::future::poll_fn(|cx| {
            for (signal, stream) in &mut self.signals {
                if stream.poll_recv(cx).is_ready() {
                    return std::task::Poll::Ready(*signal);
                }
            }
            std::task::Poll::Pending
        })
        .await
    }

    /// Passes a signal on. What the keys of a terminal send, it has sent to the command too.
    pub(super) fn pass(&self, signal: Signal, pid: Pid) {
        if self.is_in_terminal && (signal == Signal::INT || signal == Signal::QUIT) {
            return;
        }
        // A command that has just ended needs none.
        let _ = kill_process(pid, signal);
    }
}
