//! The posts among which a list is chosen, from all sources: challenges the user reacted to or follows, challenges like
//! those, the newest and random posts of every category, and popular posts.

use std::collections::HashMap;

use keyrack_store::{Script, script};
use redis::Value;

use super::{reader::Reader, signals::Weights};
use crate::{
    day,
    dice::Dice,
    error::Error,
    keys::{self, UserId},
    rows::{CATEGORIES_MAX, Challenge, numbers},
    service::Recommender,
};

static CANDIDATES: Script = script!("candidates.lua", "../include/challenge_posts.lua");

/// The newest posts of each category that are looked at.
const NEWEST: usize = 60;
/// Draws from all days of each category, and the posts of a draw: those that stand together cost as much as one.
const DRAWS: usize = 10;
const OF_DRAW: usize = 4;
/// Popular posts of all categories that are looked at.
const POPULAR: usize = 100;
/// The newest posts of a challenge that are looked at.
const OF_CHALLENGE: usize = 10;
/// Challenges that are looked at because they are like liked ones.
const ALIKE: usize = 20;
/// Liked challenges whose neighbours are looked up.
const PREFERRED: usize = 30;
/// Followed challenges that are looked at.
const FOLLOWED: usize = 20;

/// A post that may be recommended, and what is known about it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) post: u64,
    pub(super) challenge: u64,
    pub(super) category: usize,
    pub(super) author: String,
    pub(super) shown: u64,
    pub(super) likes: u64,
    /// Nights since it came.
    pub(super) age: u64,
}

/// All candidates, and what is shared by them.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) candidates: Vec<Candidate>,
    pub(super) neighbours: HashMap<u64, Vec<(u64, f64)>>,
    pub(super) weights: Weights,
    pub(super) categories: usize,
}

/// What the script returns, in the header's order.
type Reply = (
    u64,
    u64,
    usize,
    String,
    Vec<(String, String)>,
    Vec<(u64, String)>,
    Vec<(u64, String)>,
    Vec<Value>,
);

impl Recommender {
    /// Gathers candidates for a user, whose days it fills in. Posts of challenges that not everybody may see are never among them.
    pub(super) async fn gather(
        &self,
        user: &UserId,
        reader: &mut Reader,
        dice: &mut Dice,
    ) -> Result<Gathered, Error> {
        let mut followed: Vec<u64> = reader.follows.iter().copied().collect();
        followed.sort_unstable_by(|a, b| b.cmp(a));
        followed.truncate(FOLLOWED);
        let liked = reader.preferred.iter().chain(&followed).map(u64::to_string);
        let end = std::iter::once(String::new());
        let shares = (0..CATEGORIES_MAX * (1 + DRAWS)).map(|_| dice.share().to_string());
        let values: Vec<String> = liked.chain(end).chain(shares).collect();
        let call = CANDIDATES
            .call(self.store())
            .key("parameters", &keys::parameters())
            .key("contributions", &keys::contributions())
            .key("pair", &keys::post_challenges())
            .key("authors", &keys::authors())
            .key("popularity", &keys::popularity())
            .key("showings", &keys::showings())
            .key("challenges", &keys::challenges())
            .key("neighbours", &keys::neighbours())
            .key("weights", &keys::weights())
            .keys("categories", &Recommender::category_keys())
            .arg("user", user.as_str())
            .arg("n_newest", NEWEST)
            .arg("n_draws", DRAWS)
            .arg("n_of_draw", OF_DRAW)
            .arg("n_popular", POPULAR)
            .arg("n_of_challenge", OF_CHALLENGE)
            .arg("n_alike", ALIKE)
            .arg("n_preferred", PREFERRED)
            .args("values", values);
        let (index, ring, categories, days, weights, near, infos, rows): Reply = call.run().await?;
        reader.days = numbers(&days).unwrap_or_else(|| vec![0; CATEGORIES_MAX]);
        let challenges: HashMap<u64, Challenge> = infos
            .into_iter()
            .filter_map(|(id, text)| Some((id, Challenge::from_text(id, &text)?)))
            .collect();
        let public = |candidate: &Candidate| {
            challenges.get(&candidate.challenge).is_some_and(|challenge| challenge.public)
        };
        let candidates = rows.chunks_exact(6).filter_map(|row| read(row, index, ring, &challenges));
        let parsed = |(id, text): (u64, String)| Some((id, serde_json::from_str(&text).ok()?));
        Ok(Gathered {
            candidates: candidates.filter(public).collect(),
            neighbours: near.into_iter().filter_map(parsed).collect(),
            weights: Weights::read(&weights),
            categories: categories.clamp(1, CATEGORIES_MAX),
        })
    }
}

/// A candidate out of its six values; nothing when one of them is not what a load writes.
fn read(
    row: &[Value],
    index: u64,
    ring: u64,
    challenges: &HashMap<u64, Challenge>,
) -> Option<Candidate> {
    let number = |at: usize| redis::from_redis_value_ref::<f64>(&row[at]).ok().map(|n| n as u64);
    let challenge = number(1)?;
    Some(Candidate {
        post: number(0)?,
        challenge,
        category: challenges.get(&challenge)?.category,
        author: redis::from_redis_value_ref(&row[2]).ok()?,
        shown: number(3)?,
        likes: number(4)?,
        age: day::age(index, number(5)?, ring.max(1)),
    })
}
