//! Celery's messages in Redis, as kombu writes them: a list for each queue and priority.

use std::{collections::BTreeSet, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use keyrack_store::Store;
use serde::Deserialize;
use serde_json::{Value as Json, value::RawValue};

use super::{
    foreign::{Foreign, Unfit, keys_like, literal},
    place::{Entry, Kind, Place},
};

/// Stands between the parts of a binding, and before the priority in the name of a list.
const SEPARATOR: &str = "\u{6}\u{16}";
/// The steps to which kombu rounds priorities; 0 is taken first and stands in no name.
const PRIORITIES: [u8; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

pub(super) async fn places(
    source: &Store,
    prefix: &str,
    queues: &[String],
) -> anyhow::Result<Vec<Place>> {
    let mut names: BTreeSet<String> = queues.iter().cloned().collect();
    if queues.is_empty() {
        names.extend(known_queues(source, prefix).await?);
    }
    let place = |queue: &String, priority: u8| {
        let key = match priority {
            0 => format!("{prefix}{queue}"),
            priority => format!("{prefix}{queue}{SEPARATOR}{priority}"),
        };
        Place { key, kind: Kind::OldestLast, queue: queue.clone(), priority: -f64::from(priority) }
    };
    let of_queue = |queue| PRIORITIES.map(|priority| place(queue, priority));
    Ok(names.iter().flat_map(of_queue).collect())
}

/// The queues that messages were bound to. Celery's own are for its commands and events.
async fn known_queues(source: &Store, prefix: &str) -> anyhow::Result<Vec<String>> {
    let mut queues = Vec::new();
    for key in keys_like(source, &format!("{}_kombu.binding*", literal(prefix))).await? {
        let mut kind = redis::cmd("TYPE");
        let kind: String = kind.arg(&key).query_async(&mut source.connection()).await?;
        if kind != "set" {
            continue;
        }
        let mut members = redis::cmd("SMEMBERS");
        let members: Vec<String> = members.arg(&key).query_async(&mut source.connection()).await?;
        let names = members.iter().filter_map(|member| member.rsplit(SEPARATOR).next());
        let own = |name: &str| name.ends_with(".pidbox") || name.starts_with("celeryev");
        queues.extend(names.filter(|name| !own(name)).map(str::to_owned));
    }
    Ok(queues)
}

/// Messages that are not looked at: those that workers have, because they run or are due later.
pub(super) async fn others(source: &Store, prefix: &str) -> anyhow::Result<Vec<(Unfit, u64)>> {
    let mut cmd = redis::cmd("HLEN");
    let n = cmd.arg(format!("{prefix}unacked")).query_async(&mut source.connection()).await?;
    let reason = "a worker has it; stop Celery's workers, which puts it back, and import again";
    Ok(vec![(Unfit::new(reason), n)])
}

#[derive(Deserialize)]
struct Message<'a> {
    body: String,
    #[serde(rename = "content-type")]
    content_type: Option<String>,
    #[serde(rename = "content-encoding")]
    content_encoding: Option<String>,
    #[serde(default)]
    headers: Headers,
    #[serde(borrow)]
    properties: Properties<'a>,
}

#[derive(Default, Deserialize)]
struct Headers {
    task: Option<String>,
    id: Option<String>,
    eta: Option<String>,
    expires: Option<Json>,
    timelimit: Option<(Option<f64>, Option<f64>)>,
    compression: Option<String>,
}

#[derive(Deserialize)]
struct Properties<'a> {
    body_encoding: Option<&'a str>,
}

/// What follows a task, or waits for it.
#[derive(Default, Deserialize)]
struct Embedded {
    callbacks: Option<Vec<Json>>,
    errbacks: Option<Vec<Json>>,
    chain: Option<Vec<Json>>,
    chord: Option<Json>,
}

impl Embedded {
    fn is_empty(&self) -> bool {
        let none = |list: &Option<Vec<Json>>| list.as_ref().is_none_or(Vec::is_empty);
        none(&self.callbacks) && none(&self.errbacks) && none(&self.chain) && self.chord.is_none()
    }
}

/// The job of a message.
pub(super) fn read(place: &Place, entry: &Entry) -> Result<Foreign, Unfit> {
    let message: Message<'_> = serde_json::from_slice(&entry.text)
        .map_err(|_| Unfit::new("it is no message of Celery"))?;
    let (Some(task), Some(id)) = (&message.headers.task, &message.headers.id) else {
        return Err(Unfit::new("it is a message of Celery before 4.0"));
    };
    let body = message.body()?;
    let body = std::str::from_utf8(&body).map_err(|_| not_json())?;
    let (args, kwargs, embedded) = parts(body)?;
    if !embedded.is_empty() {
        return Err(Unfit::new("it is part of a chain or chord, or has callbacks"));
    }
    let mut job = Foreign::new(id, task, arguments(args, kwargs)?);
    job.due_ms = message.headers.eta.as_deref().map(time).transpose()?;
    job.expires_ms = match &message.headers.expires {
        Some(Json::String(text)) => Some(time(text)?),
        _ => None,
    };
    job.priority = place.priority;
    let hard = message.headers.timelimit.and_then(|(hard, _)| hard);
    job.timeout = hard.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    Ok(job)
}

