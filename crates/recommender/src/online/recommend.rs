//! A page of recommendations.

use super::{
    candidates::CandidateSet,
    cursor::Cursor,
    filter::Filter,
    rank::{self, Order, Ranked, ScoredCandidate},
    reader::Reader,
    reason::Reason,
    signals::{Context, SIGNAL_NAMES, WeightSets, Weights},
    top::top_categories,
};
use crate::{
    error::Error,
    keys::{self, UserId},
    random::Random,
    service::Recommender,
};

/// How many posts a page has unless the request says otherwise.
pub const LIMIT_DEFAULT: usize = 100;

/// The most posts on a page, and on all pages together: a list is chosen from 500 to 1,000 candidates.
pub const LIMIT_MAX: usize = 500;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// Who asks.
    pub user: UserId,
    /// How many posts.
    pub limit: usize,
    /// Where to go on, as the page before said.
    pub cursor: Option<String>,
    /// The seed of chance; without one it comes from the user, the day and how much the user has seen.
    pub seed: Option<u64>,
    /// What the caller wants to have on the list; the same on all its pages.
    pub filter: Filter,
}

/// Posts for a user, the best first.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RecommendationPage))]
pub struct Page {
    /// The posts.
    pub items: Vec<Item>,
    /// Where the next page begins; none after the last.
    pub next_cursor: Option<String>,
}

/// A recommended post.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Recommendation))]
pub struct Item {
    /// The post.
    pub post_id: u64,
    /// Its challenge.
    pub challenge_id: u64,
    /// The code of its category.
    pub category: usize,
    /// Who wrote it.
    pub author_id: String,
    /// How well it suits the user, for comparing posts of one list.
    pub score: f64,
    /// Why it is here.
    pub reason: Reason,
    /// The same as a sentence.
    pub because: String,
}

impl Request {
    /// The first page for a user.
    pub fn of(user: UserId) -> Request {
        Request { user, limit: LIMIT_DEFAULT, cursor: None, seed: None, filter: Filter::default() }
    }

    /// With so many posts on a page.
    pub fn limit(mut self, limit: usize) -> Request {
        self.limit = limit;
        self
    }
}

impl Recommender {
    /// Posts that a user should see next. An empty pool gives an empty list; an unknown user gets what is good for everybody.
    ///
    /// # Errors
    /// When the limit or the cursor makes no sense, or the store cannot be reached.
    pub async fn recommend(&self, request: &Request) -> Result<Page, Error> {
        if !(1..=LIMIT_MAX).contains(&request.limit) {
            let what = format!("a page cannot have {} posts; use 1 to {LIMIT_MAX}", request.limit);
            return Err(Error::Invalid { what });
        }
        request.filter.check()?;
        let mut reader = self.reader(&request.user).await?;
        let cursor = match &request.cursor {
            Some(text) => text.parse()?,
            None => Cursor {
                seed: request.seed.unwrap_or_else(|| self.seed(&request.user, &reader)),
                as_of_ms: self.store().now_ms(),
                offset: 0,
            },
        };
        let mut dice = Random::new(cursor.seed);
        let gathered = self.gather(&request.user, &mut reader, &request.filter, &mut dice).await?;
        // One more than is shown tells whether there is another page. A longer list begins like a shorter one.
        let length = cursor.offset.saturating_add(request.limit + 1).min(LIMIT_MAX);
        let list = order(request, &reader, gathered, cursor, length, &mut dice);
        Ok(page(list, cursor, request.limit))
    }

    /// How much each signal counts for users who have reacted to something.
    pub(crate) async fn weights(&self) -> Result<Weights, Error> {
        let place = |key: keyrack_keys::Key| self.store().place(&key).into_owned();
        let mut pipe = redis::pipe();
        pipe.cmd("HGETALL").arg(place(keys::weights()));
        pipe.cmd("HMGET").arg(place(keys::learned())).arg(&["known", "new"]);
        let (set, learned): (Vec<(String, String)>, [Option<String>; 2]) =
            pipe.query_async(&mut self.store().connection()).await?;
        let [known, new] = &learned;
        Ok(WeightSets::read(&set, [known.as_deref(), new.as_deref()]).known)
    }

    /// Sets how much each signal counts.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn set_weights(&self, weights: &Weights) -> Result<(), Error> {
        let mut cmd = redis::cmd("HSET");
        cmd.arg(&*self.store().place(&keys::weights()));
        for (name, weight) in SIGNAL_NAMES.iter().zip(weights.0) {
            cmd.arg(name).arg(weight);
        }
        Ok(cmd.query_async(&mut self.store().connection()).await?)
    }

    /// The same for all requests of a user on one day, until the user has seen more.
    pub(super) fn seed(&self, user: &UserId, reader: &Reader) -> u64 {
        Random::of_text(&format!("{user} {} {}", self.today(), reader.shown.len())).next()
    }
}

/// The whole list: what is new to the user in order of worth, then what was shown before, the longest ago first.
fn order(
    request: &Request,
    reader: &Reader,
    gathered: CandidateSet,
    cursor: Cursor,
    length: usize,
    dice: &mut Random,
) -> Vec<Ranked> {
    let top = top_categories(&reader.days, gathered.categories, dice);
    let context = Context::new(reader, &gathered);
    let weights = gathered.weights;
    let (mut fresh, mut seen) = (Vec::new(), Vec::new());
    for mut candidate in gathered.candidates.iter().cloned() {
        let shown_at = reader.shown.get(&candidate.post).copied();
        // What was shown and liked on an earlier page of this list keeps its place there.
        let on_this_list = shown_at.is_some_and(|at| at >= cursor.as_of_ms && cursor.offset > 0);
        let unwanted = reader.hidden.contains(&candidate.post)
            || reader.blocked.contains(&candidate.author)
            || candidate.author == request.user.as_str()
            || !request.filter.admits(&candidate)
            || (reader.liked.contains(&candidate.post) && !on_this_list);
        if unwanted {
            continue;
        }
        if on_this_list {
            // As it was when the list was first made.
            candidate.shown = candidate.shown.saturating_sub(1);
        }
        let signals = context.signals(&candidate);
        let rated = ScoredCandidate { score: weights.score(&signals), candidate, signals };
        match shown_at.filter(|_| !on_this_list) {
            None => fresh.push(rated),
            Some(at) => seen.push((at, rated)),
        }
    }
    let order = Order { weights: &weights, top: &top, length, seed: cursor.seed };
    let mut list = rank::rank(fresh, &order);
    seen.sort_by_key(|(at, rated)| (*at, std::cmp::Reverse(rated.candidate.post)));
    let seen = seen.into_iter().map(|(_, rated)| rated).collect();
    rank::append(&mut list, seen, length);
    list
}

fn page(list: Vec<Ranked>, cursor: Cursor, limit: usize) -> Page {
    let end = cursor.offset.saturating_add(limit);
    let more = list.len() > end;
    let items = list.into_iter().skip(cursor.offset).take(limit).map(|Ranked { rated, reason }| {
        let candidate = rated.candidate;
        Item {
            because: reason.text(candidate.challenge, candidate.category),
            post_id: candidate.post,
            challenge_id: candidate.challenge,
            category: candidate.category,
            author_id: candidate.author,
            score: rated.score,
            reason,
        }
    });
    let next_cursor = more.then(|| Cursor { offset: end, ..cursor }.to_string());
    Page { items: items.collect(), next_cursor }
}
