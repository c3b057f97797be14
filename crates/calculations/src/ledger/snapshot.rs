//! Reading what is needed to add values to a key, in one call.

use std::{borrow::Cow, collections::HashMap};

use keyrack_keys::Key;
use keyrack_store::{Script, Store, script};

use super::key::{Declared, KeyId};
use crate::{
    error::Error,
    keys::{self, Calculation},
    settings::Settings,
};

static SNAPSHOT: Script = script!("snapshot.lua");

/// What a look at a key has shown.
#[derive(Debug)]
pub(crate) struct KeySnapshot {
    pub(crate) version: u64,
    /// Results that are up to date.
    pub(crate) built: Declared,
    /// Who is building, and when that last got on.
    pub(crate) builder: Option<(String, u64)>,
    /// How many values there are.
    pub(crate) values_len: u64,
    pub(crate) settings: Settings,
    pub(crate) declared: Declared,
    /// Changes when rules are made or deleted.
    pub(crate) rules_mark: (String, String),
    /// The values at the times asked for.
    pub(crate) values: Vec<Option<String>>,
    /// The fields of each hash asked for.
    pub(crate) fields: Vec<Vec<Option<String>>>,
}

type Reply = (
    Vec<Option<String>>,
    u64,
    HashMap<String, String>,
    Vec<String>,
    (String, String),
    Vec<Option<String>>,
);

/// Looks at a key: its values at some times, and fields of some hashes beside it.
pub(crate) async fn read_snapshot(
    store: &Store,
    id: &KeyId,
    times: &[&str],
    hashes: &[(Key, Vec<String>)],
) -> Result<KeySnapshot, Error> {
    let intervals: Vec<Key> =
        Calculation::ALL.iter().map(|calculation| id.intervals(*calculation)).collect();
    let n_fields: usize = hashes.iter().map(|(_, fields)| fields.len() + 1).sum();
    let mut rest: Vec<Cow<'_, [u8]>> = Vec::with_capacity(times.len() + n_fields + 1);
    let count = |n: usize| Cow::Owned(n.to_string().into_bytes());
    rest.push(count(times.len()));
    rest.extend(times.iter().map(|time| Cow::Borrowed(time.as_bytes())));
    for (_, fields) in hashes {
        rest.push(count(fields.len()));
        rest.extend(fields.iter().map(|field| Cow::Borrowed(field.as_bytes())));
    }
    let reply: redis::Value = SNAPSHOT
        .call(store)
        .key("head", &id.head())
        .key("settings", &keys::settings(&id.project, &id.account))
        .key("values", &id.values())
        .key("calculations", &id.calculations())
        .key("rule_counter", &keys::rule_counter(&id.account))
        .key("rules", &keys::rules(&id.project, &id.account))
        .keys("more", intervals.iter().chain(hashes.iter().map(|(key, _)| key)))
        .arg("words", Calculation::WORDS.join(" "))
        .many_args("rest", rest)
        .run()
        .await?;
    parse(reply)
}

fn parse(reply: redis::Value) -> Result<KeySnapshot, Error> {
    let redis::Value::Array(mut parts) = reply else {
        return Err(
            redis::RedisError::from((redis::ErrorKind::UnexpectedReturnType, "no list")).into()
        );
    };
    let fields = parts.split_off(parts.len().min(6));
    let (head, values_len, settings, declared, rules_mark, values): Reply =
        redis::from_redis_value(redis::Value::Array(parts)).map_err(redis::RedisError::from)?;
    let mut head = head.into_iter();
    let mut next = || head.next().flatten();
    let version = next().and_then(|version| version.parse().ok()).unwrap_or(0);
    let built = next().map(|built| Declared::parse_built(&built)).unwrap_or_default();
    let builder = next();
    let builder_at = next().and_then(|at| at.parse().ok()).unwrap_or(0);
    let mut pairs = Declared::default();
    for pair in declared.chunks_exact(2) {
        // Words that other programs have put there are not ours to calculate.
        if let (Ok(calculation), Ok(interval)) = (pair[0].parse(), pair[1].parse()) {
            pairs.insert((calculation, interval));
        }
    }
    Ok(KeySnapshot {
        version,
        built,
        builder: builder.map(|builder| (builder, builder_at)),
        values_len,
        settings: Settings::stored(&settings),
        declared: pairs,
        rules_mark,
        values,
        fields: redis::from_redis_value(redis::Value::Array(fields))
            .map_err(redis::RedisError::from)?,
    })
}
