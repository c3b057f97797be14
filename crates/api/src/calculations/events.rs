//! Taking events in: one as it was published, or many as JSON or as lines.

use std::sync::Arc;

use axum::{Json, body::Body as Stream, extract::State, http::StatusCode};
use futures_util::StreamExt as _;
use keyrack_calculations::{Event, EventBody};
use keyrack_web::{
    App, Problem,
    extract::{Body, parse},
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::caller::Caller;

/// Events that are stored at once while a body is read.
const EVENTS_AT_ONCE: usize = 1000;
/// The longest line, and the longest list: many events are better sent as lines.
const LINE_BYTES_MAX: usize = 1024 * 1024;
/// How many refusals are told; the others are counted.
const REFUSED_MAX: usize = 1000;

/// An event with the token of its project.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedEvent {
    /// The token of the project.
    access_token: String,
    /// What is measured: `job-skills`.
    dimension: String,
    /// One thing of it: `python`.
    key: String,
    /// A decimal number, as text or as a JSON number.
    #[schema(value_type = String, example = "7.07")]
    value: Box<RawValue>,
    /// When it happened: `2014-10-17 21:34:07 -0400`.
    created_at: String,
    /// The intervals to calculate over.
    interval: Vec<String>,
    /// What to calculate for each of them.
    calculation: Vec<String>,
}

/// What became of events.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(super) struct Recorded {
    /// How many were stored.
    stored: u64,
    /// How many were refused.
    refused: u64,
    /// Why, for the first thousand.
    errors: Vec<RefusedEvent>,
}

/// An event that was refused.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RefusedEvent {
    /// Its line or place in the list, from 1.
    line: u64,
    /// The field that is wrong, if one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// What is wrong.
    detail: String,
}

/// Stores an event and brings all results of its key up to date.
#[utoipa::path(post, path = "/event", tag = "calculations", operation_id = "recordEvent",
    request_body = PublishedEvent, responses((status = OK, body = Recorded)))]
pub(super) async fn event(
    State(app): State<Arc<App>>,
    Body(event): Body<PublishedEvent>,
) -> Result<Json<Recorded>, Problem> {
    let caller = Caller::with_token(&app, &event.access_token).await?;
    let body = EventBody {
        dimension: event.dimension,
        key: event.key,
        value: event.value,
        created_at: event.created_at,
        interval: event.interval,
        calculation: event.calculation,
    };
    let told = caller.ledger.record(&caller.project, vec![body.check()?]).await?;
    told.into_iter().collect::<Result<(), _>>()?;
    Ok(Json(Recorded { stored: 1, ..Recorded::default() }))
}

/// Stores many events: a JSON list, or one event in each line. A line that is refused does not keep the others out.
///
/// A body of lines may be of any length and is stored while it arrives. Sending the same events again changes nothing. When every
/// event was refused, the status is 422.
#[utoipa::path(post, path = "/calculations/events", tag = "calculations", operation_id = "recordEvents",
    request_body(content((Vec<EventBody> = "application/json"), (EventBody = "application/x-ndjson"))),
    responses(
        (status = OK, body = Recorded),
        (status = UNPROCESSABLE_ENTITY, body = Recorded, description = "Every event was refused"),
    ))]
pub(super) async fn record(
    caller: Caller,
    body: Stream,
) -> Result<(StatusCode, Json<Recorded>), Problem> {
    let mut intake = Intake { caller, recorded: Recorded::default(), batch: Vec::new(), line: 0 };
    let mut chunks = body.into_data_stream();
    let (mut text, mut is_list) = (Vec::new(), None);
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| {
            Problem::new(StatusCode::BAD_REQUEST, "bad_body")
                .title("the body could not be read")
                .detail(error.to_string())
        })?;
        text.extend_from_slice(&chunk);
        let first = || text.iter().find(|byte| !byte.is_ascii_whitespace());
        is_list = is_list.or_else(|| first().map(|byte| *byte == b'['));
        if is_list == Some(false) {
            intake.take_lines(&mut text).await?;
        }
        if text.len() > LINE_BYTES_MAX {
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large")
                .title("the body is too large")
                .detail(format!(
                    "a list or line has at most {LINE_BYTES_MAX} bytes; send one event in each line"
                )));
        }
    }
    if is_list == Some(true) {
        for event in parse::<Vec<Box<RawValue>>>(&text)? {
            intake.take(event.get().as_bytes()).await?;
        }
    } else {
        intake.take(&text).await?;
    }
    intake.store().await?;
    let Recorded { stored, refused, .. } = intake.recorded;
    let status =
        if stored == 0 && refused > 0 { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    Ok((status, Json(intake.recorded)))
}

/// Events on their way in.
struct Intake {
    caller: Caller,
    recorded: Recorded,
    /// Events with their lines.
    batch: Vec<(u64, Event)>,
    line: u64,
}

impl Intake {
    /// Takes in the whole lines and leaves the rest.
    async fn take_lines(&mut self, text: &mut Vec<u8>) -> Result<(), Problem> {
        let Some(end) = text.iter().rposition(|byte| *byte == b'\n') else { return Ok(()) };
        let rest = text.split_off(end + 1);
        let lines = std::mem::replace(text, rest);
        for line in lines[..end].split(|byte| *byte == b'\n') {
            self.take(line).await?;
        }
        Ok(())
    }

    async fn take(&mut self, line: &[u8]) -> Result<(), Problem> {
        self.line += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let event = parse::<EventBody>(line).and_then(|body| body.check().map_err(Problem::from));
        match event {
            Ok(event) => self.batch.push((self.line, event)),
            Err(problem) => self.refuse(self.line, &problem),
        }
        if self.batch.len() >= EVENTS_AT_ONCE { self.store().await } else { Ok(()) }
    }

    /// Stores what has come so far.
    async fn store(&mut self) -> Result<(), Problem> {
        let (lines, events): (Vec<u64>, Vec<Event>) =
            std::mem::take(&mut self.batch).into_iter().unzip();
        let told = self.caller.ledger.record(&self.caller.project, events).await?;
        for (line, outcome) in lines.into_iter().zip(told) {
            match outcome {
                Ok(()) => self.recorded.stored += 1,
                Err(error) => self.refuse(line, &error.into()),
            }
        }
        Ok(())
    }

    fn refuse(&mut self, line: u64, problem: &Problem) {
        self.recorded.refused += 1;
        if self.recorded.errors.len() < REFUSED_MAX {
            let (field, detail) = problem.field_and_detail();
            self.recorded.errors.push(RefusedEvent { line, field, detail });
        }
    }
}
