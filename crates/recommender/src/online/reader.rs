//! What the store knows about the user who asks.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::{
    error::Error,
    keys::{self, UserId},
    service::Recommender,
};

/// Challenges whose neighbours are looked up because the user reacted to them, the most liked first: reading more costs time.
const PREFERRED_MAX: usize = 40;

/// A user's own keys.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) liked: HashSet<u64>,
    pub(super) hidden: HashSet<u64>,
    pub(super) blocked: HashSet<String>,
    pub(super) follows: HashSet<u64>,
    /// When each post was shown last.
    pub(super) shown: HashMap<u64, u64>,
    /// Reactions to each challenge, in an order in which sums are always the same.
    pub(super) preferences: BTreeMap<u64, f64>,
    /// Challenges that the user likes, the most liked first.
    pub(super) preferred: Vec<u64>,
    /// Days given to each category.
    pub(super) days: Vec<u64>,
}

impl Recommender {
    /// Reads a user's own keys, which share a slot, in one pipeline. The days come with what is shared.
    pub(super) async fn reader(&self, user: &UserId) -> Result<Reader, Error> {
        let place = |key: keyrack_keys::Key| self.store().place(&key).into_owned();
        let mut pipe = redis::pipe();
        pipe.cmd("SMEMBERS").arg(place(keys::liked_posts(user)));
        pipe.cmd("SMEMBERS").arg(place(keys::hidden_posts(user)));
        pipe.cmd("SMEMBERS").arg(place(keys::blocked_users(user)));
        pipe.cmd("SMEMBERS").arg(place(keys::follows(user)));
        pipe.cmd("ZRANGE").arg(place(keys::shown_posts(user))).arg(&[0, -1]).arg("WITHSCORES");
        pipe.cmd("ZREVRANGE").arg(place(keys::preferences(user))).arg(&[0, -1]).arg("WITHSCORES");
        type Own = (
            Vec<String>,
            Vec<String>,
            HashSet<String>,
            Vec<String>,
            Vec<(String, f64)>,
            Vec<(String, f64)>,
        );
        let (liked, hidden, blocked, follows, shown, preferences): Own =
            pipe.query_async(&mut self.store().connection()).await?;
        // What is no number was not written by a load, and names no post.
        let ids = |texts: Vec<String>| texts.iter().filter_map(|text| text.parse().ok()).collect();
        let pairs = |pairs: Vec<(String, f64)>| -> Vec<(u64, f64)> {
            pairs
                .into_iter()
                .filter_map(|(text, score)| Some((text.parse().ok()?, score)))
                .collect()
        };
        let preferences = pairs(preferences);
        let liked_challenges = preferences.iter().filter(|(_, liking)| *liking > 0.0);
        Ok(Reader {
            liked: ids(liked),
            hidden: ids(hidden),
            blocked,
            follows: follows.iter().filter_map(|text| text.parse().ok()).collect(),
            shown: pairs(shown).into_iter().map(|(post, at)| (post, at as u64)).collect(),
            preferred: liked_challenges.map(|(id, _)| *id).take(PREFERRED_MAX).collect(),
            preferences: preferences.into_iter().collect(),
            days: Vec::new(),
        })
    }
}
