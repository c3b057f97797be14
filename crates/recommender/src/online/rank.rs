//! Putting candidates into order: by worth, less alike than worth alone would have them, with a few for discovery.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
};

use super::{
    candidates::Candidate,
    reason::Reason,
    signals::{self, Signals, Weights},
};
use crate::random::Random;

/// How much worth counts against being unlike what is already on the list.
const WORTH: f64 = 0.99;

/// One of so many places is for discovery, but none of the first so many: those are for what is surely good.
const DISCOVERY_EVERY: usize = 10;

/// Which of ten places it is.
const DISCOVERY_AT: usize = 4;

/// Of any ten places in a row, at most so many are for the same challenge or the same author.
const SAME_IN_TEN: usize = 2;

/// How many places before a place decide whether it may be of the same challenge or author.
const PLACES_BEFORE: usize = 9;

/// How unsure the worth of a post is that nobody has liked yet; it falls with the square root of its likes.
const UNSURE: f64 = 0.7;

/// A candidate with its worth.
#[derive(Debug)]
pub(super) struct ScoredCandidate {
    pub(super) candidate: Candidate,
    pub(super) signals: Signals,
    pub(super) score: f64,
}

/// A post on a list.
#[derive(Debug)]
pub(super) struct Ranked {
    pub(super) rated: ScoredCandidate,
    pub(super) reason: Reason,
}

/// What the order depends on beside the posts.
#[derive(Debug)]
pub(super) struct Order<'a> {
    pub(super) weights: &'a Weights,
    pub(super) top: &'a [usize],
    pub(super) length: usize,
    pub(super) seed: u64,
}

/// Chooses a list of at most `order.length` posts, the best first.
pub(super) fn rank(mut rated: Vec<ScoredCandidate>, order: &Order<'_>) -> Vec<Ranked> {
    // The newest first among equals.
    rated.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.candidate.post.cmp(&a.candidate.post)));
    let usual = signals::usual(rated.iter().map(|rated| &rated.signals));
    let luck: Vec<f64> = rated.iter().map(|rated| draw(rated, order)).collect();
    let mut choice = Choice::new(&rated);
    let mut chosen = Vec::new();
    while chosen.len() < order.length {
        let discovery =
            chosen.len() >= DISCOVERY_EVERY && chosen.len() % DISCOVERY_EVERY == DISCOVERY_AT;
        let lucky = if discovery { choice.luckiest(&luck) } else { None };
        let Some(at) = lucky.or_else(|| choice.best()) else { break };
        choice.take(at);
        chosen.push((at, lucky.is_some()));
    }
    let mut rated: Vec<Option<ScoredCandidate>> = rated.into_iter().map(Some).collect();
    let ranked = chosen.into_iter().filter_map(|(at, lucky)| {
        let rated = rated[at].take()?;
        let reason = if lucky {
            Reason::Discovery
        } else {
            Reason::of(&rated.signals, &usual, order.weights)
        };
        Some(Ranked { rated, reason })
    });
    ranked.collect()
}

