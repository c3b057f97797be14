//! What a list is worth to somebody whose later reactions are known.

use std::collections::HashSet;

/// The first places of a list, by which it is judged.
pub(super) const K: usize = 10;

/// How good lists are on average.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ListScores))]
pub struct Scores {
    /// The share of the first ten that was wanted.
    pub precision: f64,
    /// The share of what was wanted, ten at most, that is among the first ten.
    pub recall: f64,
    /// Discounted gain of the first ten by their places, as a share of the best possible.
    pub ndcg: f64,
    /// Mean precision at the places of what was wanted.
    pub map: f64,
    /// Whether anything among the first ten was wanted.
    pub hit_rate: f64,
    /// How unlike each other the first ten are: the share of pairs from different challenges.
    pub diversity: f64,
    /// How little known the first ten are, in bits.
    pub novelty: f64,
}

/// What is needed of a post to judge a list.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListedPost {
    pub(super) post: u64,
    pub(super) challenge: u64,
    /// The share of all likes that it had when the list was made.
    pub(super) popularity: f64,
}

impl Scores {
    /// Judges a list by what was wanted.
    pub(super) fn of(list: &[ListedPost], wanted: &HashSet<u64>) -> Scores {
        let list = &list[..list.len().min(K)];
        let hits: Vec<bool> = list.iter().map(|listed| wanted.contains(&listed.post)).collect();
        let n_hits = hits.iter().filter(|hit| **hit).count() as f64;
        let possible = wanted.len().min(K);
        let discount = |place: usize| 1.0 / ((place + 2) as f64).log2();
        let gain: f64 = hits
            .iter()
            .enumerate()
            .filter(|(_, hit)| **hit)
            .map(|(place, _)| discount(place))
            .sum();
        let best: f64 = (0..possible).map(discount).sum();
        let mut so_far = 0.0;
        let mut precisions = 0.0;
        for (place, _) in hits.iter().enumerate().filter(|(_, hit)| **hit) {
            so_far += 1.0;
            precisions += so_far / (place + 1) as f64;
        }
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        Scores {
            precision: n_hits / K as f64,
            recall: share(n_hits, possible as f64),
            ndcg: share(gain, best),
            map: share(precisions, possible as f64),
            hit_rate: if n_hits > 0.0 { 1.0 } else { 0.0 },
            diversity: diversity(list),
            novelty: share(
                list.iter().map(|listed| -listed.popularity.log2()).sum(),
                list.len() as f64,
            ),
        }
    }

    /// The mean of many.
    pub(super) fn mean(all: &[Scores]) -> Scores {
        let mean =
            |of: fn(&Scores) -> f64| all.iter().map(of).sum::<f64>() / all.len().max(1) as f64;
        Scores {
            precision: mean(|scores| scores.precision),
            recall: mean(|scores| scores.recall),
            ndcg: mean(|scores| scores.ndcg),
            map: mean(|scores| scores.map),
            hit_rate: mean(|scores| scores.hit_rate),
            diversity: mean(|scores| scores.diversity),
            novelty: mean(|scores| scores.novelty),
        }
    }
}

fn diversity(list: &[ListedPost]) -> f64 {
    let mut pairs = 0.0;
    let mut different = 0.0;
    for (place, a) in list.iter().enumerate() {
        for b in &list[place + 1..] {
            pairs += 1.0;
            different += if a.challenge == b.challenge { 0.0 } else { 1.0 };
        }
    }
    if pairs > 0.0 { different / pairs } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(list: &[u64], wanted: &[u64]) -> Scores {
        let list: Vec<ListedPost> = list
            .iter()
            .map(|post| ListedPost { post: *post, challenge: *post, popularity: 0.25 })
            .collect();
        Scores::of(&list, &wanted.iter().copied().collect())
    }

    #[test]
    fn known_lists_have_their_known_scores() {
        let one_late = scores(&[3, 1, 2], &[1, 2]);
        assert!((one_late.ndcg - 0.693).abs() < 5e-4, "{one_late:?}");
        assert_eq!((one_late.precision, one_late.recall, one_late.hit_rate), (0.2, 1.0, 1.0));
        assert!((one_late.map - (0.5 + 2.0 / 3.0) / 2.0).abs() < 1e-12);
        assert_eq!((one_late.novelty, one_late.diversity), (2.0, 1.0));
    }

    #[test]
    fn perfect_and_useless_lists_are_1_and_0() {
        assert_eq!(scores(&[1, 2], &[2, 1]).ndcg, 1.0);
        assert_eq!(scores(&[1, 2], &[3]).ndcg, 0.0);
        assert_eq!(scores(&[], &[3]), Scores { diversity: 1.0, ..Scores::default() });
    }

    #[test]
    fn places_after_the_tenth_do_not_count() {
        let list: Vec<u64> = (0..20).collect();
        assert_eq!(scores(&list, &[15]).ndcg, 0.0);
    }
}
