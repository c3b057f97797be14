use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Members ordered by score, then bytes, recomputed from scratch.
fn ordered(model: &BTreeMap<Vec<u8>, i8>) -> Vec<(Vec<u8>, f64)> {
    let mut all: Vec<_> = model.iter().map(|(m, s)| (m.clone(), f64::from(*s))).collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    all
}

fn own(items: impl Iterator<Item = (impl AsRef<[u8]>, f64)>) -> Vec<(Vec<u8>, f64)> {
    items.map(|(m, s)| (m.as_ref().to_vec(), s)).collect()
}

#[test]
fn small_and_large_sets_agree_with_a_sorted_list() {
    let change = (any::<bool>(), 0u16..400, -4i8..4);
    proptest!(|(changes in prop::collection::vec(change, 0..600), probe in -5i8..5, cut in 0usize..400)| {
        let mut zset = ZSet::new();
        let mut model = BTreeMap::new();
        for (insert, member, score) in changes {
            let member = format!("m{member}").into_bytes();
            if insert {
                let old = zset.insert(&member, f64::from(score), 1);
                prop_assert_eq!(old, model.insert(member, score).map(f64::from));
            } else {
                let old = zset.remove(&member);
                prop_assert_eq!(old, model.remove(&member).map(f64::from));
            }
        }
        let all = ordered(&model);
        prop_assert_eq!(own(zset.iter()), all.clone());
        prop_assert_eq!(own(zset.iter_from(cut)), all.get(cut..).unwrap_or_default().to_vec());
        let mut back: Vec<_> = all.iter().take(cut + 1).cloned().collect();
        back.reverse();
        prop_assert_eq!(own(zset.iter_back_from(cut)), back);
        for (rank, (member, score)) in all.iter().enumerate() {
            prop_assert_eq!(zset.rank(member), Some(rank));
            prop_assert_eq!(zset.score(member), Some(*score));
        }
        let probe = f64::from(probe);
        prop_assert_eq!(
            zset.rank_of_edge(Edge::BeforeScore(probe)),
            all.iter().filter(|(_, s)| *s < probe).count()
        );
        prop_assert_eq!(
            zset.rank_of_edge(Edge::AfterScore(probe)),
            all.iter().filter(|(_, s)| *s <= probe).count()
        );
    });
}

/// A change to many members: some members from a number on, in this direction, or some ranks.
#[derive(Debug, Clone)]
enum Change {
    Insert { first: u16, n: u16, backwards: bool, score: i8, scores: i8 },
    RemoveRanks { from: usize, n: usize, at_end: bool },
}

fn change() -> impl Strategy<Value = Change> {
    let insert = (0u16..1000, 1u16..300, any::<bool>(), -4i8..4, 1i8..4);
    let remove = (prop_oneof![Just(0), 0usize..500], 0usize..300, any::<bool>());
    prop_oneof![
        2 => insert.prop_map(|(first, n, backwards, score, scores)| Change::Insert {
            first, n, backwards, score, scores,
        }),
        1 => remove.prop_map(|(from, n, at_end)| Change::RemoveRanks { from, n, at_end }),
    ]
}

#[test]
fn changes_to_many_members_agree_with_a_sorted_list() {
    proptest!(|(changes in prop::collection::vec(change(), 0..12))| {
        let mut zset = ZSet::new();
        let mut model = BTreeMap::new();
        for change in changes {
            match change {
                Change::Insert { first, n, backwards, score, scores } => {
                    // Some come twice, with different scores.
                    let member = |i| format!("m{}", first + (if backwards { n - i } else { i }) % 200);
                    let members: Vec<(Vec<u8>, i8)> = (0..n)
                        .map(|i| (member(i).into_bytes(), score + (i / 7) as i8 % scores))
                        .collect();
                    let items: Vec<(&[u8], f64)> =
                        members.iter().map(|(m, s)| (&**m, f64::from(*s))).collect();
                    let mut had = Vec::new();
                    zset.insert_each(&items, 1, |old, new| had.push((old, new)));
                    let expected = members.into_iter().map(|(member, score)| {
                        (model.insert(member, score).map(f64::from), f64::from(score))
                    });
                    prop_assert_eq!(had, expected.collect::<Vec<_>>());
                }
                Change::RemoveRanks { from, n, at_end } => {
                    let all = ordered(&model);
                    let from = from.min(all.len());
                    let to = if at_end { all.len() } else { (from + n).min(all.len()) };
                    let removed = zset.remove_ranks(from..to);
                    prop_assert_eq!(own(removed.iter().map(Entry::pair)), &all[from..to]);
                    all[from..to].iter().for_each(|(member, _)| {
                        model.remove(member);
                    });
                }
            }
            let all = ordered(&model);
            prop_assert_eq!(own(zset.iter()), all.clone());
            prop_assert_eq!(zset.len(), all.len());
            for (rank, (member, score)) in all.iter().enumerate() {
                prop_assert_eq!(zset.rank(member), Some(rank));
                prop_assert_eq!(zset.score(member), Some(*score));
            }
        }
    });
}

#[test]
fn edges_between_members_count_bytes_when_scores_are_equal() {
    for n in [5u8, 200] {
        let mut zset = ZSet::new();
        for member in 0..n {
            zset.insert(&[member], 0.0, 1);
        }
        assert_eq!(zset.rank_of_edge(Edge::BeforeMember(&[3])), 3);
        assert_eq!(zset.rank_of_edge(Edge::AfterMember(&[3])), 4);
        assert_eq!(zset.rank_of_edge(Edge::First), 0);
        assert_eq!(zset.rank_of_edge(Edge::Last), usize::from(n));
    }
}

