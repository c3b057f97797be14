//! BullMQ's jobs: lists and sorted sets of ids for each queue, and a hash for each job.

use std::{collections::BTreeSet, time::Duration};

use keyrack_jobs::bee::Backoff;
use keyrack_store::{Connection, Store};
use redis::Pipeline;
use serde::Deserialize;

use super::{
    foreign::{Foreign, Unfit, keys_like, literal},
    place::{Entry, Kind, Place},
};

/// In the score of a delayed job, the time is multiplied by this, and the rest keeps those of one millisecond apart.
const SCORES_IN_MS: f64 = 4096.0;

/// The fields that are read, in this order.
const FIELDS: [&str; 8] = ["name", "data", "opts", "priority", "atm", "rjk", "parentKey", "deid"];

pub(super) async fn places(
    source: &Store,
    prefix: &str,
    queues: &[String],
) -> anyhow::Result<Vec<Place>> {
    let kinds = [
        ("wait", Kind::OldestLast),
        ("paused", Kind::OldestLast),
        ("prioritized", Kind::ByPriority),
        ("delayed", Kind::ByTime),
    ];
    let names = names(source, prefix, queues).await?;
    let of_queue = |queue: &String| {
        kinds.map(|(name, kind)| Place {
            key: format!("{prefix}:{queue}:{name}"),
            kind,
            queue: queue.clone(),
            priority: 0.0,
        })
    };
    Ok(names.iter().flat_map(of_queue).collect())
}

async fn names(
    source: &Store,
    prefix: &str,
    queues: &[String],
) -> anyhow::Result<BTreeSet<String>> {
    if !queues.is_empty() {
        return Ok(queues.iter().cloned().collect());
    }
    let (before, after) = (format!("{prefix}:"), ":meta");
    let keys = keys_like(source, &format!("{}*{after}", literal(&before))).await?;
    let name = |key: &String| Some(key.strip_prefix(&before)?.strip_suffix(after)?.to_owned());
    Ok(keys.iter().filter_map(name).collect())
}

/// Jobs that are not looked at.
pub(super) async fn others(
    source: &Store,
    prefix: &str,
    queues: &[String],
) -> anyhow::Result<Vec<(Unfit, u64)>> {
    let (mut parents, mut schedules) = (0, 0);
    for queue in names(source, prefix, queues).await? {
        let count = async |name: &str| {
            let mut cmd = redis::cmd("ZCARD");
            cmd.arg(format!("{prefix}:{queue}:{name}"));
            cmd.query_async::<u64>(&mut source.connection()).await
        };
        parents += count("waiting-children").await?;
        schedules += count("repeat").await?;
    }
    let schedule = "it is a schedule; write it as a recurring job (docs/jobs.md)";
    Ok(vec![
        (Unfit::new("it waits for its children in a flow"), parents),
        (Unfit::new(schedule), schedules),
    ])
}

/// The jobs of ids.
pub(super) async fn read(
    from: &mut Connection,
    prefix: &str,
    place: &Place,
    entries: &[Entry],
) -> anyhow::Result<Vec<Result<Foreign, Unfit>>> {
    let base = format!("{prefix}:{}:", place.queue);
    let mut ask = Pipeline::new();
    for entry in entries {
        let key = [base.as_bytes(), &entry.text].concat();
        ask.cmd("HMGET").arg(&key).arg(&FIELDS);
        ask.cmd("EXISTS").arg([&key[..], b":processed"].concat());
    }
    let answers: Vec<redis::Value> = ask.query_async(from).await?;
    let mut jobs = Vec::with_capacity(entries.len());
    for (entry, answer) in entries.iter().zip(answers.chunks(2)) {
        let answer = redis::Value::Array(answer.to_vec());
        let (fields, has_children): (Vec<Option<String>>, bool) =
            redis::from_redis_value(answer).map_err(redis::RedisError::from)?;
        jobs.push(job(&base, place, entry, fields, has_children));
    }
    Ok(jobs)
}

