//! The posts among which a list is chosen, from all sources: challenges the user reacted to or follows, challenges like
//! those, the newest and random posts of every category, and popular posts.

use std::collections::HashMap;

use keyrack_store::{Script, script};
use redis::Value;

use super::{reader::Reader, signals::Weights};
use crate::{
    day,
    error::Error,
    keys::{self, UserId},
    random::Random,
    rows::{CATEGORIES_MAX, Challenge, numbers},
    service::Recommender,
};

static CANDIDATES: Script = script!("candidates.lua", "../include/challenge_posts.lua");

/// The newest posts of each category that are looked at. With those drawn and the popular ones there are 500 even for somebody of whom
/// nothing is known; more cost time, and make lists no better.
const NEWEST: usize = 45;
/// Draws from all days of each category, and the posts of a draw: those that stand together cost as much as one.
const DRAWS: usize = 10;
const OF_DRAW: usize = 4;
/// Popular posts of all categories that are looked at.
const POPULAR: usize = 100;
/// The newest posts of a liked or followed challenge that are looked at.
const OF_LIKED: usize = 10;
/// Challenges that are looked at because they are like liked ones, and their newest posts.
const ALIKE: usize = 20;
const OF_ALIKE: usize = 6;
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
pub(super) struct CandidateSet {
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
    [Vec<Value>; 6],
    [Vec<Value>; 3],
);

impl Recommender {
    /// Gathers candidates for a user, whose days it fills in. Posts of challenges that not everybody may see are never among them.
    pub(super) async fn gather(
        &self,
        user: &UserId,
        reader: &mut Reader,
        dice: &mut Random,
    ) -> Result<CandidateSet, Error> {
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
            .arg("n_of_liked", OF_LIKED)
            .arg("n_alike", ALIKE)
            .arg("n_of_alike", OF_ALIKE)
            .arg("n_preferred", PREFERRED)
            .args("values", values);
        let (index, ring, categories, days, weights, near, posts, challenges): Reply =
            call.run().await?;
        reader.days = numbers(&days).unwrap_or_else(|| vec![0; CATEGORIES_MAX]);
        let parsed = |(id, text): (u64, String)| Some((id, serde_json::from_str(&text).ok()?));
        Ok(CandidateSet {
            candidates: read(posts, &shown_to_all(&challenges), index, ring.max(1)),
            neighbours: near.into_iter().filter_map(parsed).collect(),
            weights: Weights::read(&weights),
            categories: categories.clamp(1, CATEGORIES_MAX),
        })
    }
}

/// The id and the category of each challenge that everybody may see; nothing in the place of any other.
fn shown_to_all([ids, kinds, infos]: &[Vec<Value>; 3]) -> Vec<Option<(u64, usize)>> {
    let category = |info: &Value| {
        let challenge = Challenge::from_text(0, text(info)?)?;
        (challenge.public && challenge.category < CATEGORIES_MAX).then_some(challenge.category)
    };
    let categories: Vec<Option<usize>> = infos.iter().map(category).collect();
    let challenge = |(id, kind)| Some((number(id)?, *at(&categories, kind)?.as_ref()?));
    ids.iter().zip(kinds).map(challenge).collect()
}

/// The candidates out of their columns, without those of which a value is not what a load writes.
fn read(
    [posts, of, authors, shown, likes, days]: [Vec<Value>; 6],
    challenges: &[Option<(u64, usize)>],
    index: u64,
    ring: u64,
) -> Vec<Candidate> {
    let counts = shown.iter().zip(&likes).zip(&days);
    let rows = posts.iter().zip(&of).zip(authors).zip(counts);
    let candidate = |(((post, of), author), ((shown, likes), day))| {
        let (challenge, category) = (*at(challenges, of)?)?;
        Some(Candidate {
            post: number(post)?,
            challenge,
            category,
            author: match author {
                Value::BulkString(bytes) => String::from_utf8(bytes).ok()?,
                _ => String::new(),
            },
            shown: count(shown)?,
            likes: count(likes)?,
            // A post that is in no set is as old as a post can be.
            age: match day {
                &Value::Nil => ring - 1,
                day => day::age(index, count(day)?, ring),
            },
        })
    };
    rows.filter_map(candidate).collect()
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

fn number(value: &Value) -> Option<u64> {
    text(value)?.parse().ok()
}

/// A number of the store, which may be a score; what is not there counts as 0.
fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Nil => Some(0),
        Value::Double(score) => Some(*score as u64),
        value => number(value).or_else(|| Some(text(value)?.parse::<f64>().ok()? as u64)),
    }
}

/// What stands at a place that Lua gave, which counts from 1.
fn at<'a, T>(column: &'a [T], place: &Value) -> Option<&'a T> {
    let Value::Int(place) = place else { return None };
    column.get(usize::try_from(*place).ok()?.checked_sub(1)?)
}
