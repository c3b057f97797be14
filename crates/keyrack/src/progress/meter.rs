//! The bar on stderr.

use std::{
    borrow::Cow,
    io::{self, IsTerminal as _, Write as _},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use indicatif::ProgressBar;
use keyrack_format as format;
use keyrack_progress::estimate::{Estimate, Running};

use super::estimate_text;
use crate::{Globals, input};

/// A bar on stderr; nothing is drawn with `--quiet` or when stderr is no terminal.
#[derive(Debug, Clone)]
pub(super) struct Meter {
    bar: ProgressBar,
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

const KNOWN: &str = "{bar:30} {percent:>3} %  {wide_msg}";
/// For terminals that are too narrow for a bar.
const NARROW: &str = "{percent:>3} %  {wide_msg}";
const NARROW_COLUMNS: u16 = 60;
const UNKNOWN: &str = "{spinner} {wide_msg}";
/// The bar is full at this position.
const FULL: u64 = 1_000;
/// How often the bar is drawn anew, so that time passes in it.
pub(super) const TICK: Duration = Duration::from_millis(200);
/// Of a step's name no more than this is shown.
const NAME_WIDTH: usize = 40;

impl Meter {
    pub(super) fn new(globals: &Globals) -> Meter {
        let bar = input::bar(globals, Some(FULL));
        let is_drawn = !bar.is_hidden();
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
        let spent = spent(running);
        let mut message = place(running);
        let template = match estimate {
            Some(estimate) => {
                message += &format!("  {}", estimate_text::left(estimate));
                // A run that has not ended is not shown as if it had.
                let share = (spent / (spent + estimate.p50).max(1e-9)).min(0.999);
                self.bar.set_position((share * FULL as f64) as u64);
                if columns().is_some_and(|columns| columns < NARROW_COLUMNS) {
                    NARROW
                } else {
                    KNOWN
                }
            }
            None => {
                message += &format!("  {}", format::duration_seconds(spent));
                UNKNOWN
            }
        };
        input::set_style(&self.bar, template);
        self.bar.set_message(message);
        self.bar.tick();
    }

    /// Shows words in place of a run.
    pub(super) fn say(&self, words: impl Into<Cow<'static, str>>) {
        input::set_style(&self.bar, UNKNOWN);
        self.bar.set_message(words);
        self.bar.tick();
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
            (0, 0) => self.bar.suspend(write),
            (0, _) => {
                self.bar.finish_and_clear();
                write()
            }
            (_, 0) => {
                let written = write();
                self.bar.reset();
                written
            }
            (_, _) => write(),
        }
    }

    /// Takes the bar away. A line that was not ended is ended, so that what follows has its own.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
        let mut open_lines = self.open_lines();
        if self.is_drawn && std::mem::take(&mut *open_lines) != 0 {
            // Nobody is left to see it when stderr is gone.
            let _ = writeln!(io::stderr());
        }
    }
}

/// How wide the terminal is.
fn columns() -> Option<u16> {
    rustix::termios::tcgetwinsize(io::stderr()).ok().map(|size| size.ws_col).filter(|n| *n > 0)
}

/// How long a run has gone on.
pub(super) fn spent(running: &Running) -> f64 {
    running.finished.iter().map(|step| step.seconds).sum::<f64>() + running.current.elapsed_s
}

/// Where a run is: `copy 30 of 100`.
pub(super) fn place(running: &Running) -> String {
    let current = &running.current;
    let name = format::one_line(&current.name, Some(NAME_WIDTH));
    match current.iterations {
        None => name,
        Some(n) => format!("{name} {} of {}", format::count(current.iteration), format::count(n)),
    }
}

#[cfg(test)]
mod tests {
    use keyrack_progress::estimate::Current;

    use super::*;

    #[test]
    fn place_of_a_run_is_its_step_and_iteration() {
        let current = |name: &str, iterations| Current {
            name: name.into(),
            iterations,
            iteration: 1_500,
            reported_s: 0.0,
            elapsed_s: 0.0,
        };
        let running = |current| Running { finished: Vec::new(), current };
        assert_eq!(place(&running(current("copy", Some(20_000)))), "copy 1,500 of 20,000");
        assert_eq!(place(&running(current("tidy\u{1b}[2J", None))), "tidy\\u001b[2J");
    }
}