fn job(
    base: &str,
    place: &Place,
    entry: &Entry,
    fields: Vec<Option<String>>,
    has_children: bool,
) -> Result<Foreign, Unfit> {
    let mut fields = fields.into_iter().map(|field| field.filter(|text| !text.is_empty()));
    let mut field = || fields.next().flatten();
    let (name, data, opts) = (field(), field(), field());
    let (priority, made, schedule, parent, deduplication) =
        (field(), field(), field(), field(), field());
    let (Some(data), Some(id)) = (data, entry.as_text()) else {
        return Err(Unfit::new("it is not there any more"));
    };
    if schedule.is_some() || id.starts_with("repeat:") {
        return Err(Unfit::new("it was made by a schedule, which makes the next one"));
    }
    if parent.is_some() || has_children {
        return Err(Unfit::new("it is part of a flow"));
    }
    let opts: Opts = opts.and_then(|opts| serde_json::from_str(&opts).ok()).unwrap_or_default();
    // The same id may be in several queues.
    let mut job = Foreign::new(&format!("{base}{id}"), &place.queue, format!("[{data}]"));
    let made: u32 = made.and_then(|made| made.parse().ok()).unwrap_or(0);
    let attempts = opts.attempts.unwrap_or(1).max(1);
    job.retries = Some(attempts.saturating_sub(1).saturating_sub(made));
    job.backoff = opts.backoff.and_then(BackoffOpts::ours);
    job.priority = -priority.and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0).abs();
    if place.kind == Kind::ByTime {
        job.due_ms = entry.score.map(|score| (score / SCORES_IN_MS).floor());
    }
    job.tag = name.filter(|name| name != "__default__");
    job.keys = ["", ":logs"].map(|part| format!("{base}{id}{part}")).to_vec();
    if let Some(deduplication) = deduplication {
        // Otherwise it would keep new jobs away for one that is not there.
        job.keys.push(format!("{base}de:{deduplication}"));
    }
    Ok(job)
}

#[derive(Default, Deserialize)]
struct Opts {
    attempts: Option<u32>,
    backoff: Option<BackoffOpts>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum BackoffOpts {
    Fixed(f64),
    Named {
        #[serde(rename = "type")]
        kind: String,
        delay: Option<f64>,
        jitter: Option<f64>,
    },
}

impl BackoffOpts {
    /// Nothing for a kind that only the library's worker knows.
    fn ours(self) -> Option<Backoff> {
        let wait = |ms: f64| Duration::try_from_secs_f64(ms / 1000.0).ok();
        match self {
            BackoffOpts::Fixed(ms) => Some(Backoff::fixed(wait(ms)?)),
            BackoffOpts::Named { kind, delay, jitter } => {
                let first = wait(delay.unwrap_or(0.0))?;
                let backoff = match kind.as_str() {
                    "fixed" => Backoff::fixed(first),
                    "exponential" => Backoff::exponential(first),
                    _ => return None,
                };
                Some(Backoff { jitter: jitter.or(backoff.jitter), ..backoff })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: Kind, score: Option<f64>, fields: [Option<&str>; 8]) -> Result<Foreign, Unfit> {
        let place = Place { key: "k".into(), kind, queue: "emails".into(), priority: 0.0 };
        let entry = Entry { text: b"7".to_vec(), score };
        let fields = fields.map(|field| field.map(str::to_owned)).to_vec();
        job("bull:emails:", &place, &entry, fields, false)
    }

    #[test]
    fn options_are_kept() {
        let opts = r#"{"attempts": 4, "backoff": {"type": "exponential", "delay": 500}}"#;
        let fields = [
            Some("send"),
            Some("{\"n\":12345678901234567890}"),
            Some(opts),
            Some("3"),
            Some("1"),
            None,
            None,
            Some("once"),
        ];
        let job = read(Kind::ByTime, Some(7_352_315_749_142_528.0), fields).expect("a job");
        assert_eq!((job.name.as_str(), job.tag.as_deref()), ("emails", Some("send")));
        assert_eq!(job.args, r#"[{"n":12345678901234567890}]"#);
        assert_eq!((job.retries, job.priority), (Some(2), -3.0));
        assert_eq!(job.backoff, Some(Backoff::exponential(Duration::from_millis(500))));
        assert_eq!(job.due_ms, Some(1_794_998_962_193.0));
        assert_eq!(job.keys[2], "bull:emails:de:once");
    }

    #[test]
    fn parts_of_flows_and_schedules_stay() {
        let none = [None; 8];
        let with = |n: usize| {
            let mut fields = none;
            (fields[1], fields[n]) = (Some("1"), Some("x"));
            read(Kind::OldestLast, None, fields).map(drop).map_err(|reason| reason.to_string())
        };
        assert_eq!(with(0), Ok(()));
        assert_eq!(with(5).unwrap_err(), "it was made by a schedule, which makes the next one");
        assert_eq!(with(6).unwrap_err(), "it is part of a flow");
        assert_eq!(
            read(Kind::OldestLast, None, none).unwrap_err().to_string(),
            "it is not there any more"
        );
    }
}
