//! What happened in a queue, over the last hour up to the last 30 days, as charts. `table` has it as rows and as CSV.

mod table;

use keyrack_format::{self as format, Zone};
use keyrack_jobs::bee::{
    Hive,
    keys::QueueName,
    times::{Histogram, Record, Resolution, SlowAttempt, TimesQuery},
};
use keyrack_web::Problem;
use serde::Deserialize;

pub(crate) use self::table::{csv, table};
use super::{
    axes::{Chart, Scale, Unit, time_ticks},
    form, link,
};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// Over how long a page looks back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Span {
    #[default]
    Hour,
    Day,
    Week,
    Month,
}

impl Span {
    const ALL: [Span; 4] = [Span::Hour, Span::Day, Span::Week, Span::Month];

    fn word(self) -> &'static str {
        match self {
            Span::Hour => "1h",
            Span::Day => "24h",
            Span::Week => "7d",
            Span::Month => "30d",
        }
    }

    fn spoken(self) -> &'static str {
        match self {
            Span::Hour => "1 h",
            Span::Day => "24 h",
            Span::Week => "7 d",
            Span::Month => "30 d",
        }
    }

    fn ms(self) -> u64 {
        match self {
            Span::Hour => HOUR_MS,
            Span::Day => DAY_MS,
            Span::Week => 7 * DAY_MS,
            Span::Month => 30 * DAY_MS,
        }
    }

    /// How long one place of a chart is.
    fn bucket_ms(self) -> u64 {
        match self {
            Span::Hour => MINUTE_MS,
            Span::Day => 15 * MINUTE_MS,
            Span::Week => HOUR_MS,
            Span::Month => 6 * HOUR_MS,
        }
    }

    fn bucket_word(self) -> &'static str {
        match self {
            Span::Hour => "minute",
            Span::Day => "quarter of an hour",
            Span::Week => "hour",
            Span::Month => "6 hours",
        }
    }

    fn resolution(self) -> Resolution {
        match self {
            Span::Hour => Resolution::Minute,
            Span::Day => Resolution::Quarter,
            Span::Week | Span::Month => Resolution::Hour,
        }
    }
}

/// What of the history is wanted, as it stands in the address.
#[derive(Debug, Default, Deserialize)]
pub(super) struct SpanQuery {
    #[serde(default)]
    range: String,
}

impl SpanQuery {
    pub(super) fn span(&self) -> Result<Span, Problem> {
        if self.range.is_empty() {
            return Ok(Span::default());
        }
        let words = Span::ALL.map(Span::word).join(", ");
        let found = Span::ALL.into_iter().find(|span| span.word() == self.range);
        found.ok_or_else(|| {
            form::wrong("range", &format!("\"{}\" is no range; use one of {words}", self.range))
        })
    }
}

/// What happened in a queue, in places of equal length. Nothing is known of a place in which nothing happened but that.
pub(super) struct History {
    span: Span,
    /// The beginning of the first place.
    from: u64,
    records: Vec<Record>,
    sum: Record,
    now: u64,
}

impl History {
    pub(super) async fn read(
        hive: &Hive,
        queue: &QueueName,
        span: Span,
    ) -> Result<History, Problem> {
        let now = hive.now_ms();
        let bucket_ms = span.bucket_ms();
        let end = now.div_ceil(bucket_ms) * bucket_ms;
        let from = end.saturating_sub(span.ms());
        let query = TimesQuery { from: Some(from), to: None, resolution: Some(span.resolution()) };
        let times = hive.times(queue, &query).await?;
        let mut records = vec![Record::default(); (span.ms() / bucket_ms) as usize];
        for (at, record) in records.iter_mut().enumerate() {
            record.at = from + at as u64 * bucket_ms;
        }
        for record in &times.records {
            let place = record.at.checked_sub(from).map(|ms| (ms / bucket_ms) as usize);
            if let Some(sum) = place.and_then(|place| records.get_mut(place)) {
                sum.merge(record);
            }
        }
        Ok(History { span, from, records, sum: times.sum, now })
    }

