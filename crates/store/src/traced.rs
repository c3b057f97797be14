//! Spans of calls to the store, by the conventions of OpenTelemetry for databases.
//!
//! A call has a span while the process exports spans and the caller is in a trace: the polls of workers and what the server looks
//! at by itself belong to none. Otherwise it costs one load of an atomic.

use std::borrow::Cow;

use keyrack_trace::{Kind, Span};
use redis::{Cmd, Pipeline, RedisFuture};

use crate::Error;

fn span(name: impl FnOnce() -> Cow<'static, str>) -> Option<Span> {
    let mut span = Span::start_if_traced(name, Kind::Client)?;
    span.set("db.system.name", "redis");
    Some(span)
}

/// The name of a command, which is its first word.
fn name_of(cmd: &Cmd) -> Cow<'static, str> {
    match cmd.args_iter().next() {
        Some(redis::Arg::Simple(name)) => String::from_utf8_lossy(name).to_ascii_uppercase().into(),
        _ => "command".into(),
    }
}

/// Makes a call within a span for its command.
pub(crate) fn command<'a, T: Send + 'a>(
    cmd: &'a Cmd,
    call: impl FnOnce() -> RedisFuture<'a, T>,
) -> RedisFuture<'a, T> {
    let Some(mut span) = span(|| name_of(cmd)) else { return call() };
    span.set("db.operation.name", name_of(cmd).into_owned());
    ended(span, call())
}

/// The same for a pipeline or a transaction.
pub(crate) fn pipeline<'a, T: Send + 'a>(
    pipeline: &'a Pipeline,
    call: impl FnOnce() -> RedisFuture<'a, T>,
) -> RedisFuture<'a, T> {
    let name = || if pipeline.is_transaction() { "MULTI" } else { "PIPELINE" };
    let Some(mut span) = span(|| name().into()) else { return call() };
    span.set("db.operation.name", name());
    span.set("db.operation.batch.size", pipeline.len() as u64);
    ended(span, call())
}

fn ended<'a, T: Send + 'a>(mut span: Span, call: RedisFuture<'a, T>) -> RedisFuture<'a, T> {
    Box::pin(async move {
        let result = call.await;
        if let Err(error) = &result {
            fail(&mut span, error.code().unwrap_or("connection"), error.to_string());
        }
        result
    })
}

/// Makes a call of a script within a span.
pub(crate) async fn script<T>(
    name: &'static str,
    call: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let Some(mut span) = span(|| format!("script {name}").into()) else { return call.await };
    span.set("db.operation.name", "EVALSHA");
    span.set("db.stored_procedure.name", name);
    // Outside of the trace, as its commands are not to have spans too.
    let result = keyrack_trace::within(None, call).await;
    if let Err(error) = &result {
        let code = crate::ServiceError::info(error).code;
        fail(&mut span, code, error.to_string());
    }
    result
}

fn fail(span: &mut Span, kind: &str, reason: String) {
    span.set("error.type", kind.to_owned());
    span.fail(reason);
}
