//! A run as a bar on a terminal: of a command, of a watcher, and of a loop in a program.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, PoisonError},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use keyrack_format as format;

use crate::estimate::{Estimate, Running, Steady};

const KNOWN: &str = "{bar:30} {percent:>3} %  {wide_msg}";
/// For terminals that are too narrow for a bar.
const NARROW: &str = "{percent:>3} %  {wide_msg}";
const NARROW_COLUMNS: u16 = 60;
const UNKNOWN: &str = "{spinner} {wide_msg}";
/// The bar is full at this position.
const FULL: u64 = 1_000;
/// Of a step's name no more than this is shown.
const NAME_WIDTH: usize = 40;

/// A bar of one run. Cheap to clone; nothing is drawn where the target is no terminal.
#[derive(Debug, Clone)]
pub struct RunBar {
    bar: ProgressBar,
    /// Keeps what is shown from jumping.
    steady: Arc<Mutex<Steady>>,
}

impl RunBar {
    /// A bar that is drawn there.
    pub fn new(target: ProgressDrawTarget) -> RunBar {
        let bar = ProgressBar::with_draw_target(Some(FULL), target);
        RunBar { bar, steady: Arc::default() }
    }

    /// What draws it.
    pub fn inner(&self) -> &ProgressBar {
        &self.bar
    }

    /// Shows a run and what is expected of it.
    pub fn show(&self, running: &Running, estimate: Option<&Estimate>) {
        let spent = spent(running);
        let mut message = place(running);
        let mut steady = self.steady.lock().unwrap_or_else(PoisonError::into_inner);
        let estimate = estimate.map(|estimate| steady.next(running, *estimate));
        let template = match &estimate {
            Some(estimate) => {
                message += &format!("  {}", left(estimate));
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
        self.draw(template, message);
    }

    /// Shows words in place of a run.
    pub fn say(&self, words: impl Into<Cow<'static, str>>) {
        self.draw(UNKNOWN, words);
    }

    fn draw(&self, template: &str, message: impl Into<Cow<'static, str>>) {
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
        self.bar.set_message(message);
        self.bar.tick();
    }
}

/// How wide the terminal is.
fn columns() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr());
    size.ok().map(|size| size.ws_col).filter(|n| *n > 0)
}

/// How long a run has gone on.
pub fn spent(running: &Running) -> f64 {
    running.finished.iter().map(|step| step.seconds).sum::<f64>() + running.current.elapsed_s
}

/// Where a run is: `copy 30 of 100`.
pub fn place(running: &Running) -> String {
    let current = &running.current;
    let name = format::one_line(&current.name, Some(NAME_WIDTH));
    match current.iterations {
        None => name,
        Some(n) => format!("{name} {} of {}", format::count(current.iteration), format::count(n)),
    }
}

/// What is left: `2 min 5 s left (1 min 40 s to 3 min 0 s)`.
pub fn left(estimate: &Estimate) -> String {
    let about = format::about;
    let (low, high) = (about(estimate.p10), about(estimate.p90));
    if low == high {
        return format!("{} left", about(estimate.p50));
    }
    format!("{} left ({low} to {high})", about(estimate.p50))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Current;

    #[test]
    fn place_of_a_run_is_its_step_and_iteration() {
        let current = |name: &str, iterations| Current {
            name: name.into(),
            iterations,
            iteration: 1_500,
            reported_s: 0.0,
            elapsed_s: 0.0,
            marks: Default::default(),
        };
        let running = |current| Running { finished: Vec::new(), current };
        assert_eq!(place(&running(current("copy", Some(20_000)))), "copy 1,500 of 20,000");
        assert_eq!(place(&running(current("tidy\u{1b}[2J", None))), "tidy\\u001b[2J");
    }

    #[test]
    fn range_is_told_where_there_is_one() {
        let estimate = |p10, p50, p90| Estimate { p10, p50, p90, sureness: 0.5 };
        assert_eq!(left(&estimate(4.1, 5.5, 9.0)), "6 s left (5 s to 9 s)");
        assert_eq!(left(&estimate(5.1, 5.5, 5.9)), "6 s left");
    }
}