/// A guess at what a post of another category could be worth (Thompson sampling): surer the more often it was liked.
fn draw(rated: &ScoredCandidate, order: &Order<'_>) -> f64 {
    let candidate = &rated.candidate;
    if order.top.contains(&candidate.category) {
        return f64::NEG_INFINITY;
    }
    // Each post has dice of its own, so that its luck does not depend on which others there are.
    let mut dice = Random::new(order.seed ^ candidate.post.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    rated.score + UNSURE * dice.normal() / (1.0 + candidate.likes as f64).sqrt()
}

/// Appends posts that were shown before, in their order as far as any ten places in a row allow it.
pub(super) fn append(list: &mut Vec<Ranked>, seen: Vec<ScoredCandidate>, length: usize) {
    let mut window = Window::default();
    for ranked in list.iter().rev().take(PLACES_BEFORE).rev() {
        window.take(&ranked.rated.candidate);
    }
    let mut left: VecDeque<ScoredCandidate> = seen.into();
    while list.len() < length && !left.is_empty() {
        let fitting = left.iter().position(|rated| window.fits(&rated.candidate)).unwrap_or(0);
        let Some(rated) = left.remove(fitting) else { break };
        window.take(&rated.candidate);
        list.push(Ranked { rated, reason: Reason::SeenBefore });
    }
}

/// The challenges and authors of the last places.
#[derive(Default)]
struct Window {
    places: VecDeque<(u64, String)>,
}

impl Window {
    fn fits(&self, candidate: &Candidate) -> bool {
        let same = |is_same: &dyn Fn(&(u64, String)) -> bool| {
            self.places.iter().filter(|place| is_same(place)).count() < SAME_IN_TEN
        };
        same(&|(challenge, _)| *challenge == candidate.challenge)
            && same(&|(_, author)| *author == candidate.author)
    }

    fn take(&mut self, candidate: &Candidate) {
        if self.places.len() == PLACES_BEFORE {
            self.places.pop_front();
        }
        self.places.push_back((candidate.challenge, candidate.author.clone()));
    }
}

/// A list under construction. Each place is chosen among all that is left, so everything looked at there is a number by place.
struct Choice {
    /// The worth of each from 0 to 1, falling from place to place.
    worth: Vec<f64>,
    taken: Vec<bool>,
    /// The last places.
    window: VecDeque<usize>,
    challenges: Groups,
    authors: Groups,
    categories: Groups,
}

/// Which posts belong together, and how many of each group were taken: in all, and for the last places.
struct Groups {
    of: Vec<usize>,
    taken: Vec<usize>,
    recent: Vec<usize>,
}

impl Groups {
    fn new<T: Eq + Hash>(members: impl Iterator<Item = T>) -> Groups {
        let mut numbers: HashMap<T, usize> = HashMap::new();
        let mut of = Vec::new();
        for member in members {
            let next = numbers.len();
            of.push(*numbers.entry(member).or_insert(next));
        }
        Groups { of, taken: vec![0; numbers.len()], recent: vec![0; numbers.len()] }
    }

    fn taken(&self, at: usize) -> usize {
        self.taken[self.of[at]]
    }

    fn recent(&self, at: usize) -> usize {
        self.recent[self.of[at]]
    }

    fn take(&mut self, at: usize) {
        self.taken[self.of[at]] += 1;
        self.recent[self.of[at]] += 1;
    }

    /// The post is no longer among the last places.
    fn pass(&mut self, at: usize) {
        self.recent[self.of[at]] -= 1;
    }
}

impl Choice {
    /// Takes candidates in the order of their worth.
    fn new(rated: &[ScoredCandidate]) -> Choice {
        let best = rated.first().map_or(0.0, |rated| rated.score);
        let worst = rated.last().map_or(0.0, |rated| rated.score);
        let span = (best - worst).max(f64::MIN_POSITIVE);
        let candidates = || rated.iter().map(|rated| &rated.candidate);
        Choice {
            worth: rated.iter().map(|rated| (rated.score - worst) / span).collect(),
            taken: vec![false; rated.len()],
            window: VecDeque::new(),
            challenges: Groups::new(candidates().map(|candidate| candidate.challenge)),
            authors: Groups::new(candidates().map(|candidate| candidate.author.as_str())),
            categories: Groups::new(candidates().map(|candidate| candidate.category)),
        }
    }

    /// The best that is left; when all that is left is too much of the same, the best of that.
    fn best(&self) -> Option<usize> {
        let mut fitting: Option<(usize, f64)> = None;
        let mut any: Option<(usize, f64)> = None;
        for at in (0..self.taken.len()).filter(|at| !self.taken[*at]) {
            let most = WORTH * self.worth[at];
            if fitting.is_some_and(|(_, value)| value >= most) {
                // What follows is worth less, so it cannot be better.
                break;
            }
            let value = most - (1.0 - WORTH) * self.alike(at);
            let beats = |best: Option<(usize, f64)>| best.is_none_or(|(_, best)| value > best);
            if beats(any) {
                any = Some((at, value));
            }
            if beats(fitting) && self.fits(at) {
                fitting = Some((at, value));
            }
        }
        fitting.or(any).map(|(at, _)| at)
    }

    fn luckiest(&self, luck: &[f64]) -> Option<usize> {
        let left = (0..self.taken.len()).filter(|at| !self.taken[*at] && self.fits(*at));
        left.filter(|at| luck[*at].is_finite()).max_by(|a, b| luck[*a].total_cmp(&luck[*b]))
    }

    fn fits(&self, at: usize) -> bool {
        self.challenges.recent(at) < SAME_IN_TEN && self.authors.recent(at) < SAME_IN_TEN
    }

    fn take(&mut self, at: usize) {
        self.taken[at] = true;
        if self.window.len() == PLACES_BEFORE
            && let Some(passed) = self.window.pop_front()
        {
            self.challenges.pass(passed);
            self.authors.pass(passed);
        }
        self.window.push_back(at);
        self.challenges.take(at);
        self.authors.take(at);
        self.categories.take(at);
    }

    /// How much a post is like the most similar one taken so far, from 0 to 1.
    fn alike(&self, at: usize) -> f64 {
        if self.challenges.taken(at) > 0 {
            1.0
        } else if self.authors.taken(at) > 0 {
            0.6
        } else if self.categories.taken(at) > 0 {
            0.25
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rated(post: u64, challenge: u64, category: usize, score: f64) -> ScoredCandidate {
        let author = format!("author of {post}");
        let candidate = Candidate { post, challenge, category, author, shown: 0, likes: 0, age: 0 };
        ScoredCandidate { candidate, signals: [0.0; super::super::N_SIGNALS], score }
    }

    fn list(rated: Vec<ScoredCandidate>, length: usize) -> Vec<(u64, Reason)> {
        let order = Order { weights: &Weights::default(), top: &[0, 1, 2], length, seed: 1 };
        let ranked = rank(rated, &order);
        ranked.iter().map(|ranked| (ranked.rated.candidate.post, ranked.reason)).collect()
    }

    #[test]
    fn the_best_is_first_and_a_little_worse_but_different_is_second() {
        let posts = vec![
            rated(1, 1, 0, 10.0),
            rated(2, 1, 0, 9.9),
            rated(3, 2, 1, 9.8),
            rated(4, 3, 0, 0.0),
        ];
        let order: Vec<u64> = list(posts, 4).into_iter().map(|(post, _)| post).collect();
        assert_eq!(order, [1, 3, 2, 4]);
    }

    #[test]
    fn the_newest_is_first_among_equals() {
        let posts = vec![rated(1, 1, 0, 1.0), rated(3, 2, 1, 1.0), rated(2, 3, 2, 1.0)];
        assert_eq!(list(posts, 3)[0].0, 3);
    }

    #[test]
    fn one_challenge_does_not_fill_a_list_unless_there_is_nothing_else() {
        let mut posts: Vec<ScoredCandidate> =
            (0..50).map(|post| rated(post, 1, 0, 100.0)).collect();
        posts.extend((50..100).map(|post| rated(post, post, 0, 1.0)));
        let of_the_first = list(posts, 50).iter().filter(|(post, _)| *post < 50).count();
        assert_eq!(of_the_first, 10);
        let alone = (0..50).map(|post| rated(post, 1, 0, 1.0)).collect();
        assert_eq!(list(alone, 50).len(), 50);
    }

    /// Places at which more than two of the ten from there on are of one challenge.
    fn crowded(challenges: &[u64]) -> Vec<usize> {
        let windows = challenges.windows(10).enumerate();
        let crowded = windows.filter(|(_, ten)| {
            ten.iter().any(|one| ten.iter().filter(|other| *other == one).count() > SAME_IN_TEN)
        });
        crowded.map(|(at, _)| at).collect()
    }

    #[test]
    fn any_ten_places_in_a_row_have_at_most_two_of_one_challenge() {
        // The most liked challenges come late: what was saved up in the first places may not be spent there.
        let mut posts: Vec<ScoredCandidate> =
            (0..20).map(|post| rated(post, post, 0, 1000.0 - post as f64)).collect();
        posts.extend(
            (100..400).map(|post| rated(post, post % 7 + 100, 1, 500.0 - (post % 7) as f64 * 10.0)),
        );
        let order = Order { weights: &Weights::default(), top: &[0, 1, 2], length: 120, seed: 1 };
        let challenges: Vec<u64> =
            rank(posts, &order).iter().map(|ranked| ranked.rated.candidate.challenge).collect();
        assert_eq!(challenges.len(), 120);
        assert_eq!(crowded(&challenges), [0; 0], "{challenges:?}");
    }

    #[test]
    fn posts_that_were_shown_before_are_spread_too() {
        let order = Order { weights: &Weights::default(), top: &[0, 1, 2], length: 12, seed: 1 };
        let mut list = rank((0..12).map(|post| rated(post, post % 6, 0, 1.0)).collect(), &order);
        let seen = (100..160).map(|post| rated(post, (post - 100) / 10, 0, 1.0)).collect();
        append(&mut list, seen, 40);
        let challenges: Vec<u64> =
            list.iter().map(|ranked| ranked.rated.candidate.challenge).collect();
        assert_eq!((challenges.len(), crowded(&challenges)), (40, Vec::new()), "{challenges:?}");
    }

    #[test]
    fn one_place_of_ten_is_for_another_category_after_the_first_ten() {
        let mut posts: Vec<ScoredCandidate> =
            (0..50).map(|post| rated(post, post, 0, 100.0)).collect();
        posts.extend((50..100).map(|post| rated(post, post, 4, 1.0)));
        let list = list(posts, 40);
        let discoveries =
            list.iter().enumerate().filter(|(_, (_, reason))| *reason == Reason::Discovery);
        assert_eq!(discoveries.map(|(place, _)| place).collect::<Vec<_>>(), [14, 24, 34]);
    }
}
