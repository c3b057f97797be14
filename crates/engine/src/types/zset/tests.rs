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
