//! Living through the nights of a made-up app, and comparing lists with what users did in the weeks that follow.

use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use jiff::tz::TimeZone;
use keyrack_store::{Clock, Options, Store};

use super::{
    baselines::{Baseline, PoolPost},
    bootstrap::{self, Interval},
    generator::GeneratedApp,
    metrics::{ListedPost, Scores},
    world::{BREAK_TEXT, Post, WEEK, World},
};
use crate::{
    error::Error,
    keys::UserId,
    online::{Request, Weights},
    random::Random,
    rows::CATEGORIES_MAX,
    service::{Recommender, Settings},
    source::Memory,
};

const DAY_MS: u64 = 86_400_000;

/// What an evaluation found.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ListEvaluation))]
pub struct Evaluation {
    /// Users whose lists were judged; those without later reactions cannot be.
    pub users: usize,
    /// Users left out.
    pub left_out: usize,
    /// Each way to make lists, ours first.
    pub measured: Vec<Measured>,
    /// How much better ours is than the best other, by NDCG.
    pub ratio: Interval,
    /// The weights that were learned and used.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<f64>))]
    pub weights: Weights,
}

/// How good one way to make lists is.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = MeasuredLists))]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// The means over users.
    pub scores: Scores,
    /// The mean NDCG with its bounds.
    pub ndcg: Interval,
    /// The share of the pool that is on anybody's list.
    pub coverage: f64,
}

/// Scores of each user, and all posts that were listed.
#[derive(Default)]
struct UserScores {
    scores: Vec<Scores>,
    listed: HashSet<u64>,
}

/// Judges recommendations on a made-up app: all nights but those of the last week are lived through, and lists are judged by that week.
///
/// # Errors
/// When the app is too short for that, or its store fails.
pub async fn evaluate(world: &GeneratedApp, days: usize, seed: u64) -> Result<Evaluation, Error> {
    if days < 3 * WEEK {
        let what = format!("{days} days are too few for an evaluation; use at least {}", 3 * WEEK);
        return Err(Error::Invalid { what });
    }
    let judged_on = days - WEEK - 1;
    let mut life = Simulation::new(world).await?;
    life.live_until(judged_on).await?;
    let weights = life.service.weights().await?;
    life.judge(judged_on, weights, seed).await
}

/// An app and its recommender, day by day.
pub(super) struct Simulation<'a> {
    world: &'a dyn World,
    pub(super) service: Recommender,
    clock: Arc<HandClock>,
    tables: Memory,
    day: usize,
}

impl<'a> Simulation<'a> {
    pub(super) async fn new(world: &'a dyn World) -> Result<Simulation<'a>, Error> {
        let zone = TimeZone::UTC;
        let noon = world.first_day().at(12, 0, 0, 0).to_zoned(zone.clone());
        let ms = noon.ok().and_then(|noon| u64::try_from(noon.timestamp().as_millisecond()).ok());
        let clock = Arc::new(HandClock(AtomicU64::new(ms.unwrap_or(0))));
        let options = Options { clock: Some(clock.clone()), ..Options::default() };
        let url = "embedded:memory".parse().map_err(keyrack_store::Error::from)?;
        let store = Store::open_with(url, options).await?;
        let settings = Settings { zone, break_text: BREAK_TEXT.into(), ..Settings::default() };
        let service = Recommender::new(store, settings);
        service.set_parameters(world.max_age() as u64, CATEGORIES_MAX).await?;
        Ok(Simulation { world, service, clock, tables: world.tables(), day: 0 })
    }

    /// Loads night after night, up to the one of this day.
    pub(super) async fn live_until(&mut self, day: usize) -> Result<(), Error> {
        while self.day <= day {
            if self.day > 0 {
                self.clock.0.fetch_add(DAY_MS, Ordering::Relaxed);
            }
            self.world.add_day(&mut self.tables, self.day);
            self.service.sync(&mut self.tables, &mut |_| ControlFlow::Continue(())).await?;
            self.day += 1;
        }
        Ok(())
    }

    async fn judge(&self, day: usize, weights: Weights, seed: u64) -> Result<Evaluation, Error> {
        let truth = Truth::at(self.world, day);
        let mut all: Vec<UserScores> =
            (0..=Baseline::ALL.len()).map(|_| UserScores::default()).collect();
        let mut left_out = 0;
        let mut dice = Random::new(seed);
        for user in 0..self.world.users() {
            let Some(wanted) = truth.wanted.get(&user) else {
                left_out += 1;
                continue;
            };
            let page = self.service.recommend(&Request::of(user_id(user)?).limit(10)).await?;
            let ours = page.items.iter().map(|item| item.post_id).collect();
            let open = truth.open_to(user);
            let others = Baseline::ALL.map(|baseline| baseline.list(&open, &mut dice));
            for (judged, list) in all.iter_mut().zip(std::iter::once(ours).chain(others)) {
                let listed: Vec<ListedPost> =
                    list.iter().filter_map(|post| truth.listed(*post)).collect();
                judged.scores.push(Scores::of(&listed, wanted));
                judged.listed.extend(list);
            }
        }
        Ok(sum_up(&all, &truth, weights, left_out, seed))
    }
}

fn sum_up(
    all: &[UserScores],
    truth: &Truth<'_>,
    weights: Weights,
    left_out: usize,
    seed: u64,
) -> Evaluation {
    let names = std::iter::once("keyrack").chain(Baseline::ALL.map(Baseline::name));
    let ndcg =
        |judged: &UserScores| judged.scores.iter().map(|scores| scores.ndcg).collect::<Vec<f64>>();
    let measured: Vec<Measured> = names
        .zip(all)
        .map(|(name, judged)| Measured {
            name: name.to_owned(),
            scores: Scores::mean(&judged.scores),
            ndcg: bootstrap::mean(&ndcg(judged), seed),
            coverage: judged.listed.len() as f64 / truth.pool.len().max(1) as f64,
        })
        .collect();
    let best = all[1..].iter().max_by(|a, b| {
        let mean = |judged: &UserScores| Scores::mean(&judged.scores).ndcg;
        mean(a).total_cmp(&mean(b))
    });
    let ratio = bootstrap::ratio(&ndcg(&all[0]), &best.map(ndcg).unwrap_or_default(), seed);
    Evaluation { users: all[0].scores.len(), left_out, measured, ratio, weights }
}

/// The pool of a day, and what users wanted of it in the week after.
pub(super) struct Truth<'a> {
    world: &'a dyn World,
    pub(super) day: usize,
    pub(super) pool: HashMap<u64, &'a Post>,
    pub(super) likes: HashMap<u64, u64>,
    likes_total: f64,
    pub(super) reacted: HashSet<(usize, u64)>,
    pub(super) has_liked: HashSet<usize>,
    pub(super) wanted: HashMap<usize, HashSet<u64>>,
}

