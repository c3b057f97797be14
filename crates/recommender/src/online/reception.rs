//! How posts were received: like rates of posts and challenges, each drawn to the rate of what it belongs to.

use super::candidates::{Candidate, CandidateSet};
use crate::rows::CATEGORIES_MAX;

/// How many likes of its own a post or challenge needs to count as much as what it belongs to.
const PRIOR_LIKES: f64 = 2.0;

/// The posts of a challenge all together, as `clg_reception` has them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Reception {
    pub(crate) posts: u64,
    pub(crate) likes: u64,
    /// The likes that as many posts of the same ages have on average.
    pub(crate) expected: f64,
    pub(crate) showings: u64,
}

impl Reception {
    pub(super) fn read(text: &str) -> Reception {
        let mut values = text.split(',').map(|value| value.trim().parse::<f64>().unwrap_or(0.0));
        let mut next = || values.next().filter(|value| value.is_finite()).unwrap_or(0.0).max(0.0);
        Reception {
            posts: next() as u64,
            likes: next() as u64,
            expected: next(),
            showings: next() as u64,
        }
    }

    /// As it stands in the store.
    pub(crate) fn to_text(self) -> String {
        let Reception { posts, likes, expected, showings } = self;
        format!("{posts},{likes},{expected:.3},{showings}")
    }
}

/// The like rates of all posts and of each category. A rate is for each showing where the app tells what is shown, else for each
/// like that a post of the same age has on average: users may look at new posts more often than at old ones.
#[derive(Debug)]
pub(super) struct Rates {
    counts_showings: bool,
    likes_by_age: Vec<f64>,
    all: f64,
    categories: [f64; CATEGORIES_MAX],
    /// Posts of a challenge on average.
    pub(super) posts: f64,
}

impl Rates {
    pub(super) fn of(set: &CandidateSet) -> Rates {
        let mut sums = [Reception::default(); CATEGORIES_MAX];
        let mut all = Reception::default();
        for facts in set.challenges.values() {
            for sum in [&mut sums[facts.category], &mut all] {
                sum.posts += facts.reception.posts;
                sum.likes += facts.reception.likes;
                sum.expected += facts.reception.expected;
                sum.showings += facts.reception.showings;
            }
        }
        // An app that tells of showings shows posts more often than they are liked.
        let counts_showings = all.showings > all.likes;
        let mut rates = Rates {
            counts_showings,
            likes_by_age: set.likes_by_age.clone(),
            all: 1.0,
            categories: [1.0; CATEGORIES_MAX],
            posts: 1.0,
        };
        rates.all = rates.rate(&all, 1.0);
        rates.categories = sums.map(|sum| rates.rate(&sum, rates.all));
        rates.posts = all.posts as f64 / set.challenges.len().max(1) as f64;
        rates
    }

    fn rate(&self, of: &Reception, prior: f64) -> f64 {
        let chances = if self.counts_showings { of.showings as f64 } else { of.expected };
        smoothed(of.likes as f64, chances, prior)
    }

    /// How much better than the average post those of a challenge are, as a logarithm.
    pub(super) fn quality(&self, category: usize, of: &Reception) -> f64 {
        (self.rate(of, self.categories[category]) / self.all).ln()
    }

    /// How much better than others of its challenge a post is, as a logarithm.
    pub(super) fn popularity(&self, post: &Candidate, of: &Reception) -> f64 {
        let prior = self.rate(of, self.categories[post.category]);
        let chances =
            if self.counts_showings { post.shown as f64 } else { self.expected(post.age) };
        (smoothed(post.likes as f64, chances, prior) / prior).ln()
    }

    /// The likes that posts of an age have on average; the oldest known stand for those that are older.
    fn expected(&self, age: u64) -> f64 {
        let age = usize::try_from(age).unwrap_or(usize::MAX);
        let likes = self.likes_by_age.get(age).or(self.likes_by_age.last());
        likes.copied().unwrap_or(0.0)
    }
}

/// The rate behind so many likes in so many chances, when `prior` is expected without any: the mean of a gamma distribution.
fn smoothed(likes: f64, chances: f64, prior: f64) -> f64 {
    (likes + PRIOR_LIKES) / (chances + PRIOR_LIKES / prior)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_likes_say_little_and_many_say_what_they_are() {
        assert_eq!(smoothed(0.0, 0.0, 0.3), 0.3);
        assert!(smoothed(1.0, 1.0, 0.1) < 0.2);
        assert!((smoothed(500.0, 1000.0, 0.1) - 0.5).abs() < 0.02);
        assert!(smoothed(0.0, 50.0, 0.1) < 0.05);
    }

    #[test]
    fn a_reception_comes_back_from_the_store() {
        let reception = Reception { posts: 3, likes: 7, expected: 9.125, showings: 0 };
        assert_eq!(Reception::read(&reception.to_text()), reception);
        assert_eq!(Reception::read("nonsense"), Reception::default());
    }
}
