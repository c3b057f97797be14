//! The three categories that a user cares for most.

use crate::random::Random;

/// How many categories posts are mainly taken from.
const TOP: usize = 3;

/// The codes of the categories that a user has given most days to, the lower code first among equals; random ones follow
/// where the user has given days to fewer.
pub(super) fn top_categories(days: &[u64], categories: usize, dice: &mut Random) -> Vec<usize> {
    let given = |code: &usize| days.get(*code).copied().unwrap_or(0);
    let mut top: Vec<usize> = (0..categories).filter(|code| given(code) > 0).collect();
    top.sort_by_key(|code| std::cmp::Reverse(given(code)));
    top.truncate(TOP);
    let mut others: Vec<usize> = (0..categories).filter(|code| !top.contains(code)).collect();
    while top.len() < TOP && !others.is_empty() {
        top.push(others.swap_remove(dice.below(others.len())));
    }
    top
}

#[cfg(test)]
mod tests {
    use super::*;

    fn top(days: &[u64], seed: u64) -> Vec<usize> {
        top_categories(days, 5, &mut Random::new(seed))
    }

    #[test]
    fn categories_come_in_the_order_of_days_given() {
        assert_eq!(top(&[1, 2, 3, 4, 0], 1), [3, 2, 1]);
        assert_eq!(top(&[5, 4, 3, 2, 1], 1), [0, 1, 2]);
        assert_eq!(top(&[7, 7, 7, 7, 7], 1), [0, 1, 2]);
    }

    #[test]
    fn missing_categories_are_drawn_from_the_others() {
        for seed in 0..100 {
            let drawn = top(&[0, 9, 0, 0, 0], seed);
            assert_eq!(drawn[0], 1);
            let mut distinct = drawn.clone();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!((drawn.len(), distinct.len()), (3, 3), "{drawn:?}");
        }
        assert_eq!(top(&[0; 5], 7).len(), 3);
        assert_eq!(top_categories(&[], 2, &mut Random::new(7)).len(), 2);
    }

    #[test]
    fn the_same_seed_draws_the_same_and_all_seeds_draw_evenly() {
        assert_eq!(top(&[0; 5], 42), top(&[0; 5], 42));
        let mut drawn = [0u32; 5];
        for seed in 0..10_000 {
            top(&[0; 5], seed).into_iter().for_each(|code| drawn[code] += 1);
        }
        // Each is drawn 6,000 times on average, with a deviation of 49.
        assert!(drawn.iter().all(|times| (5_750..6_250).contains(times)), "{drawn:?}");
    }
}