    /// What is on the page of a queue.
    pub(super) fn section(&self, queue: &str, zone: &Zone) -> HistorySection {
        let path = link::queue(queue);
        let to = |path: &str, span: Span| link::with_query(path, &[("range", span.word())]);
        HistorySection {
            spans: Span::ALL.map(|span| (span.spoken(), to(&path, span), span == self.span)).into(),
            table_link: to(&format!("{path}/history"), self.span),
            csv_link: to(&format!("{path}/history.csv"), self.span),
            charts: self.charts(zone),
            figures: self.figures(),
            zone: zone.name(self.now),
        }
    }

    /// The numbers of the whole time.
    fn figures(&self) -> Vec<(&'static str, String)> {
        let sum = &self.sum;
        let rate = sum.error_rate.map(|rate| format!(" ({})", format::percent(rate)));
        let time = |times: &Histogram, share| {
            times.percentile_ms(share).map_or_else(|| "–".to_owned(), milliseconds)
        };
        vec![
            ("submitted", format::count(sum.submitted)),
            ("completed", format::count(sum.completed)),
            ("failed", format!("{}{}", format::count(sum.failed), rate.unwrap_or_default())),
            ("wait p95", time(&sum.wait, 0.95)),
            ("run p95", time(&sum.run, 0.95)),
        ]
    }

    fn charts(&self, zone: &Zone) -> Vec<Chart> {
        vec![
            self.throughput(zone),
            self.times(zone, "Wait time", |record| &record.wait),
            self.times(zone, "Run time", |record| &record.run),
        ]
    }

    fn throughput(&self, zone: &Zone) -> Chart {
        let ended = |record: &Record| (record.completed + record.failed) as f64;
        let most = self.records.iter().map(|one| ended(one).max(one.submitted as f64));
        let scale = Scale::linear(0.0, most.fold(0.0, f64::max), Unit::Count);
        let failed: Vec<(f64, f64)> =
            self.records.iter().map(|one| (0.0, one.failed as f64)).collect();
        let completed: Vec<(f64, f64)> =
            self.records.iter().map(|one| (one.failed as f64, ended(one))).collect();
        let submitted: Vec<Option<f64>> =
            self.records.iter().map(|one| Some(one.submitted as f64)).collect();
        let titles = self.records.iter().map(|one| {
            format!(
                "{}: {} submitted, {} completed, {} failed",
                self.place(one, zone),
                format::count(one.submitted),
                format::count(one.completed),
                format::count(one.failed),
            )
        });
        let mut chart = Chart::new("Throughput", &scale)
            .with_slots(titles)
            .with_bars("done", "completed".into(), &scale, &completed)
            .with_bars("failed", "failed".into(), &scale, &failed)
            .with_line("submitted", "submitted".into(), &scale, &submitted)
            .with_places(time_ticks(self.from, self.from + self.span.ms(), zone));
        chart.title = format!("Jobs per {}", self.span.bucket_word());
        chart.label = format!(
            "{} jobs completed and {} failed in the last {}",
            format::count(self.sum.completed),
            format::count(self.sum.failed),
            self.span.spoken()
        );
        chart
    }

    fn times(&self, zone: &Zone, title: &str, of: fn(&Record) -> &Histogram) -> Chart {
        const SHARES: [(f64, &str); 3] = [(0.5, "p50"), (0.95, "p95"), (0.99, "p99")];
        let values = |share: f64| -> Vec<Option<f64>> {
            self.records.iter().map(|record| of(record).percentile_ms(share)).collect()
        };
        let all = SHARES.map(|(share, _)| values(share));
        let scale = Scale::durations(all.iter().flatten().flatten().copied());
        let titles = self.records.iter().enumerate().map(|(at, record)| {
            let told = SHARES.iter().zip(&all).filter_map(|((_, name), values)| {
                Some(format!("{name} {}", milliseconds(values[at]?)))
            });
            let told: Vec<String> = told.collect();
            let told =
                if told.is_empty() { "no attempt ended".to_owned() } else { told.join(", ") };
            format!("{}: {told}", self.place(record, zone))
        });
        let mut chart = Chart::new(title, &scale).with_slots(titles).with_places(time_ticks(
            self.from,
            self.from + self.span.ms(),
            zone,
        ));
        for ((_, name), values) in SHARES.iter().zip(&all) {
            chart = chart.with_line(name, (*name).to_owned(), &scale, values);
        }
        let sum = of(&self.sum);
        chart.label = match sum.percentile_ms(0.95) {
            Some(p95) => format!(
                "{title} of {} attempts in the last {}: 95 % took at most {}",
                format::count(sum.count()),
                self.span.spoken(),
                milliseconds(p95)
            ),
            None => format!("{title}: no attempt ended in the last {}", self.span.spoken()),
        };
        if sum.count() == 0 {
            chart.note = format!("No attempt ended in the last {}.", self.span.spoken());
        }
        chart
    }

