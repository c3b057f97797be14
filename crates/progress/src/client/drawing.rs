//! The bar of a run that a program draws itself.
//!
//! A thread draws it: the loop that reports may leave its runtime no time.

use std::{
    sync::mpsc::{self, RecvTimeoutError},
    thread::{self, JoinHandle},
    time::Duration,
};

use indicatif::ProgressDrawTarget;

use crate::{
    draw::RunBar,
    estimate::{Estimate, Running},
};

/// How often the bar is drawn anew, so that time passes in it.
const EVERY: Duration = Duration::from_millis(200);

/// A bar that is drawn until this is dropped, and taken away then.
#[derive(Debug)]
pub(super) struct Drawing {
    bar: RunBar,
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drawing {
    pub(super) fn start(
        target: ProgressDrawTarget,
        look: impl Fn() -> (Running, Option<Estimate>) + Send + 'static,
    ) -> Drawing {
        let bar = RunBar::new(target);
        let (stop, stopped) = mpsc::channel();
        if bar.inner().is_hidden() {
            return Drawing { bar, stop: None, thread: None };
        }
        let drawn = bar.clone();
        let work = move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(EVERY) {
                let (running, estimate) = look();
                drawn.show(&running, estimate.as_ref());
            }
        };
        // Without a thread there is no bar, and the work goes on.
        let thread = thread::Builder::new().name("keyrack-bar".into()).spawn(work).ok();
        Drawing { bar, stop: Some(stop), thread }
    }
}

impl Drop for Drawing {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A bar that could not be drawn is no reason to disturb the work.
            let _ = thread.join();
        }
        self.bar.inner().finish_and_clear();
    }
}
