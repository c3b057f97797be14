//! Lists as files: CSV for spreadsheets, and NDJSON, one JSON object a line, for programs. A list of any length is sent part by
//! part, and jobs are read so too: the next part when the one before has left.

use std::{convert::Infallible, io, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::{Path, State},
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use futures_util::stream;
use jiff::Timestamp;
use keyrack_jobs::bee::{Job, QueueCounts, errors::ErrorGroup};
use keyrack_web::Problem;
use serde_json::{Value as Json, value::RawValue};

use super::{Visit, errors::ErrorsQuery, find::FindQuery, form, queues::QueuesQuery};
use crate::Site;

/// Rows that are written at once, of lists that are known as a whole.
const ROWS_AT_ONCE: usize = 500;

/// What a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileFormat {
    Csv,
    Ndjson,
}

impl FileFormat {
    fn parse(text: &str) -> Result<FileFormat, Problem> {
        match text {
            "csv" => Ok(FileFormat::Csv),
            "ndjson" => Ok(FileFormat::Ndjson),
            other => Err(form::wrong("format", &format!("\"{other}\"; use csv or ndjson"))),
        }
    }

    const fn word(self) -> &'static str {
        match self {
            FileFormat::Csv => "csv",
            FileFormat::Ndjson => "ndjson",
        }
    }

    const fn content_type(self) -> &'static str {
        match self {
            FileFormat::Csv => "text/csv; charset=utf-8",
            FileFormat::Ndjson => "application/x-ndjson",
        }
    }

    /// The line above all others, if there is one.
    fn head(self, names: &[&str]) -> String {
        match self {
            FileFormat::Csv => format!("{}\r\n", names.join(",")),
            FileFormat::Ndjson => String::new(),
        }
    }

    /// A line of these cells.
    fn line(self, names: &[&str], cells: &[Cell]) -> String {
        match self {
            FileFormat::Csv => {
                let cells: Vec<String> = cells.iter().map(Cell::to_csv).collect();
                format!("{}\r\n", cells.join(","))
            }
            FileFormat::Ndjson => {
                let pairs = names.iter().zip(cells);
                let pairs: Vec<String> =
                    pairs.map(|(name, cell)| format!("\"{name}\":{}", cell.to_json())).collect();
                format!("{{{}}}\n", pairs.join(","))
            }
        }
    }

    /// Lines of these rows, made when they are wanted.
    fn body<T: Send + 'static>(
        self,
        names: &'static [&'static str],
        rows: Vec<T>,
        cells: impl Fn(&T) -> Vec<Cell> + Send + 'static,
    ) -> Body {
        let mut rows = rows.into_iter();
        let parts = std::iter::from_fn(move || {
            let part = rows.by_ref().take(ROWS_AT_ONCE);
            let part: String = part.map(|row| self.line(names, &cells(&row))).collect();
            (!part.is_empty()).then_some(part)
        });
        let parts = std::iter::once(self.head(names)).chain(parts).map(Ok::<_, Infallible>);
        Body::from_stream(stream::iter(parts))
    }

    fn response(self, name: &str, body: Body) -> Response {
        let disposition = format!("attachment; filename=\"{name}.{}\"", self.word());
        let mut response = body.into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type()));
        if let Ok(value) = HeaderValue::try_from(disposition) {
            headers.insert(header::CONTENT_DISPOSITION, value);
        }
        response
    }
}

/// What stands in a column.
pub(super) enum Cell {
    Text(String),
    Number(u64),
    /// Unix milliseconds.
    Time(u64),
    /// JSON as it is stored: numbers keep all their digits.
    Json(String),
    Nothing,
}

impl Cell {
    fn to_csv(&self) -> String {
        let text = match self {
            Cell::Text(text) | Cell::Json(text) => text,
            Cell::Number(number) => return number.to_string(),
            Cell::Time(at) => return iso(*at),
            Cell::Nothing => return String::new(),
        };
        let mark = if is_formula(text) { "'" } else { "" };
        // Some spreadsheets cut at semicolons and tabs.
        match text.contains([',', ';', '"', '\t', '\n', '\r']) {
            true => format!("\"{mark}{}\"", text.replace('"', "\"\"")),
            false => format!("{mark}{text}"),
        }
    }

