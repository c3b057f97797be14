//! Which challenges please the same users: an item-to-item model by ridge regression (EASE).
//!
//! Each challenge is predicted from all others that a user likes; the weights come from one inverse. The weight from a liked
//! challenge to another is what `clg_neighbours` keeps. The inverse grows with the cube of its size, so only the challenges that
//! most users like are in it; the neighbours of all others are by cosine similarity, shrunk where few users are in common.

use std::collections::{BTreeMap, HashMap};

use super::matrix::Matrix;

/// A challenge's neighbours that are kept: beyond so many, weights are noise.
const NEIGHBOURS_MAX: usize = 64;

/// The challenges of one user that count, the most liked first: pairs grow with the square.
const TASTE_MAX: usize = 60;

/// The most challenges in the inverse. So many take about a second.
const MODEL_MAX: usize = 1000;

/// The ridge. Challenges are scaled to lengths of about 1, so that it needs no other unit.
const RIDGE: f64 = 0.7;

/// What is added to the squared length of each challenge: one that few users like is not scaled up to those that many do.
const LENGTH_PRIOR: f64 = 1.0;

/// So many common users halve the doubt about a cosine.
const SHRINKAGE: f64 = 3.0;

/// Weights below this tell nothing.
const WEIGHT_MIN: f64 = 0.001;

/// What a user likes how much: challenges and reactions.
type Taste = [(u64, f64)];

/// The neighbours of each challenge as they stand in the store, from what each user likes how much.
pub(super) fn neighbours(tastes: &[Vec<(u64, f64)>]) -> BTreeMap<String, String> {
    let tastes: Vec<Vec<(u64, f64)>> = tastes.iter().map(|taste| likings(taste)).collect();
    let modelled = modelled(&tastes);
    let mut near = cosines(&tastes, &modelled);
    near.extend(model(&tastes, &modelled));
    let text = |(challenge, near): (u64, Vec<(u64, f64)>)| {
        let near: Vec<String> =
            near.iter().map(|(challenge, weight)| format!("[{challenge},{weight}]")).collect();
        (challenge.to_string(), format!("[{}]", near.join(",")))
    };
    near.into_iter().filter(|(_, near)| !near.is_empty()).map(text).collect()
}

/// How much reactions to a challenge count: the tenth says less than the first.
pub(crate) fn strength(reactions: f64) -> f64 {
    reactions.max(0.0).ln_1p()
}

/// How much the challenges count that a user likes most.
fn likings(taste: &Taste) -> Vec<(u64, f64)> {
    let mut taste: Vec<(u64, f64)> =
        taste.iter().map(|(challenge, reactions)| (*challenge, strength(*reactions))).collect();
    taste.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    taste.truncate(TASTE_MAX);
    taste
}

/// The places in the model of the challenges that most users like.
fn modelled(tastes: &[Vec<(u64, f64)>]) -> HashMap<u64, usize> {
    let mut users: HashMap<u64, usize> = HashMap::new();
    for (challenge, _) in tastes.iter().flatten() {
        *users.entry(*challenge).or_default() += 1;
    }
    let mut most: Vec<(u64, usize)> = users.into_iter().collect();
    most.sort_by_key(|(challenge, users)| (std::cmp::Reverse(*users), *challenge));
    most.truncate(MODEL_MAX);
    most.into_iter().enumerate().map(|(place, (challenge, _))| (challenge, place)).collect()
}

/// The weights of the challenges in the model.
fn model(
    tastes: &[Vec<(u64, f64)>],
    modelled: &HashMap<u64, usize>,
) -> BTreeMap<u64, Vec<(u64, f64)>> {
    let n = modelled.len();
    let mut matrix = Matrix::zero(n);
    for taste in tastes {
        let known: Vec<(usize, f64)> = taste
            .iter()
            .filter_map(|(challenge, liking)| Some((*modelled.get(challenge)?, *liking)))
            .collect();
        for (a, liking) in &known {
            for (b, other) in known.iter().filter(|(b, _)| b <= a) {
                matrix.add(*a, *b, liking * other);
            }
        }
    }
    // Without scaling, a challenge with many posts, and so with many reactions, would be like everything.
    let lengths: Vec<f64> = (0..n).map(|at| (matrix.at(at, at) + LENGTH_PRIOR).sqrt()).collect();
    let mean = lengths.iter().sum::<f64>() / n.max(1) as f64;
    matrix.scale(&lengths);
    (0..n).for_each(|at| matrix.add(at, at, RIDGE));
    let Some(inverse) = matrix.inverse() else { return BTreeMap::new() };
    let mut ids = vec![0; inverse.len()];
    modelled.iter().for_each(|(challenge, place)| ids[*place] = *challenge);
    let of = |a: usize, b: usize| inverse.at(a.max(b), a.min(b));
    let weights = |from: usize| {
        let weight = |to: usize| -of(from, to) / of(to, to) * mean / lengths[from];
        let others = (0..n).filter(|to| *to != from).map(|to| (ids[to], rounded(weight(to))));
        (ids[from], strongest(others))
    };
    (0..n).map(weights).collect()
}

