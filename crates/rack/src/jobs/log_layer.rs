//! Puts `tracing` events of handlers into the logs of their jobs.

use std::fmt::{self, Write as _};

use keyrack_jobs::bee::{
    logs::LogLevel,
    worker::{Context, JOB_SPAN, JOB_SPAN_TARGET, job_of_new_span},
};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
    span,
};
use tracing_subscriber::{layer, registry::LookupSpan};

/// A layer for `tracing-subscriber` that puts the events of a running job into its log: events in the span of its attempt, in any
/// task that runs within it. Takes events at level INFO and above unless set.
///
/// ```
/// use tracing_subscriber::prelude::*;
///
/// let subscriber = tracing_subscriber::registry().with(keyrack::JobLogs::default());
/// # let _ = subscriber;
/// ```
///
/// A task that a handler spawns belongs to the span if it is spawned with `.in_current_span()`. A filter for all layers must pass
/// the target `keyrack_jobs::attempts` at level INFO: without the spans there are no logs.
#[derive(Debug, Clone)]
pub struct JobLogs {
    level: Level,
}

impl Default for JobLogs {
    fn default() -> JobLogs {
        JobLogs { level: Level::INFO }
    }
}

impl JobLogs {
    /// Takes events of this level and above.
    pub fn level(level: Level) -> JobLogs {
        JobLogs { level }
    }
}

/// The job of a span.
struct JobOfSpan(Context);

impl<S: Subscriber + for<'a> LookupSpan<'a>> layer::Layer<S> for JobLogs {
    fn on_new_span(
        &self,
        attributes: &span::Attributes<'_>,
        id: &span::Id,
        spans: layer::Context<'_, S>,
    ) {
        let metadata = attributes.metadata();
        if metadata.name() != JOB_SPAN || metadata.target() != JOB_SPAN_TARGET {
            return;
        }
        if let (Some(job), Some(span)) = (job_of_new_span(), spans.span(id)) {
            span.extensions_mut().insert(JobOfSpan(job));
        }
    }

    fn on_event(&self, event: &Event<'_>, spans: layer::Context<'_, S>) {
        if *event.metadata().level() > self.level {
            return;
        }
        let Some(scope) = spans.event_scope(event) else { return };
        for span in scope {
            if let Some(JobOfSpan(job)) = span.extensions().get() {
                job.log(level(*event.metadata().level()), text(event));
                return;
            }
        }
    }
}

fn level(level: Level) -> LogLevel {
    match level {
        Level::ERROR => LogLevel::Error,
        Level::WARN => LogLevel::Warn,
        Level::INFO => LogLevel::Info,
        Level::DEBUG => LogLevel::Debug,
        Level::TRACE => LogLevel::Trace,
    }
}

/// An event as a line: its message, then its fields.
fn text(event: &Event<'_>) -> String {
    let mut words = Words::default();
    event.record(&mut words);
    words.message + &words.fields
}

#[derive(Default)]
struct Words {
    message: String,
    fields: String,
}

impl Visit for Words {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message.push_str(value),
            name => self.add(name, &value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => return self.add(name, value),
        };
    }
}

impl Words {
    fn add(&mut self, name: &str, value: &dyn fmt::Debug) {
        let separator = if self.message.is_empty() && self.fields.is_empty() { "" } else { " " };
        let _ = write!(self.fields, "{separator}{name}={value:?}");
    }
}
