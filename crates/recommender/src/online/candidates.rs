//! The posts among which a list is chosen, from all sources: challenges that suit the user by the model, the newest and
//! random posts of every category, popular posts, and new posts of the challenges of those.

use std::collections::HashMap;

use keyrack_store::{Script, script};
use redis::Value;

use super::{
    filter::Filter,
    reader::Reader,
    reception::Reception,
    signals::{WeightSets, Weights},
    suitable::{self, SuitableChallenges},
};
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
/// The newest posts of a challenge chosen for the user that are looked at.
const OF_CHOSEN: usize = 8;
/// Challenges of popular posts whose newest posts are looked at, and how many of them.
const GOOD: usize = 12;
const OF_GOOD: usize = 6;
/// Posts that are looked at when a list is limited to a few challenges.
const CANDIDATES_FILTERED: usize = 500;
/// The newest liked posts whose authors are looked up.
const LIKED: usize = 60;

/// How many posts are looked at of each category and challenge: more of each where a filter leaves few of them.
struct Sizes {
    newest: usize,
    of_draw: usize,
    of_chosen: usize,
}

impl Sizes {
    fn of(filter: &Filter) -> Sizes {
        let categories = (0..CATEGORIES_MAX).filter(|code| filter.wants_category(*code)).count();
        let more = CATEGORIES_MAX / categories.max(1);
        let of_chosen = match filter.challenges.len() {
            0 => OF_CHOSEN,
            challenges => (CANDIDATES_FILTERED / challenges).max(OF_CHOSEN),
        };
        Sizes { newest: NEWEST * more, of_draw: OF_DRAW * more, of_chosen }
    }
}

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

/// What is known about a challenge that was chosen or has candidates.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ChallengeFacts {
    pub(super) category: usize,
    pub(super) reception: Reception,
}

/// All candidates, and what is shared by them.
#[derive(Debug)]
pub(super) struct CandidateSet {
    pub(super) candidates: Vec<Candidate>,
    /// How much each challenge is like those that the user likes.
    pub(super) likeness: HashMap<u64, f64>,
    pub(super) challenges: HashMap<u64, ChallengeFacts>,
    /// Posts of each author that the user liked.
    pub(super) liked_authors: HashMap<String, f64>,
    /// The mean likes of a post by its age.
    pub(super) likes_by_age: Vec<f64>,
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
    [Option<String>; 3],
    Vec<Option<String>>,
    [Vec<Value>; 6],
    [Vec<Value>; 4],
);

impl Recommender {
    /// Gathers candidates for a user, whose days it fills in. Posts of challenges that not everybody may see are never among them.
    pub(super) async fn gather(
        &self,
        user: &UserId,
        reader: &mut Reader,
        filter: &Filter,
        dice: &mut Random,
    ) -> Result<CandidateSet, Error> {
        let near = self.neighbours_of(&reader.preferred).await?;
        let SuitableChallenges { mut chosen, likeness } = suitable::suitable(reader, &near);
        let sizes = Sizes::of(filter);
        if !filter.challenges.is_empty() {
            chosen.clone_from(&filter.challenges);
        }
        let wanted = (0..CATEGORIES_MAX).map(|code| u8::from(filter.wants_category(code)));
        let mut liked: Vec<u64> = reader.liked.iter().copied().collect();
        liked.sort_unstable_by(|a, b| b.cmp(a));
        liked.truncate(LIKED);
        let end = || std::iter::once(String::new());
        let shares = (0..CATEGORIES_MAX * (1 + DRAWS)).map(|_| dice.share().to_string());
        let names = |ids: &[u64]| ids.iter().map(u64::to_string).collect::<Vec<_>>();
        let lists = names(&chosen).into_iter().chain(end()).chain(names(&liked)).chain(end());
        let values: Vec<String> = lists.chain(shares).collect();
        let call = CANDIDATES
            .call(self.store())
            .key("parameters", &keys::parameters())
            .key("contributions", &keys::contributions())
            .key("pair", &keys::post_challenges())
            .key("authors", &keys::authors())
            .key("popularity", &keys::popularity())
            .key("showings", &keys::showings())
            .key("challenges", &keys::challenges())
            .key("receptions", &keys::receptions())
            .key("weights", &keys::weights())
            .key("learned", &keys::learned())
            .keys("categories", &Recommender::category_keys())
            .arg("user", user.as_str())
            .arg("wanted", wanted.map(|is_wanted| is_wanted.to_string()).collect::<String>())
            .arg("n_newest", sizes.newest)
            .arg("n_draws", DRAWS)
            .arg("n_of_draw", sizes.of_draw)
            .arg("n_popular", POPULAR)
            .arg("n_of_chosen", sizes.of_chosen)
            .arg("n_good", GOOD)
            .arg("n_of_good", OF_GOOD)
            .args("values", values);
        let (index, ring, categories, days, set, learned, authors, posts, challenges): Reply =
            call.run().await?;
        reader.days = numbers(&days).unwrap_or_else(|| vec![0; CATEGORIES_MAX]);
        let open = open_to_all(&challenges);
        let mut liked_authors: HashMap<String, f64> = HashMap::new();
        for author in authors.into_iter().flatten() {
            *liked_authors.entry(author).or_default() += 1.0;
        }
        let [known, new, likes_by_age] = &learned;
        let weights = WeightSets::read(&set, [known.as_deref(), new.as_deref()]);
        let likes_by_age = likes_by_age.as_deref().and_then(|text| serde_json::from_str(text).ok());
        Ok(CandidateSet {
            candidates: read(posts, &open, index, ring.max(1)),
            likeness,
            challenges: open.into_iter().flatten().collect(),
            liked_authors,
            likes_by_age: likes_by_age.unwrap_or_default(),
            weights: if reader.preferred.is_empty() { weights.new } else { weights.known },
            categories: categories.clamp(1, CATEGORIES_MAX),
        })
    }
}

/// What is known about each challenge that everybody may see; nothing in the place of any other.
fn open_to_all(
    [ids, kinds, receptions, infos]: &[Vec<Value>; 4],
) -> Vec<Option<(u64, ChallengeFacts)>> {
    let category = |info: &Value| {
        let challenge = Challenge::from_text(0, text(info)?)?;
        (challenge.public && challenge.category < CATEGORIES_MAX).then_some(challenge.category)
    };
    let categories: Vec<Option<usize>> = infos.iter().map(category).collect();
    let challenge = |place: usize| {
        let category = *at(&categories, kinds.get(place)?)?.as_ref()?;
        let reception =
            receptions.get(place).and_then(text).map(Reception::read).unwrap_or_default();
        Some((number(&ids[place])?, ChallengeFacts { category, reception }))
    };
    (0..ids.len()).map(challenge).collect()
}

/// The candidates out of their columns, without those of which a value is not what a load writes.
fn read(
    [posts, of, authors, shown, likes, days]: [Vec<Value>; 6],
    challenges: &[Option<(u64, ChallengeFacts)>],
    index: u64,
    ring: u64,
) -> Vec<Candidate> {
    let counts = shown.iter().zip(&likes).zip(&days);
    let rows = posts.iter().zip(&of).zip(authors).zip(counts);
    let candidate = |(((post, of), author), ((shown, likes), day))| {
        let (challenge, ChallengeFacts { category, .. }) = (*at(challenges, of)?)?;
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
