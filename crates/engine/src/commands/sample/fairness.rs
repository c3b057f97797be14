//! Random commands choose everything equally often, in every encoding and size, also after deletions.

use std::collections::HashMap;

use crate::{reply::Reply, test_engine::TestEngine};

/// Items of a collection; the larger ones are what deletions leave of eight times as many.
const SIZES: [usize; 3] = [10, 100, 1000];

/// A collection to draw from, and how.
struct Case {
    /// Adds item `{i}`.
    add: &'static str,
    remove: &'static str,
    item: fn(usize) -> String,
    /// Draws of one item each.
    one: &'static str,
    /// Draws of `{n}` items, and how many that are.
    many: &'static [(&'static str, usize)],
}

const INT: fn(usize) -> String = |i| (i * 7).to_string();
const NAME: fn(usize) -> String = |i| format!("m{i}");

#[test]
fn srandmember_is_fair() {
    for item in [INT, NAME] {
        check(&Case {
            add: "sadd k {i}",
            remove: "srem k {i}",
            item,
            one: "srandmember k",
            many: &[("srandmember k -1000", 1000), ("srandmember k 3", 3), ("srandmember k 6", 6)],
        });
    }
}

#[test]
fn hrandfield_is_fair() {
    // Small values are packed; one of 65 bytes and more makes a record and then a table of the hash.
    for add in [
        "hset k {i} v",
        concat!("hset k {i} ", "vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv"),
    ] {
        check(&Case {
            add,
            remove: "hdel k {i}",
            item: NAME,
            one: "hrandfield k",
            many: &[("hrandfield k -1000", 1000), ("hrandfield k 3", 3), ("hrandfield k 6", 6)],
        });
    }
}

#[test]
fn zrandmember_is_fair() {
    check(&Case {
        add: "zadd k 1 {i}",
        remove: "zrem k {i}",
        item: NAME,
        one: "zrandmember k",
        many: &[("zrandmember k -1000", 1000), ("zrandmember k 3", 3), ("zrandmember k 6", 6)],
    });
}

#[test]
fn randomkey_is_fair() {
    check(&Case { add: "set {i} v", remove: "del {i}", item: NAME, one: "randomkey", many: &[] });
}

#[test]
fn spop_is_fair() {
    for (item, n) in [(INT, 10), (INT, 100), (NAME, 10), (NAME, 100), (NAME, 1000)] {
        for pop in ["spop k", "spop k 2"] {
            let mut rig = TestEngine::new();
            let names: Vec<String> = (0..n).map(item).collect();
            rig.run(&format!("sadd k {}", names.join(" ")));
            let mut counts = HashMap::new();
            for _ in 0..draws(n) {
                let popped = items(rig.run(pop));
                rig.run(&format!("sadd k {}", popped.join(" ")));
                popped.into_iter().for_each(|item| *counts.entry(item).or_default() += 1);
            }
            assert_fair(&counts, n, &format!("{pop} from {n}"));
        }
    }
}

fn check(case: &Case) {
    for n in SIZES {
        for n_before in [n, n + n / 2, n * 8] {
            let mut rig = TestEngine::new();
            for i in 0..n_before {
                rig.run(&case.add.replace("{i}", &(case.item)(i)));
            }
            for i in n..n_before {
                rig.run(&case.remove.replace("{i}", &(case.item)(i)));
            }
            let what = |draw: &str| format!("{draw} from {n} of {n_before} by \"{}\"", case.add);
            let mut counts = HashMap::new();
            for _ in 0..draws(n) {
                items(rig.run(case.one)).into_iter().for_each(|item| count(&mut counts, item));
            }
            assert_fair(&counts, n, &what(case.one));
            for (draw, n_drawn) in case.many {
                let mut counts = HashMap::new();
                for _ in 0..draws(n) / n_drawn {
                    items(rig.run(draw)).into_iter().for_each(|item| count(&mut counts, item));
                }
                assert_fair(&counts, n, &what(draw));
            }
        }
    }
}

fn count(counts: &mut HashMap<String, u64>, item: String) {
    *counts.entry(item).or_default() += 1;
}

/// Enough that a table which favours entries alone in their bucket is far beyond the limit.
fn draws(n: usize) -> usize {
    (n * 20).max(10_000)
}

fn items(reply: Reply) -> Vec<String> {
    match reply {
        Reply::Bulk(item) => vec![String::from_utf8(item).expect("names are text")],
        Reply::Array(parts) | Reply::Set(parts) => parts.into_iter().flat_map(items).collect(),
        other => panic!("{other:?} is no item"),
    }
}

/// Pearson's test: the chance that fair draws are beyond the limit is one in a thousand, and the seed is always the same.
#[track_caller]
fn assert_fair(counts: &HashMap<String, u64>, n: usize, what: &str) {
    let total: u64 = counts.values().sum();
    let expected = total as f64 / n as f64;
    let drawn: f64 = counts.values().map(|n| (*n as f64 - expected).powi(2) / expected).sum();
    let chi_squared = drawn + (n - counts.len()) as f64 * expected;
    // Wilson and Hilferty's approximation of the quantile.
    let freedom = (n - 1) as f64;
    let part = 2.0 / (9.0 * freedom);
    let limit = freedom * (1.0 - part + 3.09 * part.sqrt()).powi(3);
    assert!(
        chi_squared < limit,
        "{what}: chi² {chi_squared:.1} of {total} draws, limit {limit:.1}"
    );
}
