//! The signals by which a post is ranked for a user, and how much each of them counts.

use std::collections::HashMap;

use super::{candidates::Candidate, reader::Reader};

/// How many signals there are.
pub(crate) const N_SIGNALS: usize = 7;

/// The names of the signals, as they stand in `rs_weights`.
pub const SIGNAL_NAMES: [&str; N_SIGNALS] =
    ["liking", "likeness", "contribution", "follows", "popularity", "quality", "freshness"];

/// Days after which a post is half as fresh.
const HALF_LIFE_DAYS: f64 = 2.0;

/// The signals of one post for one user, in the order of [`SIGNAL_NAMES`].
pub(crate) type Signals = [f64; N_SIGNALS];

/// How much each signal counts.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Weights(pub [f64; N_SIGNALS]);

impl Default for Weights {
    /// About what `keyrack recommend eval` learns on made-up apps.
    fn default() -> Weights {
        Weights([1.0, 0.2, 0.6, 0.2, 0.1, 0.1, 0.4])
    }
}

impl Weights {
    /// Takes what `rs_weights` says, and the built-in weight where it says nothing sensible.
    pub(super) fn read(stored: &[(String, String)]) -> Weights {
        let mut weights = Weights::default();
        for (name, text) in stored {
            let place = SIGNAL_NAMES.iter().position(|signal| signal == name);
            let weight = text.parse::<f64>().ok().filter(|weight| weight.is_finite());
            if let (Some(place), Some(weight)) = (place, weight) {
                weights.0[place] = weight;
            }
        }
        weights
    }

    /// What a post is worth.
    pub(crate) fn score(&self, signals: &Signals) -> f64 {
        self.0.iter().zip(signals).map(|(weight, signal)| weight * signal).sum()
    }
}

/// What all candidates together say about their challenges, and the reader about them.
#[derive(Debug)]
pub(super) struct Context<'a> {
    reader: &'a Reader,
    /// How much a challenge is like those that the reader likes.
    likeness: HashMap<u64, f64>,
    /// The mean likes of a challenge's posts.
    quality: HashMap<u64, f64>,
    days_total: f64,
}

impl<'a> Context<'a> {
    pub(super) fn new(
        reader: &'a Reader,
        candidates: &[Candidate],
        neighbours: &HashMap<u64, Vec<(u64, f64)>>,
    ) -> Context<'a> {
        let mut likeness: HashMap<u64, f64> = HashMap::new();
        for (challenge, liking) in &reader.preferences {
            for (other, similarity) in neighbours.get(challenge).into_iter().flatten() {
                *likeness.entry(*other).or_default() += liking.max(0.0).ln_1p() * similarity;
            }
        }
        let mut likes: HashMap<u64, (f64, f64)> = HashMap::new();
        for candidate in candidates {
            let (sum, posts) = likes.entry(candidate.challenge).or_default();
            // A post of today had no time to be liked.
            *sum += candidate.likes as f64;
            *posts += if candidate.age == 0 { 0.5 } else { 1.0 };
        }
        let quality = likes
            .into_iter()
            .map(|(challenge, (sum, posts))| (challenge, (sum / (posts + 1.0)).ln_1p()));
        Context {
            likeness,
            quality: quality.collect(),
            days_total: reader.days.iter().sum::<u64>() as f64,
            reader,
        }
    }

    /// The signals of a post.
    pub(super) fn signals(&self, post: &Candidate) -> Signals {
        let Reader { preferences, follows, days, .. } = self.reader;
        let liking = preferences.get(&post.challenge).copied().unwrap_or(0.0);
        let given = days.get(post.category).copied().unwrap_or(0) as f64;
        [
            liking.max(0.0).ln_1p(),
            self.likeness.get(&post.challenge).copied().unwrap_or(0.0).ln_1p(),
            if self.days_total > 0.0 { given / self.days_total } else { 0.0 },
            if follows.contains(&post.challenge) { 1.0 } else { 0.0 },
            wilson(post.likes as f64, post.shown.max(post.likes) as f64),
            self.quality.get(&post.challenge).copied().unwrap_or(0.0),
            0.5_f64.powf(post.age as f64 / HALF_LIFE_DAYS),
        ]
    }
}

/// The mean of each signal.
pub(super) fn usual<'a>(all: impl Iterator<Item = &'a Signals>) -> Signals {
    let mut sums = [0.0; N_SIGNALS];
    let mut n = 0.0_f64;
    for signals in all {
        n += 1.0;
        sums.iter_mut().zip(signals).for_each(|(sum, signal)| *sum += signal);
    }
    sums.map(|sum| sum / n.max(1.0))
}

/// The lower bound of the rate behind so many hits in so many trials, with 95 % confidence. Where nobody counts what is shown,
/// trials are hits, and the bound grows with them.
fn wilson(hits: f64, trials: f64) -> f64 {
    const Z: f64 = 1.96;
    if trials <= 0.0 {
        return 0.0;
    }
    let rate = hits / trials;
    let z2 = Z * Z;
    let spread = Z * ((rate * (1.0 - rate) + z2 / (4.0 * trials)) / trials).sqrt();
    ((rate + z2 / (2.0 * trials) - spread) / (1.0 + z2 / trials)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_likes_and_surer_rates_are_worth_more() {
        assert_eq!(wilson(0.0, 0.0), 0.0);
        assert!(wilson(1.0, 1.0) < wilson(10.0, 10.0));
        assert!(wilson(5.0, 10.0) < wilson(50.0, 100.0));
        assert!(wilson(5.0, 50.0) < wilson(5.0, 10.0));
        assert!((wilson(50.0, 100.0) - 0.4038).abs() < 1e-3);
    }

    #[test]
    fn stored_weights_win_where_they_make_sense() {
        let stored = [("liking", "2.5"), ("freshness", "much"), ("unknown", "1")];
        let stored = stored.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let weights = Weights::read(&stored);
        assert_eq!(weights.0[0], 2.5);
        assert_eq!(weights.0[1..], Weights::default().0[1..]);
    }
}
