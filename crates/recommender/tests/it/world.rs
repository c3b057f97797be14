//! A small app with its tables, and the store as text.

use std::{collections::BTreeMap, ops::ControlFlow};

use jiff::{Timestamp, tz::TimeZone};
use keyrack_recommender::{
    FAMILIES, Memory, Recommender, Settings, Source, Synced, Table, keys::UserId,
};
use keyrack_store::Store;

/// Midday of 12 January 2024 in Sydney.
pub(crate) const NOON: &str = "2024-01-12T01:00:00Z";

pub(crate) const DAY_MS: u64 = 86_400_000;

pub(crate) fn ms(moment: &str) -> u64 {
    let at: Timestamp = moment.parse().expect("a moment");
    u64::try_from(at.as_millisecond()).expect("after 1970")
}

pub(crate) fn user(id: &str) -> UserId {
    UserId::new(id).expect("a good id")
}

/// Days of Sydney, and posts that only announce a break.
fn settings() -> Settings {
    let zone = TimeZone::get("Australia/Sydney").expect("a zone of the bundled database");
    Settings { zone, break_text: "I have a break today".into(), ..Settings::default() }
}

pub(crate) fn recommender(store: &Store) -> Recommender {
    Recommender::new(store.clone(), settings())
}

pub(crate) async fn sync(store: &Store, source: &mut impl Source) -> Synced {
    let synced = recommender(store).sync(source, &mut |_| ControlFlow::Continue(())).await;
    synced.unwrap_or_else(|error| panic!("the load on {store}: {error:?}"))
}

/// The rows of the app as they are on 12 January 2024: table, then values; an empty text is a null.
pub(crate) const ROWS: &[(Table, &[&str])] = &[
    (Table::Challenges, &["1", "0", "1", "30", "2024-01-05 00:00:00"]),
    (Table::Challenges, &["2", "1", "0", "14", "2024-01-08 00:00:00"]),
    (Table::Challenges, &["3", "3", "1", "", "2024-01-10 00:00:00"]),
    (Table::Challenges, &["4", "", "1", "10", "2024-01-10 00:00:00"]),
    (Table::Challenges, &["5", "4", "1", "7", "2023-11-01 00:00:00"]),
    (Table::Members, &["1", "10"]),
    (Table::Members, &["1", "11"]),
    (Table::Members, &["2", "10"]),
    (Table::Members, &["3", "12"]),
    (Table::Members, &["5", "11"]),
    (Table::Members, &["99", "10"]),
    (Table::Posts, &["100", "10", "1", "2024-01-11 20:00:00", "Ran 5 km, \"easy\""]),
    (Table::Posts, &["101", "11", "1", "2024-01-10 20:00:00", "Rain"]),
    (Table::Posts, &["102", "10", "2", "2024-01-11 20:00:00", "Between us"]),
    (Table::Posts, &["103", "12", "3", "2024-01-11 02:00:00", "First day"]),
    (Table::Posts, &["104", "11", "1", "2024-01-11 20:00:00", "I have a break today!"]),
    (Table::Posts, &["105", "10", "1", "2024-01-01 00:00:00", "Long ago"]),
    (Table::Posts, &["106", "10", "77", "2024-01-11 20:00:00", "Whose?"]),
    (Table::Posts, &["107", "10", "1", "2024-01-11 21:00:00", "I have a break today."]),
    (Table::Reactions, &["1", "100", "12", "0"]),
    (Table::Reactions, &["2", "100", "12", "1"]),
    (Table::Reactions, &["3", "103", "10", "0"]),
    (Table::Reactions, &["4", "102", "11", "0"]),
    (Table::Reactions, &["5", "101", "10", "0"]),
    (Table::Tracking, &["12", "1", "0"]),
    (Table::Tracking, &["11", "3", "1"]),
];

pub(crate) fn app() -> Memory {
    let mut app = Memory::default();
    for (table, values) in ROWS {
        app.push(*table, values);
    }
    app
}