impl<'a> Truth<'a> {
    pub(super) fn at(world: &'a dyn World, day: usize) -> Truth<'a> {
        let recent = |post: &&Post| {
            post.day <= day && post.day + world.max_age() > day && world.is_open(post)
        };
        let pool: HashMap<u64, &Post> =
            world.posts().iter().filter(recent).map(|post| (post.id, post)).collect();
        let mut likes: HashMap<u64, u64> = HashMap::new();
        let mut reacted = HashSet::new();
        let mut wanted: HashMap<usize, HashSet<u64>> = HashMap::new();
        for reaction in world.reactions().iter().filter(|reaction| !reaction.cancelled) {
            if reaction.day <= day {
                *likes.entry(reaction.post).or_default() += 1;
                reacted.insert((reaction.user, reaction.post));
            } else if reaction.day <= day + world.judged_days() && pool.contains_key(&reaction.post)
            {
                let is_new = !reacted.contains(&(reaction.user, reaction.post));
                if is_new {
                    wanted.entry(reaction.user).or_default().insert(reaction.post);
                }
            }
        }
        let likes_total = pool.keys().filter_map(|post| likes.get(post)).sum::<u64>().max(1) as f64;
        let has_liked = reacted.iter().map(|(user, _)| *user).collect();
        Truth { world, day, pool, likes, likes_total, reacted, has_liked, wanted }
    }

    /// What a user has neither liked nor written.
    fn open_to(&self, user: usize) -> Vec<PoolPost> {
        let open = self
            .pool
            .values()
            .filter(|post| post.author != user && !self.reacted.contains(&(user, post.id)));
        let mut open: Vec<PoolPost> = open
            .map(|post| PoolPost {
                post: post.id,
                category: self.world.category(post.challenge),
                likes: self.likes.get(&post.id).copied().unwrap_or(0),
            })
            .collect();
        open.sort_by_key(|known| known.post);
        open
    }

    pub(super) fn listed(&self, post: u64) -> Option<ListedPost> {
        let known = self.pool.get(&post)?;
        let likes = self.likes.get(&post).copied().unwrap_or(0).max(1) as f64;
        Some(ListedPost {
            post,
            challenge: known.challenge as u64,
            popularity: likes / self.likes_total,
        })
    }
}

pub(super) fn user_id(user: usize) -> Result<UserId, Error> {
    Ok(UserId::new(user.to_string())?)
}

/// A clock that is moved by hand.
#[derive(Debug)]
struct HandClock(AtomicU64);

impl Clock for HandClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
