//! The spans of a job, by the conventions of OpenTelemetry for messages.
//!
//! A job stores the span that submitted it, and nothing else: the ids of the spans of its attempts follow from that, its id and the
//! number of the attempt. So a retry refers to the first attempt, whichever process made that, and a handler in another task knows
//! its span.

use keyrack_trace::{Kind, Span, TraceContext, TraceParent, now_ns};

use super::{
    job::Job,
    settle::{End, Outcome},
    times::AttemptTimes,
};

/// Says what a span is about: the operation, its kind among the conventions' few, and the queue.
pub(super) fn describe(
    span: &mut Span,
    operation: &'static str,
    kind: Option<&'static str>,
    queue: &str,
) {
    if !span.is_recorded() {
        return;
    }
    span.rename(format!("{operation} {queue}"));
    span.set("messaging.system", "keyrack");
    span.set("messaging.operation.name", operation);
    if let Some(kind) = kind {
        span.set("messaging.operation.type", kind);
    }
    span.set("messaging.destination.name", queue.to_owned());
}

/// The span of an attempt, and the context in which its handler runs.
#[derive(Debug)]
pub(super) struct AttemptTrace {
    span: Option<Span>,
    context: TraceContext,
}

/// The context in which an attempt at a job runs, if it belongs to a trace.
pub(super) fn context_of(job: &Job) -> Option<TraceContext> {
    let submitted = job.trace();
    if !keyrack_trace::is_exporting() {
        return submitted;
    }
    let id = id_of("run", job, submitted.as_ref(), job.attempts());
    match submitted {
        // What is not recorded has no span that others could refer to.
        Some(submitted) if !id.is_sampled() => Some(submitted),
        Some(submitted) => Some(submitted.with_span(id)),
        None => Some(TraceContext::from(id)),
    }
}

impl AttemptTrace {
    /// Begins the span of an attempt, and tells how long its job has waited for it.
    pub(super) fn begin(job: &Job, now_ms: u64) -> Option<AttemptTrace> {
        let context = context_of(job)?;
        if !keyrack_trace::is_exporting() {
            return Some(AttemptTrace { span: None, context });
        }
        let submitted = job.trace();
        record_wait(job, now_ms);
        let mut span = Span::with_id(submitted.as_ref(), context.parent(), "run", Kind::Consumer);
        if let Some(span) = &mut span {
            describe_attempt(span, job, "run");
            if job.attempts() > 1 {
                span.link(id_of("run", job, submitted.as_ref(), 1));
            }
        }
        Some(AttemptTrace { span, context })
    }

    pub(super) fn context(&self) -> TraceContext {
        self.context.clone()
    }

    /// Ends the span with what came of the attempt.
    pub(super) fn end(self, outcome: &Outcome) {
        let Some(mut span) = self.span else { return };
        let word = match &outcome.end {
            End::Completed { .. } => "completed",
            End::Failed(failure) => {
                span.set("error.type", "job_failed");
                span.fail(failure.message.clone());
                "failed"
            }
            End::Snoozed { .. } => "snoozed",
            End::Released => "released",
        };
        span.set("keyrack.job.outcome", word);
    }
}

/// Records a span of the time for which a job has waited for the attempt that begins now.
pub fn record_wait(job: &Job, now_ms: u64) {
    if !keyrack_trace::is_exporting() {
        return;
    }
    let submitted = job.trace();
    let id = id_of("wait", job, submitted.as_ref(), job.attempts());
    let span = Span::with_id(submitted.as_ref(), id, "wait", Kind::Internal);
    let Some(mut span) = span.filter(Span::is_recorded) else { return };
    let Some(times) = AttemptTimes::of(job.history_json(), now_ms) else { return };
    describe_attempt(&mut span, job, "wait");
    // The store's clock may differ from this machine's, but says how long it was.
    let waited_ns = times.wait_ms.saturating_add(times.run_ms).saturating_mul(1_000_000);
    let now_ns = now_ns();
    span.lasted(now_ns.saturating_sub(waited_ns), now_ns);
}

fn describe_attempt(span: &mut Span, job: &Job, operation: &'static str) {
    if !span.is_recorded() {
        return;
    }
    // The conventions have no word for waiting.
    let kind = (operation == "run").then_some("process");
    describe(span, operation, kind, job.queue());
    span.set("messaging.message.id", job.jid().to_owned());
    span.set("messaging.client.id", job.worker().to_owned());
    span.set("keyrack.job.attempt", job.attempts());
}

/// The span of an attempt. A job that was submitted outside of every trace has one of its own.
fn id_of(what: &str, job: &Job, submitted: Option<&TraceContext>, attempt: u64) -> TraceParent {
    let parent = match submitted {
        Some(context) => context.parent(),
        None => TraceParent::trace_of(&[job.jid(), &job.submitted().to_string()]),
    };
    parent.derived(&[what, job.jid(), &attempt.to_string()])
}
