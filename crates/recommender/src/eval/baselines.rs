//! The lists to beat: random, newest, most popular, and what the original program gives.

use super::metrics::K;
use crate::random::Random;

/// A post of the pool, as the baselines know it.
#[derive(Debug, Clone, Copy)]
pub(super) struct PoolPost {
    pub(super) post: u64,
    pub(super) category: usize,
    pub(super) likes: u64,
}

/// A way to make a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Baseline {
    Random,
    Newest,
    Popular,
    Original,
}

impl Baseline {
    pub(super) const ALL: [Baseline; 4] =
        [Baseline::Random, Baseline::Newest, Baseline::Popular, Baseline::Original];

    pub(super) fn name(self) -> &'static str {
        match self {
            Baseline::Random => "random",
            Baseline::Newest => "newest",
            Baseline::Popular => "most popular",
            Baseline::Original => "the original as coded",
        }
    }

    /// A list from what a user has neither liked nor written.
    pub(super) fn list(self, pool: &[PoolPost], dice: &mut Random) -> Vec<u64> {
        let mut posts = pool.to_vec();
        match self {
            Baseline::Random => posts = sample(posts, K, dice),
            Baseline::Newest => {}
            Baseline::Popular => {}
            Baseline::Original => posts = original(posts, dice),
        }
        match self {
            Baseline::Random => {}
            Baseline::Newest | Baseline::Original => {
                posts.sort_by_key(|post| std::cmp::Reverse(post.post))
            }
            Baseline::Popular => {
                posts.sort_by_key(|post| std::cmp::Reverse((post.likes, post.post)))
            }
        }
        posts.into_iter().map(|post| post.post).take(K).collect()
    }
}

/// Three random categories, because of a slip; 100 random posts of each, and 200 of the others.
fn original(posts: Vec<PoolPost>, dice: &mut Random) -> Vec<PoolPost> {
    let top: Vec<usize> = sample((0..5).collect(), 3, dice);
    let (of_top, of_others): (Vec<PoolPost>, Vec<PoolPost>) =
        posts.into_iter().partition(|post| top.contains(&post.category));
    let mut list = sample(of_others, 200, dice);
    for category in top {
        let of_category = of_top.iter().copied().filter(|post| post.category == category).collect();
        list.extend(sample(of_category, 100, dice));
    }
    list
}

fn sample<T>(mut all: Vec<T>, n: usize, dice: &mut Random) -> Vec<T> {
    let n = n.min(all.len());
    for place in 0..n {
        let other = place + dice.below(all.len() - place);
        all.swap(place, other);
    }
    all.truncate(n);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_baseline_orders_as_its_name_says() {
        let known = |post| PoolPost { post, category: (post % 5) as usize, likes: 1000 - post };
        let pool: Vec<PoolPost> = (0..1000).map(known).collect();
        let list = |baseline: Baseline| baseline.list(&pool, &mut Random::new(1));
        assert_eq!(list(Baseline::Newest), (990..1000).rev().collect::<Vec<u64>>());
        assert_eq!(list(Baseline::Popular), (0..10).collect::<Vec<u64>>());
        assert_ne!(list(Baseline::Random), list(Baseline::Newest));
        let original = list(Baseline::Original);
        assert!(
            original.is_sorted_by_key(|post| std::cmp::Reverse(*post)) && original[9] > 950,
            "{original:?}"
        );
    }
}