impl Message<'_> {
    fn body(&self) -> Result<Vec<u8>, Unfit> {
        if self.content_type.as_deref() != Some("application/json") {
            return Err(not_json());
        }
        if self.headers.compression.is_some() {
            return Err(Unfit::new("its body is compressed"));
        }
        match (self.properties.body_encoding, self.content_encoding.as_deref()) {
            (Some("base64"), _) => STANDARD.decode(&self.body).map_err(|_| not_json()),
            (None, Some("utf-8") | None) => Ok(self.body.clone().into_bytes()),
            _ => Err(not_json()),
        }
    }
}

fn not_json() -> Unfit {
    Unfit::new("its arguments are no JSON")
}

/// Arguments, keyword arguments, and what is embedded beside them.
fn parts(body: &str) -> Result<(&RawValue, &RawValue, Embedded), Unfit> {
    let (args, kwargs, embedded): (&RawValue, &RawValue, Option<Embedded>) =
        serde_json::from_str(body).map_err(|_| not_json())?;
    Ok((args, kwargs, embedded.unwrap_or_default()))
}

/// Both kinds of arguments as one list.
fn arguments(args: &RawValue, kwargs: &RawValue) -> Result<String, Unfit> {
    let mut list: Vec<&RawValue> = serde_json::from_str(args.get()).map_err(|_| not_json())?;
    let keywords: serde_json::Map<String, Json> =
        serde_json::from_str(kwargs.get()).map_err(|_| not_json())?;
    if !keywords.is_empty() {
        list.push(kwargs);
    }
    serde_json::to_string(&list).map_err(|_| not_json())
}

/// A time in ISO 8601, in UTC unless it says so.
fn time(text: &str) -> Result<f64, Unfit> {
    let with_zone = text.parse::<Timestamp>().ok();
    let in_utc = || {
        let civil = text.parse::<DateTime>().ok()?;
        Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    let moment = with_zone.or_else(in_utc);
    let moment = moment.ok_or_else(|| Unfit::new("it is due at a time that cannot be read"))?;
    Ok(moment.as_millisecond() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(headers: &str, body: &str) -> Entry {
        let body = STANDARD.encode(body);
        let text = format!(
            r#"{{"body": "{body}", "content-type": "application/json", "content-encoding": "utf-8",
                "headers": {{"task": "shop.add", "id": "1" {headers}}}, "properties": {{"body_encoding": "base64"}}}}"#
        );
        Entry { text: text.into_bytes(), score: None }
    }

    fn place() -> Place {
        let queue = "celery".to_owned();
        Place { key: queue.clone(), kind: Kind::OldestLast, queue, priority: -3.0 }
    }

    fn reason(entry: &Entry) -> String {
        read(&place(), entry).expect_err("it stays").to_string()
    }

    #[test]
    fn numbers_keep_their_digits_and_keywords_come_last() {
        let entry = message("", r#"[[18446744073709551616, "ä"], {"b": 1.50}, {"chord": null}]"#);
        let job = read(&place(), &entry).expect("a job");
        assert_eq!(job.args, r#"[18446744073709551616,"ä",{"b": 1.50}]"#);
        assert_eq!((job.name.as_str(), job.priority, job.due_ms), ("shop.add", -3.0, None));
    }

    #[test]
    fn times_and_limits_are_kept() {
        let headers = r#", "eta": "2026-11-18T12:00:00.250000+02:00", "expires": "2026-11-18T11:00:00", "timelimit": [2.5, null]"#;
        let job = read(&place(), &message(headers, "[[], {}, null]")).expect("a job");
        assert_eq!(job.due_ms, Some(1_794_996_000_250.0));
        assert_eq!(job.expires_ms, Some(1_794_999_600_000.0));
        assert_eq!((job.timeout, job.args.as_str()), (Some(Duration::from_millis(2500)), "[]"));
    }

    #[test]
    fn what_would_be_lost_stays() {
        let chain = message("", r#"[[], {}, {"chain": [{"task": "x"}]}]"#);
        assert_eq!(reason(&chain), "it is part of a chain or chord, or has callbacks");
        let late = message(r#", "eta": "soon""#, "[[], {}, null]");
        assert_eq!(reason(&late), "it is due at a time that cannot be read");
        assert_eq!(reason(&message("", "nonsense")), "its arguments are no JSON");
        let entry = Entry { text: b"\xff".to_vec(), score: None };
        assert_eq!(reason(&entry), "it is no message of Celery");
    }
}
