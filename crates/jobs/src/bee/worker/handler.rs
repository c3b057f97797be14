//! Running one job within its limits.

use std::{any::Any, future::Future, panic::AssertUnwindSafe, pin::Pin, sync::Arc};

use futures_util::FutureExt as _;
use serde::Serialize;
use tracing::Instrument as _;

use super::{
    Settings,
    context::{Context, Stop},
    job_span::{self, JOB_SPAN_TARGET as LOG_TARGET},
};
use crate::bee::{
    settle::{End, Failure, Outcome, RESULT_BYTES_MAX},
    trace::AttemptTrace,
};

/// The most bytes of a failure's message that are kept.
const MESSAGE_BYTES_MAX: usize = 16 * 1024;

type Run =
    dyn Fn(Context) -> Pin<Box<dyn Future<Output = Result<String, Failure>> + Send>> + Send + Sync;

/// What is called for each job.
#[derive(Clone)]
pub(super) struct Handler(Arc<Run>);

impl std::fmt::Debug for Handler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Handler")
    }
}

impl Handler {
    pub(super) fn new<F, R, T>(handler: F) -> Handler
    where
        F: Fn(Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, Failure>> + Send + 'static,
        T: Serialize,
    {
        Handler(Arc::new(move |context| {
            let ended = handler(context);
            Box::pin(async move { result_text(&ended.await?) })
        }))
    }

    /// Runs the job to its end, within a span that tells what is logged meanwhile apart from other jobs.
    pub(super) async fn run(&self, context: Context, settings: &Settings) -> Outcome {
        let span = job_span::new(&context);
        let trace = AttemptTrace::begin(context.job(), context.hive().now_ms());
        let run = self.run_within(context.clone(), settings).instrument(span);
        let outcome = match trace {
            None => run.await,
            Some(trace) => {
                let outcome = keyrack_trace::within(Some(trace.context()), run).await;
                trace.end(&outcome);
                outcome
            }
        };
        // All lines are stored before the end is reported.
        context.logs_stored().await;
        outcome
    }

    async fn run_within(&self, context: Context, settings: &Settings) -> Outcome {
        // The call itself may panic, not only what it returns.
        let work = AssertUnwindSafe(async { (self.0)(context.clone()).await }).catch_unwind();
        let told_to_stop = async {
            context.stopped().await;
            tokio::time::sleep(settings.stop_grace).await;
        };
        let time_limit = context.time_limit().unwrap_or(settings.time_limit);
        // The work first: when it is done at once, no timer is set.
        let end = tokio::select! {
            biased;
            ended = work => match ended {
                Ok(Ok(result)) => completed(&context, result),
                // It was interrupted, which is no fault of the job.
                Ok(Err(_)) if context.stop_reason() == Some(Stop::Shutdown) => End::Released,
                Ok(Err(Failure { snooze_ms: Some(delay_ms), .. })) => End::Snoozed { delay_ms },
                Ok(Err(failure)) => End::Failed(shortened(failure)),
                Err(panic) => End::Failed(Failure::new(panic_text(&*panic))),
            },
            () = tokio::time::sleep(time_limit + settings.overrun) => {
                let limit_ms = time_limit.as_millis();
                End::Failed(Failure::new(format!("TimeoutError: Worker method timed out after {limit_ms} ms")))
            }
            () = told_to_stop => End::Released,
        };
        if let End::Failed(failure) = &end {
            log_failure(&context, failure);
        }
        let options = context.changed_options().map(|options| options.to_json());
        Outcome { options, ..Outcome::of(context.job(), end) }
    }
}

/// Tells of a failed attempt, or that there will be no other. What became of the lost and the canceled is decided elsewhere.
fn log_failure(context: &Context, failure: &Failure) {
    if matches!(context.stop_reason(), Some(Stop::Canceled | Stop::Lost)) {
        return;
    }
    let options = context.changed_options().unwrap_or_else(|| context.job().options());
    let message = failure.message.as_str();
    if failure.retry && context.job().retries() < u64::from(options.retries) {
        tracing::warn!(target: LOG_TARGET, reason = message, "the attempt failed and is made again");
    } else {
        tracing::error!(target: LOG_TARGET, reason = message, "the job failed for good");
    }
}

fn result_text(result: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(result).map_err(|error| {
        Failure::fatal(format!("the result cannot be written as JSON: {error}"))
    })?;
    if text.len() > RESULT_BYTES_MAX {
        return Err(Failure::fatal(format!(
            "the result has {} bytes, at most {RESULT_BYTES_MAX} are kept",
            text.len()
        )));
    }
    Ok(text)
}

fn completed(context: &Context, result: String) -> End {
    let options = context.changed_options().unwrap_or_else(|| context.job().options());
    End::Completed { result, ttl_ms: Some(options.ttl) }
}

fn shortened(mut failure: Failure) -> Failure {
    let end = failure.message.floor_char_boundary(MESSAGE_BYTES_MAX);
    failure.message.truncate(end);
    failure
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the handler panicked: {}", text.unwrap_or("without a message"))
}