/// What the store holds after a first load of [`ROWS`] on 12 January.
pub(crate) const LOADED: &[&str] = &[
    "10_clgs_preference: 1=1 3=1",
    "10_liked_posts: 101 103",
    "12_clgs_preference: 1=0.4",
    "12_followed_clgs: 1",
    "12_liked_posts: 100",
    "clg1posts: 100=100 101=101",
    "clg3posts: 103=103",
    "clg_neighbours: 1=[[3,0.2864]] 3=[[1,0.311]]",
    "clg_reception: 1=2,1,1.317,0 3=1,1,0.762,0",
    "db_len: clg=5 mmbr=6 post=8 reaction=5 tracking=2",
    "on_clg_info: 1=0,1,30,2024-02-04 2=1,0,14,2024-01-22 3=3,1,0,2024-01-10",
    "post_author: 100=10 101=11 103=12",
    "post_clg_pair: 100=1 101=1 103=3",
    "post_popularity: 101=1 103=1",
    "recent_posts_for_category1: 100=0 101=6",
    "recent_posts_for_category4: 103=6",
    "rs_breaks: 10=1,0,0,0,0 11=1,0,0,0,0",
    "rs_learned: day=2024-01-12 likes_by_age=[0.5556,0.7619,0.6667,0.6667,0.6667,0.6667,0.6667]",
    "rs_param: day_index=0 last_run=2024-01-12 ring=7",
    "rs_users: 10 12",
    "rs_watermark: post=107 reaction=5",
    "user_contribution: 10=29,14,0,0,0 11=29,0,0,0,7 12=0,0,0,0,0",
];

/// Everything the store holds, a line for each key under its documented name.
pub(crate) async fn dump(store: &Store) -> Vec<String> {
    let mut lines = BTreeMap::new();
    for keyspace in store.keyspaces().await.expect("a store that answers") {
        let mut cursor = 0;
        loop {
            let (next, keys) = keyspace.scan(cursor, None, 1000).await.expect("a scan");
            for key in keys {
                let key = String::from_utf8(key).expect("text");
                let line = content(store, &key).await;
                lines.insert(key.trim_start_matches("{recommender}").replace(['{', '}'], ""), line);
            }
            if next == 0 {
                break;
            }
            cursor = next;
        }
    }
    lines.into_iter().map(|(key, line)| format!("{key}: {line}")).collect()
}

async fn content(store: &Store, key: &str) -> String {
    let mut connection = store.connection();
    let kind: String =
        redis::cmd("TYPE").arg(key).query_async(&mut connection).await.expect("a type");
    let pairs = |values: Vec<String>| -> Vec<String> {
        values.chunks(2).map(|pair| format!("{}={}", pair[0], pair[1])).collect()
    };
    let mut cmd = match kind.as_str() {
        "hash" => redis::cmd("HGETALL"),
        "set" => redis::cmd("SMEMBERS"),
        _ => redis::cmd("ZRANGE"),
    };
    cmd.arg(key);
    if kind == "zset" {
        cmd.arg(&["0", "-1"]).arg("WITHSCORES");
    }
    let raw: redis::Value = cmd.query_async(&mut connection).await.expect("a value");
    let mut words = match kind.as_str() {
        "hash" => {
            let map: BTreeMap<String, String> = redis::from_redis_value(raw).expect("a hash");
            map.into_iter().map(|(field, value)| format!("{field}={value}")).collect()
        }
        "zset" => pairs(flat(raw)),
        _ => redis::from_redis_value::<Vec<String>>(raw).expect("a set"),
    };
    words.sort();
    words.join(" ")
}

/// Members and scores as texts; scores are numbers in one protocol and texts in the other.
fn flat(value: redis::Value) -> Vec<String> {
    let pairs: Vec<(String, f64)> = redis::from_redis_value(value).expect("a sorted set");
    pairs.into_iter().flat_map(|(member, score)| [member, score.to_string()]).collect()
}

/// Proves that everything in the store is as declared.
pub(crate) async fn assert_declared(store: &Store) {
    let registry = keyrack_keys::Registry::new(&[FAMILIES]);
    let report = keyrack_lint::lint(store, &registry, &Default::default(), |_| {}).await;
    let findings = report.expect("a report").findings;
    assert!(findings.is_empty(), "{findings:?}");
}