/// Cosine similarities of challenges that are not in the model, to each other and to those that are. Pairs are counted for one
/// challenge at a time: all of them at once would take memory with the square of what users like.
fn cosines(
    tastes: &[Vec<(u64, f64)>],
    modelled: &HashMap<u64, usize>,
) -> BTreeMap<u64, Vec<(u64, f64)>> {
    let mut lengths: HashMap<u64, f64> = HashMap::new();
    let mut users_of: BTreeMap<u64, Vec<(usize, f64)>> = BTreeMap::new();
    for (user, taste) in tastes.iter().enumerate() {
        for (challenge, liking) in taste {
            *lengths.entry(*challenge).or_default() += liking * liking;
            if !modelled.contains_key(challenge) {
                users_of.entry(*challenge).or_default().push((user, *liking));
            }
        }
    }
    let near = |(challenge, users): (u64, Vec<(usize, f64)>)| {
        let mut products: HashMap<u64, (f64, u32)> = HashMap::new();
        for (user, liking) in users {
            for (other, other_liking) in &tastes[user] {
                let product = products.entry(*other).or_default();
                product.0 += liking * other_liking;
                product.1 += 1;
            }
        }
        products.remove(&challenge);
        let similarity = |(other, (product, users)): (u64, (f64, u32))| {
            let cosine = product / (lengths[&challenge] * lengths[&other]).sqrt();
            let users = f64::from(users);
            (other, rounded(cosine * users / (users + SHRINKAGE)))
        };
        (challenge, strongest(products.into_iter().map(similarity)))
    };
    users_of.into_iter().map(near).collect()
}

/// The neighbours that are kept, the nearest first.
fn strongest(weights: impl Iterator<Item = (u64, f64)>) -> Vec<(u64, f64)> {
    let mut near: Vec<(u64, f64)> = weights.filter(|(_, weight)| *weight >= WEIGHT_MIN).collect();
    near.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    near.truncate(NEIGHBOURS_MAX);
    near
}

/// Enough digits for ranking, and few enough that the order of a sum does not show.
fn rounded(weight: f64) -> f64 {
    (weight.min(1.0) * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(near: &BTreeMap<String, String>, challenge: &str) -> Vec<(u64, f64)> {
        serde_json::from_str(&near[challenge]).expect("JSON")
    }

    #[test]
    fn challenges_liked_by_the_same_users_are_neighbours() {
        let mut tastes = vec![vec![(1, 3.0), (2, 3.0)]; 30];
        tastes.extend(vec![vec![(3, 5.0)]; 30]);
        tastes.push(vec![(1, 1.0), (3, 1.0)]);
        let near = neighbours(&tastes);
        let of_1 = of(&near, "1");
        assert_eq!(of_1[0].0, 2, "{of_1:?}");
        assert!((0.2..=1.0).contains(&of_1[0].1), "{of_1:?}");
        assert!(of_1[1..].iter().all(|(_, weight)| *weight < 0.05), "{of_1:?}");
    }

    #[test]
    fn what_explains_itself_by_another_challenge_is_no_neighbour() {
        // 2 is liked with 1, and 3 with 2: 1 and 3 have nothing in common beyond 2.
        let mut tastes = vec![vec![(1, 1.0), (2, 1.0)]; 200];
        tastes.extend(vec![vec![(2, 1.0), (3, 1.0)]; 200]);
        let near = neighbours(&tastes);
        let weight = |from: &str, to: u64| {
            of(&near, from).iter().find(|(id, _)| *id == to).map_or(0.0, |(_, weight)| *weight)
        };
        assert!(weight("1", 2) > 0.1 && weight("1", 3) == 0.0, "{near:?}");
    }

    #[test]
    fn nobody_has_more_neighbours_than_are_kept() {
        // Two kinds of users who share the challenge 0: one user's reactions do not reach so many challenges.
        let with_0 = |others: std::ops::Range<u64>| -> Vec<(u64, f64)> {
            std::iter::once(0).chain(others).map(|challenge| (challenge, 1.0)).collect()
        };
        let users = [vec![with_0(1..51); 5], vec![with_0(51..101); 5]].concat();
        let near = neighbours(&users);
        assert_eq!(near.len(), 101);
        assert_eq!(of(&near, "0").len(), NEIGHBOURS_MAX);
    }

    #[test]
    fn challenges_beyond_the_model_have_neighbours_by_cosine() {
        let many = (0..MODEL_MAX as u64).flat_map(|id| [vec![(id, 1.0)], vec![(id, 1.0)]]);
        let mut tastes: Vec<Vec<(u64, f64)>> = many.collect();
        tastes.push(vec![(5000, 1.0), (5001, 1.0), (3, 1.0)]);
        let near = neighbours(&tastes);
        let of_5000: Vec<u64> = of(&near, "5000").into_iter().map(|(id, _)| id).collect();
        assert_eq!(of_5000[0], 5001);
        assert!(of_5000.contains(&3));
    }
}
