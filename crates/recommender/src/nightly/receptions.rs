//! How the posts of each challenge were received, counted anew from the pool.

use std::collections::{BTreeMap, HashMap};

use super::{Load, Pool};
use crate::{
    day,
    error::Error,
    keys,
    online::Reception,
    service::{MAX_POST_AGE_MAX, Recommender},
};

/// Posts of average likes that the mean of an age is drawn by, so that a day with few posts says little.
const PRIOR_POSTS: f64 = 5.0;

impl Load<'_> {
    /// Writes `clg_reception`, and the likes by age that it goes by.
    pub(super) async fn receptions(&mut self, pool: &Pool) -> Result<(), Error> {
        let (index, ring) = (self.done.day_index, self.parameters.ring());
        let likes = self.service.likes_of_posts().await?;
        let posts = self.service.days_of_posts().await?.into_iter().filter_map(|(post, slot)| {
            let likes = likes.get(&post).copied().unwrap_or(0);
            Some((post, *pool.get(&post)?, day::age(index, slot, ring), likes))
        });
        let mut posts: Vec<(u64, u64, u64, u64)> = posts.collect();
        // Sums of fractions depend on the order.
        posts.sort_unstable();
        let by_age = likes_by_age(posts.iter().map(|(.., age, likes)| (*age, *likes)), ring);
        let mut receptions: BTreeMap<u64, Reception> = BTreeMap::new();
        for (_, challenge, age, likes) in &posts {
            let reception = receptions.entry(*challenge).or_default();
            reception.posts += 1;
            reception.likes += likes;
            reception.expected += by_age.get(*age as usize).copied().unwrap_or(0.0);
        }
        for (post, showings) in self.service.read_map(&keys::showings()).await? {
            let (post, showings): (Option<u64>, Option<u64>) =
                (post.parse().ok(), showings.parse().ok());
            let challenge = post.and_then(|post| pool.get(&post));
            let reception = challenge.and_then(|challenge| receptions.get_mut(challenge));
            reception
                .into_iter()
                .for_each(|reception| reception.showings += showings.unwrap_or_default());
        }
        let wanted: BTreeMap<String, String> = receptions
            .into_iter()
            .map(|(challenge, reception)| (challenge.to_string(), reception.to_text()))
            .collect();
        self.replace(&keys::receptions(), &wanted, None, "receptions").await?;
        let mut cmd = redis::cmd("HSET");
        cmd.arg(&*self.service.store().place(&keys::learned())).arg("likes_by_age");
        cmd.arg(serde_json::to_string(&by_age).unwrap_or_default());
        cmd.query_async::<()>(&mut self.service.store().connection()).await?;
        self.wrote("receptions", 1, Some(1))
    }
}

/// The mean likes of posts by their ages, for each age there can be.
fn likes_by_age(posts: impl Iterator<Item = (u64, u64)> + Clone, ring: u64) -> Vec<f64> {
    let n_ages = usize::try_from(ring).unwrap_or(usize::MAX).min(MAX_POST_AGE_MAX as usize);
    let mut sums = vec![(0u64, 0u64); n_ages];
    for (age, likes) in posts {
        if let Some((n, sum)) = sums.get_mut(age as usize) {
            *n += 1;
            *sum += likes;
        }
    }
    let (n, sum) = sums.iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    let mean = sum as f64 / n.max(1) as f64;
    let of_age = |(n, sum): &(u64, u64)| {
        let likes = (*sum as f64 + PRIOR_POSTS * mean) / (*n as f64 + PRIOR_POSTS);
        (likes * 1e4).round() / 1e4
    };
    sums.iter().map(of_age).collect()
}

impl Recommender {
    /// The place in the ring of each post of the pool.
    async fn days_of_posts(&self) -> Result<HashMap<u64, u64>, Error> {
        let mut pipe = redis::pipe();
        for key in Recommender::category_keys() {
            pipe.cmd("ZRANGE").arg(&*self.store().place(&key)).arg(&[0, -1]).arg("WITHSCORES");
        }
        let days: Vec<Vec<(String, f64)>> =
            pipe.query_async(&mut self.store().connection()).await?;
        Ok(numbers(days.into_iter().flatten()))
    }

    async fn likes_of_posts(&self) -> Result<HashMap<u64, u64>, Error> {
        let mut cmd = redis::cmd("ZRANGE");
        cmd.arg(&*self.store().place(&keys::popularity())).arg(&[0, -1]).arg("WITHSCORES");
        let likes: Vec<(String, f64)> = cmd.query_async(&mut self.store().connection()).await?;
        Ok(numbers(likes.into_iter()))
    }
}

/// What is no number was not written by a load, and names no post.
fn numbers(pairs: impl Iterator<Item = (String, f64)>) -> HashMap<u64, u64> {
    pairs.filter_map(|(post, score)| Some((post.parse().ok()?, score as u64))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_an_age_with_few_posts_is_near_that_of_all() {
        let posts = (0..500).map(|_| (0, 4)).chain((0..500).map(|_| (1, 2))).chain([(2, 100)]);
        let likes = likes_by_age(posts, 4);
        assert!((likes[0] - 4.0).abs() < 0.05 && (likes[1] - 2.0).abs() < 0.05, "{likes:?}");
        assert!(likes[2] < 20.0 && (likes[3] - 3.1).abs() < 0.05, "{likes:?}");
        assert_eq!(likes_by_age(std::iter::empty(), 2), [0.0, 0.0]);
    }
}
