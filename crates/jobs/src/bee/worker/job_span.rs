//! The span in which an attempt runs, and how a subscriber finds the job of such a span.
//!
//! A span gives a subscriber its fields and no more. So the job is kept in a thread-local while its span is made: a layer reads it
//! in `on_new_span` and stores it with the span, where the events of any task within the span find it.

use std::cell::RefCell;

use tracing::Span;

use super::context::Context;

/// The name of the span of an attempt.
pub const JOB_SPAN: &str = "job";
/// The target of the span, and of events about attempts, for filters.
pub const JOB_SPAN_TARGET: &str = "keyrack_jobs::attempts";

thread_local! {
    static NEW_SPAN_OF: RefCell<Option<Context>> = const { RefCell::new(None) };
}

/// The job whose span this thread makes at the moment.
pub fn job_of_new_span() -> Option<Context> {
    NEW_SPAN_OF.with_borrow(Clone::clone)
}

/// A span for an attempt.
pub(super) fn new(context: &Context) -> Span {
    // Without a subscriber this check is the whole cost.
    if !tracing::span_enabled!(target: JOB_SPAN_TARGET, tracing::Level::INFO) {
        return Span::none();
    }
    NEW_SPAN_OF.set(Some(context.clone()));
    let job = context.job();
    let span = tracing::info_span!(
        target: JOB_SPAN_TARGET, JOB_SPAN, queue = job.queue(), jid = job.jid(), attempt = job.attempts()
    );
    NEW_SPAN_OF.set(None);
    span
}
