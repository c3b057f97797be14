//! The challenges that suit a user: those reacted to and followed, and those that the model knows to please the same users.

use std::collections::HashMap;

use super::reader::Reader;
use crate::{error::Error, keys, nightly::strength, service::Recommender};

/// Challenges whose posts are looked at for a user.
const CHOSEN: usize = 50;

/// How much a reaction to the challenge itself counts beside what others speak for it, only for choosing.
const OWN: f64 = 0.1;

/// What a follower's interest is taken for: one reaction.
const FOLLOWED: f64 = 1.0;

/// The neighbours of challenges, with their weights.
pub(super) type Neighbours = HashMap<u64, Vec<(u64, f64)>>;

/// What suits a user.
#[derive(Debug)]
pub(super) struct SuitableChallenges {
    /// Challenges, the best first.
    pub(super) chosen: Vec<u64>,
    /// How much the user's other challenges speak for each challenge.
    pub(super) likeness: HashMap<u64, f64>,
}

/// Finds what suits a user.
pub(super) fn suitable(reader: &Reader, near: &Neighbours) -> SuitableChallenges {
    let mut likeness: HashMap<u64, f64> = HashMap::new();
    for challenge in &reader.preferred {
        let liking = strength(reader.preferences.get(challenge).copied().unwrap_or(0.0));
        for (other, weight) in near.get(challenge).into_iter().flatten() {
            *likeness.entry(*other).or_default() += liking * weight;
        }
    }
    let mut worth = likeness.clone();
    for (challenge, reactions) in &reader.preferences {
        *worth.entry(*challenge).or_default() += OWN * strength(*reactions);
    }
    for challenge in &reader.follows {
        *worth.entry(*challenge).or_default() += OWN * strength(FOLLOWED);
    }
    let mut chosen: Vec<(u64, f64)> = worth.into_iter().filter(|(_, worth)| *worth > 0.0).collect();
    chosen.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    chosen.truncate(CHOSEN);
    SuitableChallenges {
        chosen: chosen.into_iter().map(|(challenge, _)| challenge).collect(),
        likeness,
    }
}

impl Recommender {
    /// What the model knows about challenges.
    pub(super) async fn neighbours_of(&self, challenges: &[u64]) -> Result<Neighbours, Error> {
        if challenges.is_empty() {
            return Ok(Neighbours::new());
        }
        let mut cmd = redis::cmd("HMGET");
        cmd.arg(&*self.store().place(&keys::neighbours())).arg(challenges);
        let lists: Vec<Option<String>> = cmd.query_async(&mut self.store().connection()).await?;
        let parsed = |(challenge, text): (&u64, Option<String>)| {
            Some((*challenge, serde_json::from_str(&text?).ok()?))
        };
        Ok(challenges.iter().zip(lists).filter_map(parsed).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_liked_challenges_speak_for_is_chosen_first() {
        let mut reader = Reader { preferred: vec![1, 2], ..Reader::default() };
        reader.preferences = std::collections::BTreeMap::from([(1, 2.0), (2, 2.0), (9, -0.6)]);
        reader.follows = [5].into();
        let near = Neighbours::from([(1, vec![(3, 0.5), (4, 0.6)]), (2, vec![(3, 0.5), (2, 0.1)])]);
        let found = suitable(&reader, &near);
        assert_eq!(found.chosen[0], 3);
        assert!(found.chosen.contains(&5) && !found.chosen.contains(&9));
        assert!((found.likeness[&3] - 3.0_f64.ln()).abs() < 1e-9);
    }
}
