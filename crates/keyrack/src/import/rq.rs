//! RQ's jobs: a list of ids for each queue, and a hash for each job.

use std::{collections::BTreeSet, io::Read as _, time::Duration};

use flate2::read::ZlibDecoder;
use keyrack_jobs::bee::Backoff;
use keyrack_store::{Connection, Store};
use redis::Pipeline;
use serde_json::{Value as Json, value::RawValue};

use super::{
    foreign::{Foreign, Unfit},
    pickle,
    place::{Entry, Kind, Place},
};

/// The most bytes of a call that are unpacked: a job takes no more arguments than a quarter of that.
const CALL_BYTES_MAX: u64 = 4 * 1024 * 1024;

const QUEUES: &str = "rq:queues";
/// What stands before a queue's name in that set.
const QUEUE: &str = "rq:queue:";

pub(super) async fn places(source: &Store, queues: &[String]) -> anyhow::Result<Vec<Place>> {
    let names = names(source, queues).await?;
    let place = |key: String, kind, queue: &str| Place {
        key,
        kind,
        queue: queue.to_owned(),
        priority: 0.0,
    };
    let of_queue = |queue: &String| {
        [
            place(format!("{QUEUE}{queue}"), Kind::OldestFirst, queue),
            place(format!("rq:scheduled:{queue}"), Kind::ByTime, queue),
        ]
    };
    Ok(names.iter().flat_map(of_queue).collect())
}

async fn names(source: &Store, queues: &[String]) -> anyhow::Result<BTreeSet<String>> {
    if !queues.is_empty() {
        return Ok(queues.iter().cloned().collect());
    }
    let mut cmd = redis::cmd("SMEMBERS");
    let keys: Vec<String> = cmd.arg(QUEUES).query_async(&mut source.connection()).await?;
    Ok(keys.iter().filter_map(|key| Some(key.strip_prefix(QUEUE)?.to_owned())).collect())
}

/// Jobs that are not looked at.
pub(super) async fn others(source: &Store, queues: &[String]) -> anyhow::Result<Vec<(Unfit, u64)>> {
    let mut waiting = 0;
    for queue in names(source, queues).await? {
        let mut cmd = redis::cmd("ZCARD");
        cmd.arg(format!("rq:deferred:{queue}"));
        waiting += cmd.query_async::<u64>(&mut source.connection()).await?;
    }
    Ok(vec![(Unfit::new("it waits for other jobs"), waiting)])
}

/// The fields that are read, in this order.
const FIELDS: [&str; 7] = [
    "data",
    "timeout",
    "retries_left",
    "retry_intervals",
    "success_callback_name",
    "failure_callback_name",
    "stopped_callback_name",
];

/// The jobs of ids.
pub(super) async fn read(
    from: &mut Connection,
    place: &Place,
    entries: &[Entry],
) -> anyhow::Result<Vec<Result<Foreign, Unfit>>> {
    let mut ask = Pipeline::new();
    for entry in entries {
        let key = key(&entry.text);
        ask.cmd("HMGET").arg(&key).arg(&FIELDS);
        ask.cmd("EXISTS").arg([&key[..], b":dependents"].concat());
    }
    let answers: Vec<(Vec<Option<Vec<u8>>>, bool)> = pairs(&ask, from).await?;
    let jobs = entries.iter().zip(answers);
    Ok(jobs.map(|(entry, (fields, is_needed))| job(place, entry, &fields, is_needed)).collect())
}

/// The answers to a pipeline in pairs.
async fn pairs<T: redis::FromRedisValue>(
    ask: &Pipeline,
    from: &mut Connection,
) -> anyhow::Result<Vec<T>> {
    let answers: Vec<redis::Value> = ask.query_async(from).await?;
    let pairs = answers.chunks(2).map(|pair| {
        let pair = redis::Value::Array(pair.to_vec());
        redis::from_redis_value(pair).map_err(redis::RedisError::from)
    });
    Ok(pairs.collect::<Result<_, _>>()?)
}

fn key(id: &[u8]) -> Vec<u8> {
    [b"rq:job:", id].concat()
}

