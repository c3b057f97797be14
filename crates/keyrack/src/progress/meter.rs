//! The bar on stderr.

use std::{borrow::Cow, time::Duration};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use keyrack_http::human;
use keyrack_progress::estimate::{Estimate, Running};

use super::words;
use crate::{Globals, terminal};

/// A bar on stderr; nothing is drawn with `--quiet` or when stderr is no terminal.
#[derive(Debug, Clone)]
pub(super) struct Meter(ProgressBar);

const KNOWN: &str = "{bar:30} {percent:>3} %  {msg}";
const UNKNOWN: &str = "{spinner} {msg}";
/// The bar is full at this position.
const FULL: u64 = 1_000;
/// How often the bar is drawn anew, so that time passes in it.
pub(super) const TICK: Duration = Duration::from_millis(200);
/// Of a step's name no more than this is shown.
const NAME_WIDTH: usize = 40;

impl Meter {
    pub(super) fn new(globals: &Globals) -> Meter {
        let target =
            if globals.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        Meter(ProgressBar::with_draw_target(Some(FULL), target))
    }

    /// Whether anybody sees it.
    pub(super) fn is_drawn(&self) -> bool {
        !self.0.is_hidden()
    }

    /// Shows a run and what is expected of it.
    pub(super) fn show(&self, running: &Running, estimate: Option<&Estimate>) {
        let spent = spent(running);
        let mut message = place(running);
        let template = match estimate {
            Some(estimate) => {
                message += &format!("  {}", words::left(estimate));
                // A run that has not ended is not shown as if it had.
                let share = (spent / (spent + estimate.p50).max(1e-9)).min(0.999);
                self.0.set_position((share * FULL as f64) as u64);
                KNOWN
            }
            None => {
                message += &format!("  {}", words::exact(spent));
                UNKNOWN
            }
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.0.set_style(style);
        }
        self.0.set_message(message);
        self.0.tick();
    }

    /// Shows words in place of a run.
    pub(super) fn say(&self, words: impl Into<Cow<'static, str>>) {
        if let Ok(style) = ProgressStyle::with_template(UNKNOWN) {
            self.0.set_style(style);
        }
        self.0.set_message(words);
        self.0.tick();
    }

    /// Does something to the terminal while the bar is out of the way.
    pub(super) fn aside<T>(&self, deed: impl FnOnce() -> T) -> T {
        self.0.suspend(deed)
    }

    /// Takes the bar away.
    pub(super) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

/// How long a run has gone on.
pub(super) fn spent(running: &Running) -> f64 {
    running.finished.iter().map(|step| step.seconds).sum::<f64>() + running.current.elapsed_s
}

/// Where a run is: `copy 30 of 100`.
pub(super) fn place(running: &Running) -> String {
    let current = &running.current;
    let name = terminal::one_line(&current.name, Some(NAME_WIDTH));
    match current.iterations {
        None => name,
        Some(n) => format!("{name} {} of {}", human::count(current.iteration), human::count(n)),
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
