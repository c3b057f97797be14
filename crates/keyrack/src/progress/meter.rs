//! The bar on stderr.

use std::{
    borrow::Cow,
    io::{self, IsTerminal as _, Write as _},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use indicatif::ProgressDrawTarget;
use keyrack_progress::{
    draw::RunBar,
    estimate::{Estimate, Running},
};

use crate::Globals;

/// A bar on stderr; nothing is drawn with `--quiet` or when stderr is no terminal.
#[derive(Debug, Clone)]
pub(super) struct Meter {
    bar: RunBar,
    /// The streams of a command that have begun a line and not ended it, such as a question. The bar stays away meanwhile.
    open_lines: Arc<Mutex<u8>>,
    is_drawn: bool,
    /// Whether what the command writes to stdout stands on a terminal too.
    is_out_shown: bool,
}

/// A stream of a command.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stream {
    Out = 1,
    Err = 2,
}

/// How often the bar is drawn anew, so that time passes in it.
pub(super) const TICK: Duration = Duration::from_millis(200);
impl Meter {
    pub(super) fn new(globals: &Globals) -> Meter {
        let target =
            if globals.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = RunBar::new(target);
        let is_drawn = !bar.inner().is_hidden();
        let is_out_shown = io::stdout().is_terminal();
        Meter { bar, open_lines: Arc::default(), is_drawn, is_out_shown }
    }

    /// Whether anybody sees it.
    pub(super) fn is_drawn(&self) -> bool {
        self.is_drawn
    }

    fn open_lines(&self) -> MutexGuard<'_, u8> {
        self.open_lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows a run and what is expected of it.
    pub(super) fn show(&self, running: &Running, estimate: Option<&Estimate>) {
        let open_lines = self.open_lines();
        if *open_lines != 0 {
            return;
        }
        self.bar.show(running, estimate);
    }

    /// Shows words in place of a run.
    pub(super) fn say(&self, words: impl Into<Cow<'static, str>>) {
        self.bar.say(words);
    }

    /// Writes what a command printed, while the bar is out of the way. It stays away until the line is ended.
    pub(super) fn pass(
        &self,
        stream: Stream,
        text: &[u8],
        write: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        if matches!(stream, Stream::Out) && !self.is_out_shown {
            // It goes to a file or a pipe, where no bar is in its way.
            return write();
        }
        let mut open_lines = self.open_lines();
        let (before, ends_line) = (*open_lines, text.ends_with(b"\n"));
        *open_lines = if ends_line { before & !(stream as u8) } else { before | stream as u8 };
        match (before, *open_lines) {
            (0, 0) => self.bar.inner().suspend(write),
            (0, _) => {
                self.bar.inner().finish_and_clear();
                write()
            }
            (_, 0) => {
                let written = write();
                self.bar.inner().reset();
                written
            }
            (_, _) => write(),
        }
    }

    /// Takes the bar away. A line that was not ended is ended, so that what follows has its own.
    pub(super) fn clear(&self) {
        self.bar.inner().finish_and_clear();
        let mut open_lines = self.open_lines();
        if self.is_drawn && std::mem::take(&mut *open_lines) != 0 {
            // Nobody is left to see it when stderr is gone.
            let _ = writeln!(io::stderr());
        }
    }
}
