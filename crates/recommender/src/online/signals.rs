//! The signals by which a post is ranked for a user, and how much each of them counts.

use std::collections::HashMap;

use super::{
    candidates::{Candidate, CandidateSet, ChallengeFacts},
    reader::Reader,
    reception::Rates,
};
use crate::rows::CATEGORIES_MAX;

/// How many signals there are.
pub(crate) const N_SIGNALS: usize = 9;

/// The names of the signals, as they stand in `rs_weights`.
pub const SIGNAL_NAMES: [&str; N_SIGNALS] = [
    "liking",
    "likeness",
    "contribution",
    "follows",
    "popularity",
    "quality",
    "freshness",
    "author",
    "taste",
];

/// The signals that depend on what the user reacted to; somebody who is new has none of them.
pub(crate) const BY_REACTIONS: [usize; 4] = [0, 1, 7, 8];

/// Days after which a post is half as fresh.
const HALF_LIFE_DAYS: f64 = 2.0;

/// Reactions that a category needs to count as much as the even share of it.
const TASTE_PRIOR: f64 = 2.0;

/// The part of the usual likeness that every challenge has, so that one without any is not infinitely worse.
const LIKENESS_PRIOR: f64 = 0.3;

/// The least likeness that counts as usual: as much as the least weight that the model keeps.
const LIKENESS_MIN: f64 = 0.001;

/// The signals that are logarithms of like rates. Such a weight is at most 1: what reactions say beyond is that users look at what
/// is popular, not that they like it more.
const RATES: [usize; 2] = [4, 5];

/// The signals of one post for one user, in the order of [`SIGNAL_NAMES`].
pub(crate) type Signals = [f64; N_SIGNALS];

/// How much each signal counts.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Weights(pub [f64; N_SIGNALS]);

impl Default for Weights {
    /// About what nights of made-up apps teach.
    fn default() -> Weights {
        Weights([0.8, 1.4, 0.7, 0.8, 0.6, 0.9, 0.7, 0.2, 0.2])
    }
}

impl Weights {
    /// What counts for somebody who has not reacted to anything.
    pub(crate) const NEW: Weights = Weights([0.0, 0.0, 0.8, 0.8, 0.6, 0.9, 0.6, 0.0, 0.0]);

    /// What a post is worth.
    pub(crate) fn score(&self, signals: &Signals) -> f64 {
        self.0.iter().zip(signals).map(|(weight, signal)| weight * signal).sum()
    }

    /// The weights within what makes sense. All signals are good news: what a few nights say against one is chance.
    fn limited(mut self) -> Weights {
        self.0.iter_mut().for_each(|weight| *weight = weight.max(0.0));
        RATES.iter().for_each(|at| self.0[*at] = self.0[*at].min(1.0));
        self
    }

    /// Takes weights by the names of their signals where they make sense, and keeps the others.
    fn take<'a>(&mut self, named: impl IntoIterator<Item = (&'a str, f64)>) {
        for (name, weight) in named {
            let place = SIGNAL_NAMES.iter().position(|signal| *signal == name);
            if let (Some(place), true) = (place, weight.is_finite()) {
                self.0[place] = weight;
            }
        }
    }
}

/// The weights for users who have reacted to something, and for those who have not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WeightSets {
    pub(crate) known: Weights,
    pub(crate) new: Weights,
}

impl WeightSets {
    /// What `rs_weights` says; where it says nothing, what was learned, and before that what is built in.
    pub(super) fn read(set: &[(String, String)], learned: [Option<&str>; 2]) -> WeightSets {
        let mut sets = WeightSets { known: Weights::default(), new: Weights::NEW };
        let set = || {
            set.iter().filter_map(|(name, text)| Some((name.as_str(), text.parse::<f64>().ok()?)))
        };
        for (weights, learned) in [&mut sets.known, &mut sets.new].into_iter().zip(learned) {
            let learned =
                learned.and_then(|text| serde_json::from_str::<HashMap<String, f64>>(text).ok());
            let learned = learned.unwrap_or_default();
            weights.take(learned.iter().map(|(name, weight)| (name.as_str(), *weight)));
            *weights = weights.limited();
            weights.take(set());
        }
        sets
    }
}