    /// When a record was.
    fn place(&self, record: &Record, zone: &Zone) -> String {
        let clock = zone.clock(record.at);
        let so_far = if record.at + self.span.bucket_ms() > self.now { " so far" } else { "" };
        match self.span {
            Span::Hour | Span::Day => format!("{clock}{so_far}"),
            Span::Week | Span::Month => format!("{} {clock}{so_far}", zone.day(record.at)),
        }
    }
}

/// Milliseconds of a percentile, which are no more exact than that.
fn milliseconds(ms: f64) -> String {
    match ms {
        ..1.0 => "1 ms".into(),
        _ => format::duration_ms(ms.round() as u64),
    }
}

/// The charts of a queue.
#[derive(Debug)]
pub(super) struct HistorySection {
    /// What to look back over: its word, its address, and whether it is shown.
    pub(super) spans: Vec<(&'static str, String, bool)>,
    pub(super) table_link: String,
    pub(super) csv_link: String,
    pub(super) charts: Vec<Chart>,
    pub(super) figures: Vec<(&'static str, String)>,
    pub(super) zone: String,
}

/// An attempt that took long.
#[derive(Debug)]
pub(super) struct SlowRow {
    pub(super) jid: String,
    pub(super) link: String,
    pub(super) ran: String,
    pub(super) ended: String,
    pub(super) ended_at: String,
}

/// The slowest attempts of the last hour.
pub(super) async fn slowest(
    hive: &Hive,
    queue: &QueueName,
    zone: &Zone,
) -> Result<Vec<SlowRow>, Problem> {
    let now = hive.now_ms();
    let times = hive.times(queue, &TimesQuery::last(HOUR_MS, now)).await?;
    let row = |one: &SlowAttempt| SlowRow {
        jid: one.jid.clone(),
        link: link::job(&one.jid),
        ran: format::duration_ms(one.run_ms),
        ended: format::relative(one.at, now),
        ended_at: zone.exact(one.at),
    };
    Ok(times.slowest.iter().map(row).collect())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Two hours of which the second has no attempt.
    pub(super) fn history() -> History {
        let mut busy =
            Record { at: HOUR_MS, submitted: 5, completed: 3, failed: 1, ..Record::default() };
        [10, 20, 30, 4_000].into_iter().for_each(|ms| busy.wait.record(ms));
        let idle = Record { at: 2 * HOUR_MS, ..Record::default() };
        let sum = busy.clone();
        History {
            span: Span::Week,
            from: HOUR_MS,
            records: vec![busy, idle],
            sum,
            now: 100 * HOUR_MS,
        }
    }

    #[test]
    fn a_place_without_attempts_is_a_gap_and_says_so() {
        let [throughput, wait, run] = &history().charts(&Zone::default())[..] else {
            panic!("three charts")
        };
        assert_eq!(throughput.bars.len(), 2);
        assert!(throughput.slots[0].title.contains("5 submitted, 3 completed, 1 failed"));
        assert_eq!(wait.lines.len(), 3);
        assert!(wait.lines.iter().all(|line| line.path.matches('M').count() == 1), "{wait:?}");
        assert_eq!(wait.slots[1].title, "1 Jan 02:00: no attempt ended");
        assert!(run.note.contains("No attempt ended"), "{run:?}");
    }

    #[test]
    fn a_range_is_one_of_four() {
        let query = |range: &str| SpanQuery { range: range.into() }.span();
        assert_eq!(query("").ok(), Some(Span::Hour));
        assert_eq!(query("30d").ok(), Some(Span::Month));
        let refused = query("1y").expect_err("no such range");
        assert!(refused.message().contains("use one of 1h, 24h, 7d, 30d"), "{}", refused.message());
    }
}
