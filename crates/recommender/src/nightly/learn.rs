//! Learning from what users liked since the last load, before anything of this load is written: the signals are those that lists had.
//!
//! A liked post is compared with others that the user could have seen: those that were shown without being liked where the app
//! tells of them, else candidates at random. Posts that came since the last load are neither: users who look at what is new like
//! new posts more often, and would teach that freshness is all that counts.

use std::collections::{BTreeMap, HashMap};

use futures_util::future::try_join_all;

use super::{
    Load, PAGE,
    check::last_id,
    fit::{Belief, Pair},
};
use crate::{
    error::Error,
    keys::{self, UserId},
    online::{BY_REACTIONS, Example, N_SIGNALS, SIGNAL_NAMES, Weights},
    random::Random,
    rows::Reaction,
    source::{From, Source, Table},
};

/// Pages of new reactions that are read for learning: more would say the same.
const PAGES: usize = 5;

/// Users by whom a night learns: weights move little with more.
const USERS: usize = 300;

/// Users whose candidates are gathered at the same time.
const USERS_AT_ONCE: usize = 16;

/// Liked posts of one user that count, so that nobody speaks for all.
const LIKED_MAX: usize = 10;

/// Posts with which each liked one is compared.
const COMPARED: usize = 12;

/// What was learned, for both kinds of users.
struct LearnedWeights {
    known: Belief,
    new: Belief,
}

impl Load<'_> {
    /// Learns weights by the first load of each day. The day is written even when there is nothing to learn: a load that is cut
    /// off later and repeated does not learn from what it has counted itself.
    pub(super) async fn learn(&mut self, source: &mut impl Source) -> Result<(), Error> {
        let stored = self.service.read_map(&keys::learned()).await?;
        let today = self.day().to_string();
        if stored.get("day") == Some(&today) {
            return Ok(());
        }
        let mut values = vec![("day", today.clone())];
        if let Some(mark) = self.watermark("reaction").await? {
            let liked = self.new_likes(source, mark).await?;
            let pairs = self.pairs(liked, &today).await?;
            if !pairs.known.is_empty() || !pairs.new.is_empty() {
                let learned = LearnedWeights::read(&stored);
                let known = learned.known.after(&pairs.known);
                let new = learned.new.after(&pairs.new);
                values.extend([
                    ("known", weights_text(&known)),
                    ("known_precision", precision_text(&known)),
                    ("new", weights_text(&new)),
                    ("new_precision", precision_text(&new)),
                ]);
            }
        }
        let mut cmd = redis::cmd("HSET");
        cmd.arg(&*self.service.store().place(&keys::learned()));
        for (field, value) in &values {
            cmd.arg(field).arg(value);
        }
        cmd.query_async::<()>(&mut self.service.store().connection()).await?;
        self.wrote("weights", 1, Some(1))
    }

    /// What users liked since the last load, by user; some users are enough.
    async fn new_likes(
        &self,
        source: &mut impl Source,
        mark: u64,
    ) -> Result<Vec<(UserId, Vec<Reaction>)>, Error> {
        let mut of_users: BTreeMap<UserId, Vec<Reaction>> = BTreeMap::new();
        let mut after = mark;
        for _ in 0..PAGES {
            let page = source.page(Table::Reactions, From::Id(after), PAGE).await?;
            after = last_id(Table::Reactions, after, &page)?;
            let likes =
                page.iter().filter_map(Reaction::read).filter(|reaction| !reaction.cancelled);
            likes.for_each(|like| of_users.entry(like.user.clone()).or_default().push(like));
            if page.len() < PAGE {
                break;
            }
        }
        // Evenly through all of them: ids that stand together may be alike.
        let every = of_users.len().div_ceil(USERS).max(1);
        Ok(of_users.into_iter().step_by(every).collect())
    }

    async fn pairs(
        &mut self,
        liked: Vec<(UserId, Vec<Reaction>)>,
        today: &str,
    ) -> Result<Pairs, Error> {
        let mut pairs = Pairs::default();
        for some in liked.chunks(USERS_AT_ONCE) {
            let examples = some.iter().map(|(user, likes)| self.service.examples(user, likes));
            for (example, (user, _)) in try_join_all(examples).await?.into_iter().zip(some) {
                pairs.add(&example, &mut Random::of_text(&format!("{user} {today}")));
            }
        }
        Ok(pairs)
    }
}

/// Pairs for both kinds of users.
#[derive(Default)]
struct Pairs {
    known: Vec<Pair>,
    new: Vec<Pair>,
}

impl Pairs {
    fn add(&mut self, example: &Example, dice: &mut Random) {
        if example.others.is_empty() {
            return;
        }
        for liked in example.liked.iter().take(LIKED_MAX) {
            for _ in 0..COMPARED {
                let other = &example.others[dice.below(example.others.len())];
                let difference = std::array::from_fn(|at| liked[at] - other[at]);
                let pair = Pair { difference, weight: 1.0 / COMPARED as f64 };
                if example.is_known {
                    self.known.push(pair);
                }
                // Everybody was new once: without what reactions say, the pair is one of a new user.
                let mut as_new = pair;
                BY_REACTIONS.iter().for_each(|at| as_new.difference[*at] = 0.0);
                self.new.push(as_new);
            }
        }
    }
}

impl LearnedWeights {
    /// What earlier loads have learned; where something is missing, what is built in.
    fn read(stored: &HashMap<String, String>) -> LearnedWeights {
        let belief = |name: &str, built_in: Weights| {
            let mut belief = Belief::at_first(built_in);
            let weights = stored
                .get(name)
                .and_then(|text| serde_json::from_str::<HashMap<String, f64>>(text).ok());
            let precision = stored
                .get(&format!("{name}_precision"))
                .and_then(|text| serde_json::from_str::<Vec<f64>>(text).ok());
            let precision = precision.filter(|cells| cells.len() == N_SIGNALS * N_SIGNALS);
            let (Some(weights), Some(precision)) = (weights, precision) else { return belief };
            for (at, name) in SIGNAL_NAMES.iter().enumerate() {
                belief.weights.0[at] = weights.get(*name).copied().unwrap_or(built_in.0[at]);
                let row = &precision[at * N_SIGNALS..(at + 1) * N_SIGNALS];
                belief.precision[at].copy_from_slice(row);
            }
            belief
        };
        LearnedWeights {
            known: belief("known", Weights::default()),
            new: belief("new", Weights::NEW),
        }
    }
}

/// Few enough digits that nobody takes them for exact.
fn weights_text(belief: &Belief) -> String {
    let weights = SIGNAL_NAMES.iter().zip(belief.weights.0);
    let weights: Vec<String> =
        weights.map(|(name, weight)| format!("\"{name}\":{}", rounded(weight))).collect();
    format!("{{{}}}", weights.join(","))
}

fn precision_text(belief: &Belief) -> String {
    let cells = belief.precision.iter().flatten();
    let cells: Vec<String> = cells.map(|cell| rounded(*cell).to_string()).collect();
    format!("[{}]", cells.join(","))
}

fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}