fn job(
    place: &Place,
    entry: &Entry,
    fields: &[Option<Vec<u8>>],
    is_needed: bool,
) -> Result<Foreign, Unfit> {
    let text = |n: usize| {
        let field = fields.get(n)?.as_deref()?;
        std::str::from_utf8(field).ok().filter(|text| !text.is_empty())
    };
    let (Some(Some(data)), Some(id)) = (fields.first(), entry.as_text()) else {
        return Err(Unfit::new("it is not there any more"));
    };
    if (4..=6).any(|callback| text(callback).is_some()) {
        return Err(Unfit::new("it has callbacks"));
    }
    if is_needed {
        return Err(Unfit::new("other jobs wait for it"));
    }
    let (function, args) = call(data)?;
    let mut job = Foreign::new(id, &function, args);
    if place.kind == Kind::ByTime {
        job.due_ms = entry.score.map(|seconds| seconds * 1000.0);
    }
    // RQ gives -1 for no limit.
    let timeout = text(1).and_then(|seconds| seconds.parse::<f64>().ok());
    job.timeout = timeout.filter(|seconds| *seconds > 0.0).map(Duration::from_secs_f64);
    let retries = text(2).and_then(|left| left.parse().ok()).unwrap_or(0);
    job.retries = Some(retries);
    if retries > 0 {
        job.backoff = Some(Backoff::fixed(first_interval(text(3))));
    }
    job.keys = vec![format!("rq:job:{id}")];
    Ok(job)
}

/// RQ waits for no time unless told.
fn first_interval(text: Option<&str>) -> Duration {
    let list: Option<Vec<f64>> = text.and_then(|text| serde_json::from_str(text).ok());
    let first = list.and_then(|list| list.first().copied()).unwrap_or(0.0);
    Duration::try_from_secs_f64(first).unwrap_or_default()
}

/// The name of the function, and its arguments as one JSON list: keyword arguments are an object at its end.
fn call(data: &[u8]) -> Result<(String, String), Unfit> {
    let unpacked = unpacked(data)?;
    // RQ writes pickles, or JSON if it is told to.
    let text = match std::str::from_utf8(&unpacked) {
        Ok(text) if text.starts_with('[') => text.to_owned(),
        _ => pickle::to_json(&unpacked)
            .map_err(|what| Unfit::new(format!("its arguments are no JSON: {what}")))?,
    };
    let not_a_call = |_| Unfit::new("it is no call of a function");
    let (function, instance, args, kwargs): (String, Json, Vec<&RawValue>, &RawValue) =
        serde_json::from_str(&text).map_err(not_a_call)?;
    if !instance.is_null() {
        return Err(Unfit::new("it calls a method of an object"));
    }
    let keywords: serde_json::Map<String, Json> =
        serde_json::from_str(kwargs.get()).map_err(not_a_call)?;
    let keywords = (!keywords.is_empty()).then_some(kwargs);
    let args: Vec<&RawValue> = args.into_iter().chain(keywords).collect();
    let args = serde_json::to_string(&args).map_err(not_a_call)?;
    Ok((function, args))
}

/// Most are packed by zlib; some versions of RQ did not.
fn unpacked(data: &[u8]) -> Result<Vec<u8>, Unfit> {
    let mut unpacked = Vec::new();
    match ZlibDecoder::new(data).take(CALL_BYTES_MAX + 1).read_to_end(&mut unpacked) {
        Err(_) => Ok(data.to_vec()),
        Ok(n) if n as u64 > CALL_BYTES_MAX => Err(Unfit::new("its arguments are too long")),
        Ok(_) => Ok(unpacked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_both_serializers_are_read() {
        // pickle.dumps(("shop.add", None, (1, "ä"), {"b": [2.5]}), 5)
        let pickled = b"\x80\x05\x95'\x00\x00\x00\x00\x00\x00\x00(\x8c\x08shop.add\x94NK\x01\x8c\x02\xc3\xa4\x94\x86\x94}\x94\x8c\x01b\x94]\x94G@\x04\x00\x00\x00\x00\x00\x00ast\x94.";
        let json = br#"["shop.add", null, [1, "\u00e4"], {"b": [2.5]}]"#;
        let of_pickle = call(pickled).expect("a call");
        assert_eq!(of_pickle, ("shop.add".into(), r#"[1,"ä",{"b":[2.5]}]"#.into()));
        assert_eq!(call(json).expect("a call").0, "shop.add");
    }

    #[test]
    fn what_is_no_call_stays() {
        for data in [&b""[..], b"[]", b"[1]", b"\x80\x05N.", b"x\x9cbroken", b"\xff\xfe"] {
            call(data).expect_err("no call");
        }
        let method = br#"["save", {"id": 1}, [], {}]"#;
        assert_eq!(call(method).unwrap_err().to_string(), "it calls a method of an object");
    }
}