    fn to_json(&self) -> String {
        match self {
            Cell::Text(text) => Json::from(text.as_str()).to_string(),
            Cell::Number(number) | Cell::Time(number) => number.to_string(),
            // What a foreign program stored may be no JSON. If it is, lines in it end between values only.
            Cell::Json(text) => match RawValue::from_string(text.clone()) {
                Ok(_) => text.replace(['\n', '\r'], " "),
                Err(_) => Json::from(text.as_str()).to_string(),
            },
            Cell::Nothing => "null".into(),
        }
    }
}

/// Whether a spreadsheet would take the text for a formula, and run it.
fn is_formula(text: &str) -> bool {
    const BEGINNINGS: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    text.starts_with(['\t', '\n', '\r']) || text.trim_start().starts_with(BEGINNINGS)
}

/// A moment as spreadsheets read it.
pub(super) fn iso(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.map(|at| at.to_string()).unwrap_or_default()
}

const JOB_COLUMNS: [&str; 9] =
    ["jid", "queue", "status", "submitted", "attempts", "priority", "tags", "reason", "data"];

fn job_cells(job: &Job) -> [Cell; 9] {
    [
        Cell::Text(job.jid().to_owned()),
        Cell::Text(job.queue().to_owned()),
        Cell::Text(job.status().to_string()),
        Cell::Time(job.submitted()),
        Cell::Number(job.attempts()),
        Cell::Text(job.options().priority.to_string()),
        Cell::Text(job.tags().join(" ")),
        job.failed_reason().map_or(Cell::Nothing, |reason| Cell::Text(reason.to_owned())),
        Cell::Json(job.data().to_owned()),
    ]
}

/// `GET /export/jobs/{format}`: all jobs that the query of `/find` finds.
pub(crate) async fn jobs(
    State(site): State<Arc<Site>>,
    Path(format): Path<String>,
    visit: Visit,
) -> Response {
    let begun = async {
        let format = FileFormat::parse(&format)?;
        let mut wanted: FindQuery = visit.query()?;
        let queues = site.services.jobs().await?.hive.queues().await?;
        // What is wrong with the query is told before the file begins.
        let first = wanted.take_page(&site, &queues).await?;
        Ok::<_, Problem>((format, wanted, queues, first))
    };
    let (format, wanted, queues, first) = match begun.await {
        Ok(begun) => begun,
        Err(problem) => return problem.for_reader(&visit.headers),
    };
    let lines = move |jobs: &[Job]| -> String {
        jobs.iter().map(|job| format.line(&JOB_COLUMNS, &job_cells(job))).collect()
    };
    let first = format!("{}{}", format.head(&JOB_COLUMNS), lines(&first));
    let start = (Some(first), wanted, queues);
    let parts = stream::try_unfold(start, move |(first, mut wanted, queues)| {
        let site = site.clone();
        async move {
            let part = match first {
                Some(first) => first,
                None if !wanted.goes_on() => return Ok(None),
                // A file that ends too early is told by its connection, which breaks.
                None => match wanted.take_page(&site, &queues).await {
                    Ok(jobs) => lines(&jobs),
                    Err(problem) => return Err(io::Error::other(problem.message().to_owned())),
                },
            };
            Ok(Some((Bytes::from(part), (None, wanted, queues))))
        }
    });
    format.response("jobs", Body::from_stream(parts))
}

const QUEUE_COLUMNS: [&str; 8] =
    ["queue", "paused", "queued", "running", "delayed", "failed", "oldest_ms", "has_worker"];

fn queue_cells(one: &QueueCounts) -> Vec<Cell> {
    vec![
        Cell::Text(one.queue.to_string()),
        Cell::Json(one.paused.to_string()),
        Cell::Number(one.queued),
        Cell::Number(one.running),
        Cell::Number(one.delayed),
        Cell::Number(one.failed),
        one.oldest_ms.map_or(Cell::Nothing, Cell::Number),
        Cell::Json(one.has_worker.to_string()),
    ]
}

