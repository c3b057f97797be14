//! Which challenges please the same users: cosine similarity with shrinkage.

use std::collections::{BTreeMap, HashMap};

/// A challenge's neighbours that are kept: beyond so many, similarity is noise.
const NEIGHBOURS_MAX: usize = 20;

/// The challenges of one user that count, the most liked first: pairs grow with the square.
const TASTE_MAX: usize = 50;

/// So many common users halve the doubt about a similarity.
const SHRINKAGE: f64 = 3.0;

/// Similarities below this tell nothing.
const SIMILARITY_MIN: f64 = 0.02;

/// The neighbours of each challenge as they stand in the store, from what each user likes how much.
pub(super) fn neighbours(tastes: &[Vec<(u64, f64)>]) -> BTreeMap<String, String> {
    let mut lengths: HashMap<u64, f64> = HashMap::new();
    let mut pairs: HashMap<(u64, u64), (f64, u32)> = HashMap::new();
    for taste in tastes {
        let mut taste: Vec<(u64, f64)> =
            taste.iter().map(|(challenge, liking)| (*challenge, liking.ln_1p())).collect();
        taste.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        taste.truncate(TASTE_MAX);
        for (at, &(a, liking)) in taste.iter().enumerate() {
            *lengths.entry(a).or_default() += liking * liking;
            for &(b, other) in &taste[at + 1..] {
                let pair = pairs.entry((a.min(b), a.max(b))).or_default();
                pair.0 += liking * other;
                pair.1 += 1;
            }
        }
    }
    let mut near: BTreeMap<u64, Vec<(u64, f64)>> = BTreeMap::new();
    for ((a, b), (product, users)) in pairs {
        let cosine = product / (lengths[&a] * lengths[&b]).sqrt();
        let users = f64::from(users);
        let similarity = rounded(cosine * users / (users + SHRINKAGE));
        if similarity >= SIMILARITY_MIN {
            near.entry(a).or_default().push((b, similarity));
            near.entry(b).or_default().push((a, similarity));
        }
    }
    let text = |(challenge, mut near): (u64, Vec<(u64, f64)>)| {
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        near.truncate(NEIGHBOURS_MAX);
        let near: Vec<String> = near
            .iter()
            .map(|(challenge, similarity)| format!("[{challenge},{similarity}]"))
            .collect();
        (challenge.to_string(), format!("[{}]", near.join(",")))
    };
    near.into_iter().map(text).collect()
}

/// Enough digits for ranking, and few enough that the order of a sum does not show.
fn rounded(similarity: f64) -> f64 {
    (similarity * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_liked_by_the_same_users_are_neighbours() {
        let runner = vec![(1, 3.0), (2, 3.0)];
        let tastes =
            vec![runner.clone(), runner.clone(), runner, vec![(3, 5.0)], vec![(1, 1.0), (3, 1.0)]];
        let near = neighbours(&tastes);
        let of_1: Vec<(u64, f64)> = serde_json::from_str(&near["1"]).expect("JSON");
        assert_eq!(of_1.iter().map(|(challenge, _)| *challenge).collect::<Vec<_>>(), [2, 3]);
        // Cosine near 1, shrunk by three common users to a half.
        assert!((0.45..0.51).contains(&of_1[0].1), "{of_1:?}");
        assert!(of_1[1].1 < 0.1, "{of_1:?}");
    }

    #[test]
    fn nobody_has_more_neighbours_than_are_kept() {
        let everything: Vec<(u64, f64)> = (0..40).map(|challenge| (challenge, 1.0)).collect();
        let near = neighbours(&vec![everything; 5]);
        assert_eq!(near.len(), 40);
        let of_0: Vec<(u64, f64)> = serde_json::from_str(&near["0"]).expect("JSON");
        assert_eq!(of_0.len(), NEIGHBOURS_MAX);
    }
}