/// What sorted sets do with the tree below them; here it is held against a sorted list directly, with keys that are
/// few enough for nodes to fill, split, empty and join all the time, and many enough for three levels.
#[derive(Debug, Clone)]
enum TreeChange {
    Insert(u32),
    Remove(u32),
    /// A run of keys in a row, one by one or as a tree of their own.
    InsertRun {
        from: u32,
        n: u32,
        appended: bool,
    },
    RemoveRun {
        from: u32,
        n: u32,
    },
    /// Keeps what is below, or what is not.
    Split {
        at: u32,
        keeps_lower: bool,
    },
}

fn tree_change() -> impl Strategy<Value = TreeChange> {
    const KEYS: u32 = 60_000;
    prop_oneof![
        4 => (0..KEYS).prop_map(TreeChange::Insert),
        4 => (0..KEYS).prop_map(TreeChange::Remove),
        3 => (0..KEYS, 1u32..20_000, any::<bool>())
            .prop_map(|(from, n, appended)| TreeChange::InsertRun { from, n, appended }),
        2 => (0..KEYS, 1u32..10_000).prop_map(|(from, n)| TreeChange::RemoveRun { from, n }),
        1 => (0..KEYS, any::<bool>()).prop_map(|(at, keeps_lower)| TreeChange::Split { at, keeps_lower }),
    ]
}

#[test]
fn the_tree_agrees_with_a_sorted_list_over_random_changes() {
    let config = ProptestConfig { cases: 64, ..ProptestConfig::default() };
    let changes = prop::collection::vec(tree_change(), 1..40);
    proptest!(config, |(changes in changes, probes: [prop::sample::Index; 8])| {
        let mut tree: OSBTreeSet<u32> = OSBTreeSet::new();
        let mut model: std::collections::BTreeSet<u32> = std::collections::BTreeSet::new();
        for change in changes {
            match change {
                TreeChange::Insert(key) => prop_assert_eq!(tree.insert(key), model.insert(key)),
                TreeChange::Remove(key) => prop_assert_eq!(tree.remove(&key), model.remove(&key)),
                TreeChange::InsertRun { from, n, appended } => {
                    if appended {
                        tree.append(&mut (from..from + n).collect());
                    } else {
                        tree.extend(from..from + n);
                    }
                    model.extend(from..from + n);
                }
                TreeChange::RemoveRun { from, n } => {
                    for key in from..from + n {
                        prop_assert_eq!(tree.remove(&key), model.remove(&key));
                    }
                }
                TreeChange::Split { at, keeps_lower } => {
                    let (tree_upper, model_upper) = (tree.split_off(&at), model.split_off(&at));
                    prop_assert!(tree_upper.iter().eq(&model_upper));
                    if !keeps_lower {
                        (tree, model) = (tree_upper, model_upper);
                    }
                }
            }
            prop_assert_eq!(tree.len(), model.len());
        }
        prop_assert!(tree.iter().eq(&model));
        prop_assert!(tree.iter().rev().eq(model.iter().rev()));
        let sorted: Vec<u32> = model.into_iter().collect();
        for probe in probes {
            let rank = probe.index(sorted.len() + 1);
            let key = sorted.get(rank).copied();
            prop_assert_eq!(tree.get_by_rank(rank).copied(), key);
            prop_assert_eq!(key.and_then(|key| tree.rank_of(&key)), key.map(|_| rank));
            // Jumps, then steps, from either end and from where a jump has led.
            let mut forth = tree.iter();
            prop_assert_eq!(forth.nth(rank).copied(), key);
            prop_assert_eq!(forth.nth(rank / 2).copied(), sorted.get(rank + 1 + rank / 2).copied());
            let mut back = tree.iter().rev();
            prop_assert_eq!(back.nth(rank).copied(), sorted.iter().rev().nth(rank).copied());
            prop_assert_eq!(back.next().copied(), sorted.iter().rev().nth(rank + 1).copied());
            if let Some(key) = key {
                prop_assert_eq!(tree.range(key..).len(), sorted.len() - rank);
                prop_assert!(tree.range(..key).eq(&sorted[..rank]));
            }
        }
    });
}

#[test]
fn a_set_that_has_shrunk_gives_its_room_back() {
    let shrink: [fn(&mut ZSet, usize); 2] = [
        |zset, n| {
            (n..100_000).for_each(|i| assert!(zset.remove(i.to_string().as_bytes()).is_some()));
        },
        // In the middle, where the tree is not cut.
        |zset, n| assert_eq!(zset.remove_ranks(n / 2..100_000 - n / 2).len(), 100_000 - n),
    ];
    for shrink in shrink {
        let mut zset = ZSet::new();
        (0..100_000).for_each(|i| {
            zset.insert(i.to_string().as_bytes(), f64::from(i), 1);
        });
        shrink(&mut zset, 100);
        let ZSet::Large(large) = &zset else { panic!("a large set stays one") };
        assert_eq!((large.order.len(), zset.len()), (100, 100));
        assert!(large.order.capacity() < 10_000, "{}", large.order.capacity());
        assert!(large.order.iter().is_sorted());
    }
}