/// What all candidates together say about their challenges, and the reader about them.
#[derive(Debug)]
pub(super) struct Context<'a> {
    reader: &'a Reader,
    set: &'a CandidateSet,
    rates: Rates,
    /// How much more than evenly the reader's reactions go to each category, as a logarithm.
    taste: [f64; CATEGORIES_MAX],
    /// The mean likeness of the candidates: its unit depends on how many reactions there are.
    likeness_usual: f64,
    days_total: f64,
}

impl<'a> Context<'a> {
    pub(super) fn new(reader: &'a Reader, set: &'a CandidateSet) -> Context<'a> {
        let mut of_categories = [0.0; CATEGORIES_MAX];
        for (challenge, reactions) in &reader.preferences {
            if let Some(facts) = set.challenges.get(challenge) {
                of_categories[facts.category] += reactions.max(0.0);
            }
        }
        let (total, n) = (of_categories.iter().sum::<f64>(), set.categories as f64);
        let share = |reactions: f64| (reactions + TASTE_PRIOR) / (total + n * TASTE_PRIOR);
        let likeness = |post: &Candidate| set.likeness.get(&post.challenge).copied().unwrap_or(0.0);
        let likeness_total: f64 = set.candidates.iter().map(likeness).sum();
        Context {
            rates: Rates::of(set),
            likeness_usual: likeness_total / set.candidates.len().max(1) as f64 + LIKENESS_MIN,
            taste: of_categories.map(|reactions| (share(reactions) * n).ln()),
            days_total: reader.days.iter().sum::<u64>() as f64,
            reader,
            set,
        }
    }

    /// The signals of a post.
    pub(super) fn signals(&self, post: &Candidate) -> Signals {
        let Reader { preferences, follows, days, .. } = self.reader;
        let ChallengeFacts { reception, .. } =
            self.set.challenges.get(&post.challenge).copied().unwrap_or_default();
        let reactions = preferences.get(&post.challenge).copied().unwrap_or(0.0).max(0.0);
        // Whoever sees ten posts of one challenge and two of another reacts to the first more often without liking it more.
        let chances =
            (reception.posts as f64 + self.rates.posts) / (2.0 * self.rates.posts.max(1.0));
        let likeness = self.set.likeness.get(&post.challenge).copied().unwrap_or(0.0);
        let given = days.get(post.category).copied().unwrap_or(0) as f64;
        [
            (reactions / chances.max(0.5)).ln_1p(),
            (1.0 + likeness / self.likeness_usual / LIKENESS_PRIOR).ln(),
            if self.days_total > 0.0 { given / self.days_total } else { 0.0 },
            if follows.contains(&post.challenge) { 1.0 } else { 0.0 },
            self.rates.popularity(post, &reception),
            self.rates.quality(post.category, &reception),
            0.5_f64.powf(post.age as f64 / HALF_LIFE_DAYS),
            self.set.liked_authors.get(&post.author).copied().unwrap_or(0.0).ln_1p(),
            self.taste[post.category],
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_that_were_set_win_over_learned_and_those_over_built_in() {
        let set = [("liking", "2.5"), ("freshness", "much"), ("unknown", "1")];
        let set = set.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let learned = [Some(r#"{"liking":9,"likeness":3,"quality":3,"author":-1}"#), None];
        let WeightSets { known, new } = WeightSets::read(&set, learned);
        let built_in = Weights::default().0;
        assert_eq!((known.0[0], known.0[1], known.0[5], known.0[7]), (2.5, 3.0, 1.0, 0.0));
        assert_eq!(known.0[2..5], built_in[2..5]);
        assert_eq!((new.0[0], &new.0[1..]), (2.5, &Weights::NEW.0[1..]));
    }
}
