//! The history of a queue as rows, and the same as CSV.

use std::{fmt::Write as _, sync::Arc};

use askama::Template;
use axum::{
    extract::{Path, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use keyrack_format::{self as format, Zone};
use keyrack_jobs::bee::times::{Histogram, Record};
use keyrack_web::Problem;

use super::{
    super::{Frame, Visit, assets, export::iso, link, live::still, queue::queue_name},
    History, Span, SpanQuery, milliseconds,
};
use crate::Site;

#[derive(Template)]
#[template(path = "history.html")]
struct HistoryPage {
    frame: Frame,
    name: String,
    link: String,
    spans: Vec<(&'static str, String, bool)>,
    csv_link: String,
    bucket: &'static str,
    rows: Vec<HistoryRow>,
}

/// A place of the charts as one line.
struct HistoryRow {
    at: String,
    utc: String,
    counts: [String; 4],
    times: [String; 6],
}

/// `GET /queues/{queue}/history`
pub(crate) async fn table(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    visit: Visit,
) -> Response {
    let read = async {
        let span = visit.query::<SpanQuery>()?.span()?;
        let history = read(&site, &name, span).await?;
        let zone = &visit.frame.zone;
        let path = format!("{}/history", link::queue(&name));
        let to = |path: &str, span: Span| link::with_query(path, &[("range", span.word())]);
        Ok::<_, Problem>(HistoryPage {
            link: link::queue(&name),
            spans: Span::ALL.map(|one| (one.spoken(), to(&path, one), one == span)).into(),
            csv_link: to(&format!("{path}.csv"), span),
            bucket: span.bucket_word(),
            rows: history
                .records
                .iter()
                .rev()
                .filter(|one| !one.is_empty())
                .map(|one| HistoryRow::of(one, zone))
                .collect(),
            name: name.clone(),
            frame: visit.frame.clone(),
        })
    };
    match read.await {
        Ok(page) => still(&page, &visit.frame, StatusCode::OK),
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

impl HistoryRow {
    fn of(record: &Record, zone: &Zone) -> HistoryRow {
        let count = |n: u64| if n == 0 { String::new() } else { format::count(n) };
        let counts = [record.submitted, record.completed, record.failed, record.retried];
        HistoryRow {
            at: zone.time(record.at),
            utc: format::utc(record.at),
            counts: counts.map(count),
            times: percentiles(record).map(|ms| ms.map(milliseconds).unwrap_or_default()),
        }
    }
}

/// Percentiles of the wait time, then of the run time.
fn percentiles(record: &Record) -> [Option<f64>; 6] {
    let of = |times: &Histogram| [0.5, 0.95, 0.99].map(|share| times.percentile_ms(share));
    let ([a, b, c], [d, e, f]) = (of(&record.wait), of(&record.run));
    [a, b, c, d, e, f]
}

/// `GET /queues/{queue}/history.csv`
pub(crate) async fn csv(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    visit: Visit,
) -> Response {
    let read = async {
        let span = visit.query::<SpanQuery>()?.span()?;
        Ok::<_, Problem>((read(&site, &name, span).await?, span))
    };
    match read.await {
        Ok((history, span)) => {
            let kind = HeaderValue::from_static("text/csv; charset=utf-8");
            let file: String = name
                .chars()
                .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
                .take(80)
                .collect();
            let file = format!("attachment; filename=\"{file}-{}.csv\"", span.word());
            let file = HeaderValue::try_from(file);
            let file = file.unwrap_or(HeaderValue::from_static("attachment"));
            let headers = [(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, file)];
            (headers, history.to_csv()).into_response()
        }
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

impl History {
    fn to_csv(&self) -> String {
        let mut text = String::from(
            "from,submitted,started,completed,failed,retried,canceled,expired,\
             wait_p50_ms,wait_p95_ms,wait_p99_ms,run_p50_ms,run_p95_ms,run_p99_ms\r\n",
        );
        for one in &self.records {
            text += &iso(one.at);
            let Record {
                submitted, started, completed, failed, retried, canceled, expired, ..
            } = one;
            for n in [submitted, started, completed, failed, retried, canceled, expired] {
                // Writing to a string does not fail.
                let _ = write!(text, ",{n}");
            }
            for ms in percentiles(one) {
                text.push(',');
                text += &ms.map(|ms| format!("{ms:.1}")).unwrap_or_default();
            }
            text += "\r\n";
        }
        text
    }
}

async fn read(site: &Site, name: &str, span: Span) -> Result<History, Problem> {
    let queue = queue_name(name)?;
    let hive = &site.services.jobs().await?.hive;
    hive.check_queue(&queue).await?;
    History::read(hive, &queue, span).await
}

#[cfg(test)]
mod tests {
    use super::super::tests::history;

    #[test]
    fn csv_has_a_line_for_each_place_and_nothing_where_nothing_is_known() {
        let text = history().to_csv();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        let columns = lines[0].split(',').count();
        assert!(lines.iter().all(|line| line.split(',').count() == columns), "{text}");
        assert!(lines[1].starts_with("1970-01-01T01:00:00Z,5,0,3,1,0,0,0,"), "{text}");
        assert!(lines[2].ends_with("0,0,0,0,0,0,0,,,,,,"), "{text}");
    }
}
