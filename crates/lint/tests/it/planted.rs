//! Violations of every rule among many keys: all are found, and nothing else.

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, stream};
use keyrack_keys::Registry;
use keyrack_keys::file::{Source, read};
use keyrack_lint::{Options, lint};
use keyrack_store::Store;

use crate::worlds::{on_both_engines, on_cluster};

#[path = "../planted/world.rs"]
mod world;

use world::{FAMILIES, FILE, Line, Place, row, violation};

const KEYS: u32 = 20_000;
const PLANTED: u32 = 20;
/// Commands on their way at once.
const AT_ONCE: usize = 64;

async fn write(store: &Store, lines: Vec<Line>) {
    let other = store.database(1).await.ok();
    let send = async |(db, words): Line| {
        let store = if db == 0 { Some(store) } else { other.as_ref() };
        let mut cmd = redis::cmd(&words[0]);
        cmd.arg(&words[1..]);
        let mut connection = store.expect("a database").connection();
        let reply: redis::RedisResult<redis::Value> = cmd.query_async(&mut connection).await;
        reply.unwrap_or_else(|error| panic!("{words:?}: {error}"));
    };
    stream::iter(lines).for_each_concurrent(AT_ONCE, send).await;
}

async fn all_are_found(store: &Store, place: Place) {
    let rows = (1..=KEYS / FAMILIES).flat_map(|n| row(place, n));
    let planted = place.rules().flat_map(|rule| (0..PLANTED).map(move |i| (rule, i)));
    let planted = planted.flat_map(|(rule, i)| violation(place, rule, i));
    // The embedded engine has no streams, HyperLogLogs or bits, so it has no keys of those families either.
    let left_out: &[&str] =
        if store.engine().is_some() { &["XADD", "PFADD", "SETBIT"] } else { &[] };
    let lines = rows.chain(planted).filter(|(_, words)| !left_out.contains(&words[0].as_str()));
    // A key has to be there before it can expire.
    let (later, now): (Vec<Line>, Vec<Line>) = lines.partition(|(_, words)| words[0] == "EXPIRE");
    write(store, now).await;
    write(store, later).await;

    let documents = read(&[Source { name: "planted.keys.toml", text: FILE }]).unwrap();
    let registry = Registry::new(&[&documents[0].families]);
    let options = Options { findings_max: 10_000, ..Options::default() };
    let report = lint(store, &registry, &options, |_| {}).await.unwrap();
    let mut found: BTreeMap<String, u32> = BTreeMap::new();
    for finding in &report.findings {
        // Keys of no family are one finding for each shape.
        let n = if finding.rule.code() == "KL01" { finding.places } else { 1 };
        *found.entry(finding.rule.code().to_owned()).or_default() += n as u32;
        let planted = finding.key.contains("00000") || finding.key == "stray:<stray>";
        assert!(planted, "{finding} was not planted");
    }
    let expected: BTreeMap<String, u32> =
        place.rules().map(|rule| (format!("KL{rule:02}"), PLANTED)).collect();
    assert_eq!(found, expected);
    let n_families = FAMILIES as usize + 1 - left_out.len();
    assert_eq!(report.families.len(), n_families);
}

#[tokio::test]
async fn every_planted_violation_is_found_on_both_engines() {
    on_both_engines(async |store| all_are_found(store, Place::Server).await).await;
}

#[tokio::test]
async fn every_planted_violation_is_found_on_a_cluster() {
    on_cluster(async |store| all_are_found(store, Place::Cluster).await).await;
}