/// `GET /export/queues/{format}`: all queues that the query of `/jobs` chooses.
pub(crate) async fn queues(
    State(site): State<Arc<Site>>,
    Path(format): Path<String>,
    visit: Visit,
) -> Response {
    let written = async {
        let format = FileFormat::parse(&format)?;
        let chosen = visit.query::<QueuesQuery>()?.all_chosen(&site).await?;
        let body = format.body(&QUEUE_COLUMNS, chosen, queue_cells);
        Ok::<_, Problem>(format.response("queues", body))
    };
    written.await.unwrap_or_else(|problem| problem.for_reader(&visit.headers))
}

const ERROR_COLUMNS: [&str; 9] = [
    "queue",
    "group",
    "type",
    "message",
    "count",
    "failed",
    "first_seen",
    "last_seen",
    "muted_until",
];

fn error_cells(queue: &str, group: &ErrorGroup) -> Vec<Cell> {
    vec![
        Cell::Text(queue.to_owned()),
        Cell::Text(group.id.clone()),
        Cell::Text(group.kind.clone()),
        Cell::Text(group.message.clone()),
        Cell::Number(group.count),
        Cell::Number(group.failed),
        Cell::Time(group.first_at),
        Cell::Time(group.last_at),
        group.mute.as_ref().map_or(Cell::Nothing, |mute| Cell::Time(mute.until)),
    ]
}

/// `GET /export/errors/{format}`: all groups of failures that the query of `/errors` finds.
pub(crate) async fn errors(
    State(site): State<Arc<Site>>,
    Path(format): Path<String>,
    visit: Visit,
) -> Response {
    let written = async {
        let format = FileFormat::parse(&format)?;
        let (list, places) = visit.query::<ErrorsQuery>()?.all_groups(&site).await?;
        // Samples are long: the list is shared with the pages and not copied.
        let body = format.body(&ERROR_COLUMNS, places, move |(queue, group)| {
            let errors = &list.0[*queue];
            error_cells(&errors.queue, &errors.groups[*group])
        });
        Ok::<_, Problem>(format.response("errors", body))
    };
    written.await.unwrap_or_else(|problem| problem.for_reader(&visit.headers))
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    #[test]
    fn cells_are_quoted_and_none_is_a_formula() {
        let cells = [
            Cell::Text("a, \"b\"\nc".into()),
            Cell::Text("=cmd()".into()),
            Cell::Nothing,
            Cell::Number(7),
        ];
        let line = FileFormat::Csv.line(&["a", "b", "c", "d"], &cells);
        assert_eq!(line, "\"a, \"\"b\"\"\nc\",'=cmd(),,7\r\n");
        for (text, cell) in [
            (" =1", "' =1"),
            ("\t=1", "\"'\t=1\""),
            ("＝1", "'＝1"),
            ("@a;b", "\"'@a;b\""),
            ("a;=1", "\"a;=1\""),
            ("a=1", "a=1"),
        ] {
            assert_eq!(Cell::Text(text.into()).to_csv(), cell);
        }
        assert_eq!(Cell::Time(1_500).to_csv(), "1970-01-01T00:00:01.5Z");
    }

    #[test]
    fn every_line_is_a_json_object_that_keeps_all_digits() {
        let cells = [
            Cell::Text("a\nb".into()),
            Cell::Json("[\n1.0000000000000000001]".into()),
            Cell::Json("no JSON".into()),
            Cell::Time(5),
        ];
        let line = FileFormat::Ndjson.line(&["a", "b", "c", "d"], &cells);
        assert_eq!(
            line,
            "{\"a\":\"a\\nb\",\"b\":[ 1.0000000000000000001],\"c\":\"no JSON\",\"d\":5}\n"
        );
        let parsed: Map<String, Json> = serde_json::from_str(&line).expect("JSON");
        assert_eq!(parsed.len(), 4);
    }
}
