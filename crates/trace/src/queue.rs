//! Finished spans that wait for the exporter.

use std::{
    collections::VecDeque,
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;

use crate::span::Record;
#[cfg(feature = "otlp")]
use tokio::sync::Notify;

/// The most spans that wait: a few megabytes.
pub(crate) const SPANS_MAX: usize = 8_192;
/// From so many on the exporter is woken.
pub(crate) const SPANS_PER_CALL: usize = 512;

static IS_EXPORTING: AtomicBool = AtomicBool::new(false);
static QUEUE: OnceLock<Queue> = OnceLock::new();

/// Whether this process exports spans.
pub fn is_exporting() -> bool {
    IS_EXPORTING.load(Ordering::Relaxed)
}

/// What became of the spans of this process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpanCounts {
    /// How many a collector has taken.
    pub sent: u64,
    /// How many were dropped: the queue was full, or the collector has refused them.
    pub dropped: u64,
    /// How many wait.
    pub waiting: u64,
}

/// What has become of the spans of this process until now.
pub fn span_counts() -> SpanCounts {
    let Some(queue) = QUEUE.get() else { return SpanCounts::default() };
    SpanCounts {
        sent: queue.sent.load(Ordering::Relaxed),
        dropped: queue.dropped.load(Ordering::Relaxed),
        waiting: queue.spans.lock().len() as u64,
    }
}

/// Whether a span that begins now is worth recording. If the queue is full, the span counts as dropped, and costs nothing more.
pub(crate) fn has_room() -> bool {
    QUEUE.get().is_some_and(Queue::has_room)
}

/// The spans of the process.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    spans: Mutex<VecDeque<Record>>,
    /// Set while as many spans wait as may, so that nobody has to lock them to know.
    has_no_room: AtomicBool,
    pub(crate) sent: AtomicU64,
    pub(crate) dropped: AtomicU64,
    /// A call's worth of spans waits.
    #[cfg(feature = "otlp")]
    pub(crate) is_full: Notify,
}

/// Begins to take spans.
#[cfg(feature = "otlp")]
pub(crate) fn open() -> &'static Queue {
    let queue = QUEUE.get_or_init(Queue::default);
    IS_EXPORTING.store(true, Ordering::Relaxed);
    queue
}

/// Takes a span if anybody wants it, and never waits for a place.
pub(crate) fn push(span: Record) {
    let Some(queue) = QUEUE.get() else { return };
    queue.push(span);
}

impl Queue {
    fn push(&self, span: Record) {
        let mut spans = self.spans.lock();
        if spans.len() >= SPANS_MAX {
            drop(spans);
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        spans.push_back(span);
        if spans.len() == SPANS_MAX {
            self.has_no_room.store(true, Ordering::Relaxed);
        }
        #[cfg(feature = "otlp")]
        if spans.len() == SPANS_PER_CALL {
            self.is_full.notify_one();
        }
    }

    fn has_room(&self) -> bool {
        if self.has_no_room.load(Ordering::Relaxed) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        true
    }

    /// The oldest spans, as many as go into one call.
    #[cfg(feature = "otlp")]
    pub(crate) fn take(&self) -> Vec<Record> {
        let mut spans = self.spans.lock();
        let n_taken = spans.len().min(SPANS_PER_CALL);
        self.has_no_room.store(false, Ordering::Relaxed);
        spans.drain(..n_taken).collect()
    }

    #[cfg(feature = "otlp")]
    pub(crate) fn len(&self) -> usize {
        self.spans.lock().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_drops_new_spans_and_counts_them() {
        let queue = Queue::default();
        for _ in 0..SPANS_MAX + 5 {
            queue.push(Record::example());
        }
        assert_eq!(queue.spans.lock().len(), SPANS_MAX);
        assert_eq!(queue.dropped.load(Ordering::Relaxed), 5);
    }

    #[cfg(feature = "otlp")]
    #[test]
    fn spans_that_begin_while_the_queue_is_full_are_not_recorded() {
        let queue = Queue::default();
        for _ in 1..SPANS_MAX {
            queue.push(Record::example());
        }
        assert!(queue.has_room());
        queue.push(Record::example());
        assert!(!queue.has_room());
        assert_eq!(queue.dropped.load(Ordering::Relaxed), 1);
        assert_eq!(queue.take().len(), SPANS_PER_CALL);
        assert!(queue.has_room());
    }
}
