//! The bar that shows how far a walk through a database has come.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use keyrack_lint::Progress;

use crate::Globals;

/// A bar on stderr; nothing is drawn with `--quiet` or when stderr is no terminal.
pub(crate) struct Bar(ProgressBar);

const TEMPLATE: &str = "{bar:32} {human_pos} of {human_len} keys, {per_sec}, {eta} left";
const TICK: Duration = Duration::from_millis(200);

impl Bar {
    pub(crate) fn new(globals: &Globals) -> Bar {
        let target =
            if globals.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(TICK);
        Bar(bar)
    }

    pub(crate) fn show(&self, progress: Progress) {
        // Keys that were added since the walk began belong to it too.
        self.0.set_length(progress.keys_total.max(progress.keys));
        self.0.set_position(progress.keys);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
