use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// Sets a key and returns the value it had.
fn insert(dict: &mut Dict<u32>, key: Box<[u8]>, value: u32) -> Option<u32> {
    if let Some(old) = dict.get_mut(&key) {
        return Some(std::mem::replace(old, value));
    }
    dict.insert_new(key, value);
    None
}

type Small = Dict<u32>;

fn key(n: u16) -> Box<[u8]> {
    n.to_string().into_bytes().into()
}

#[test]
fn agrees_with_a_map_over_random_changes() {
    proptest!(|(seed: u64, changes: Vec<(bool, u16, u32)>)| {
        let mut dict = Small::new(seed);
        let mut model = BTreeMap::new();
        for (is_insert, k, v) in changes {
            let k = key(k % 512);
            if is_insert && v % 2 == 0 {
                prop_assert_eq!(insert(&mut dict, k.clone(), v), model.insert(k, v));
            } else if is_insert {
                let value = *dict.get_or_insert_with(&k, || (k.clone(), v));
                prop_assert_eq!(value, *model.entry(k).or_insert(v));
            } else {
                prop_assert_eq!(dict.remove(&k), model.remove(&k));
            }
            prop_assert_eq!(dict.len(), model.len());
        }
        // Those that are there and those that are not, more than are looked up together.
        let keys: Vec<Box<[u8]>> = (0..512).map(key).collect();
        let names: Vec<&[u8]> = keys.iter().map(|key| &**key).collect();
        let mut found = Vec::new();
        dict.get_each(&names, |value| found.push(value.copied()));
        prop_assert_eq!(found, keys.iter().map(|key| model.get(key).copied()).collect::<Vec<_>>());
        let all: BTreeMap<_, _> = dict.iter().map(|(k, v)| (k.clone(), *v)).collect();
        prop_assert_eq!(all, model);
    });
}

#[test]
fn changes_to_many_keys_agree_with_a_map() {
    // Enough for a table to grow and shrink again several times on the way.
    let change = (any::<bool>(), 0u16..1200, 1u16..200, any::<u32>());
    proptest!(|(seed: u64, changes in prop::collection::vec(change, 0..40))| {
        let mut dict = Small::new(seed);
        let mut model = BTreeMap::new();
        for (is_insert, from, n, v) in changes {
            let keys: Vec<Box<[u8]>> = (from..from + n).map(key).collect();
            for keys in keys.chunks(TOGETHER) {
                let hashes = dict.fetch(keys.iter().map(|k| &**k));
                for (k, hash) in keys.iter().zip(hashes) {
                    prop_assert_eq!(dict.get_hashed(hash, k).map(|(_, v)| *v), model.get(k).copied());
                    if !is_insert {
                        let gone = dict.remove_hashed(hash, k);
                        prop_assert_eq!(gone, model.remove(k).map(|v| (k.clone(), v)));
                    } else if !model.contains_key(k) {
                        dict.insert_new_hashed(hash, k.clone(), v);
                        model.insert(k.clone(), v);
                    }
                }
            }
            prop_assert_eq!(dict.len(), model.len());
        }
        let all: BTreeMap<_, _> = dict.iter().map(|(k, v)| (k.clone(), *v)).collect();
        prop_assert_eq!(all, model);
    });
}

#[test]
fn a_growing_table_keeps_up_with_what_is_added() {
    let mut dict = Small::new(1);
    for n in 0..20_000 {
        dict.insert_new(key(n), 0);
        let n_buckets = dict.tables.each_ref().map(|table| table.buckets.len());
        assert!(dict.len() <= n_buckets[0].max(n_buckets[1]) + TOGETHER, "{n_buckets:?}");
    }
}

#[test]
fn scan_sees_every_entry_that_stays_while_the_table_grows_and_shrinks() {
    proptest!(|(seed: u64, n in 1u16..400, steps: Vec<(bool, u16)>)| {
        let mut dict = Small::new(seed);
        let stable: BTreeSet<_> = (0..n).map(key).collect();
        for k in &stable {
            insert(&mut dict, k.clone(), 0);
        }
        let mut steps = steps.into_iter().cycle();
        let mut seen = BTreeSet::new();
        let mut cursor = 0;
        loop {
            cursor = dict.scan(cursor, |k, _| {
                seen.insert(k.clone());
            });
            if cursor == 0 {
                break;
            }
            // A burst of other keys coming or going between two calls moves the table's size.
            if let Some((grow, burst)) = steps.next() {
                for i in 0..burst % 64 {
                    let k = key(1000 + i);
                    if grow { insert(&mut dict, k, 1); } else { dict.remove(&k); }
                }
            }
        }
        prop_assert!(stable.is_subset(&seen));
    });
}

#[test]
fn random_reaches_every_entry() {
    let mut dict = Small::new(7);
    for i in 0..50 {
        insert(&mut dict, key(i), 0);
    }
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 33
    };
    let seen: BTreeSet<_> =
        (0..5000).map(|_| dict.random(&mut next).expect("not empty").0.clone()).collect();
    assert_eq!(seen.len(), 50);
}

#[test]
fn an_emptied_table_gives_its_memory_back() {
    let mut dict = Small::new(7);
    for i in 0..10_000 {
        insert(&mut dict, key(i), 0);
    }
    for i in 0..10_000 {
        dict.remove(&key(i));
    }
    assert!(dict.n_buckets() < 1000, "{} buckets", dict.n_buckets());
}
