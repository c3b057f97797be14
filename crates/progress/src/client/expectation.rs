//! What past runs say about a run, read once and only where somebody asks.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use tokio::runtime::Handle;

use super::sink::Sink;
use crate::estimate::{Estimate, Model, Running};

/// What past runs of a bar say.
#[derive(Debug, Default)]
pub(super) struct Expectation {
    model: OnceLock<Model>,
    is_asked: AtomicBool,
}

impl Expectation {
    /// How long a run will go on, if that is known yet. The first to ask has it read.
    pub(super) fn estimate(
        self: &Arc<Self>,
        running: &Running,
        bar: &str,
        sink: &Arc<Sink>,
        tasks: &Handle,
    ) -> Option<Estimate> {
        if let Some(model) = self.model.get() {
            return model.estimate(running);
        }
        if !self.is_asked.swap(true, Ordering::Relaxed) {
            let (own, sink, bar) = (Arc::clone(self), Arc::clone(sink), bar.to_owned());
            tasks.spawn(async move {
                match sink.model(&bar).await {
                    Ok(model) => _ = own.model.set(model),
                    Err(reason) => {
                        tracing::debug!(bar, reason, "past runs could not be read");
                        // Whoever asks next tries again.
                        own.is_asked.store(false, Ordering::Relaxed);
                    }
                }
            });
        }
        None
    }
}
