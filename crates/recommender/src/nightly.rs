//! The nightly load: a new day begins, and what is new in the app's tables comes into the store.
//!
//! Posts and reactions are read from where the last load ended; each page of them and its watermark are one script. Challenges,
//! members and who follows what are small and change, so they are read whole, and only differences are written. A load that was
//! cut off anywhere is repeated and ends where an undisturbed one would have.

mod challenges;
mod check;
mod fit;
mod learn;
mod matrix;
mod members;
mod neighbours;
mod posts;
mod reactions;
mod receptions;
mod tidy;

use std::{
    collections::{BTreeMap, HashMap},
    ops::ControlFlow,
};

use jiff::civil::Date;
use keyrack_keys::Key;
use keyrack_store::{Script, script};

pub(crate) use self::{neighbours::strength, posts::PostEntry, reactions::CountedReaction};
use crate::{
    day,
    error::Error,
    keys,
    rows::{Challenge, Zones},
    service::{Parameters, Recommender},
    source::{Source, Table},
};

static ADVANCE: Script =
    script!("nightly/advance.lua", "include/remove.lua", "include/challenge_posts.lua");
static REMOVE: Script =
    script!("nightly/remove.lua", "include/remove.lua", "include/challenge_posts.lua");
static REPLACE: Script = script!("nightly/replace.lua");

/// Rows that are read, and written by one script, at a time: large enough to be fast, small enough to keep a server
/// from answering others for a few milliseconds only.
const PAGE: usize = 2000;

/// Users whose keys are seen to at the same time: enough to hide how long a server is away, few enough to leave room for others.
const USERS_AT_ONCE: usize = 64;

/// What a load did.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RecommenderSynced))]
pub struct Synced {
    /// The day's place in the ring.
    pub day_index: u64,
    /// Whether the day began with this load.
    pub new_day: bool,
    /// Challenges that are going on.
    pub challenges: u64,
    /// Memberships that count.
    pub members: u64,
    /// Posts that came into the pool.
    pub posts: u64,
    /// Posts that left it.
    pub removed: u64,
    /// Posts of breaks.
    pub breaks: u64,
    /// Posts of challenges that not everybody may see.
    pub private: u64,
    /// Reactions to posts of the pool.
    pub reactions: u64,
    /// Rows that make no sense, or name what is not there.
    pub skipped: u64,
}

/// How far a load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What it is doing.
    pub step: &'static str,
    /// Rows of the step that are done.
    pub rows: u64,
    /// How many there are, where that is known.
    pub of: Option<u64>,
}

/// Is told about the writes of a load, and may stop it.
pub type Watch<'a> = &'a mut (dyn FnMut(Progress) -> ControlFlow<()> + Send + Sync);

impl Recommender {
    /// Loads what is new in the app's tables. The first load of a calendar day also lets old posts go.
    ///
    /// # Errors
    /// When the tables cannot be read, the store cannot be reached, another load runs, or `watch` stops it. The next
    /// load then goes on from there.
    pub async fn sync(&self, source: &mut impl Source, watch: Watch<'_>) -> Result<Synced, Error> {
        let mut load = Load::new(self, watch).await?;
        load.check(source).await?;
        // First, because everything is still as it was when users saw their lists.
        load.learn(source).await?;
        load.advance().await?;
        let challenges = load.challenges(source).await?;
        let pool = load.posts(source, &challenges).await?;
        load.members(source, &challenges).await?;
        load.reactions(source, &pool, &challenges).await?;
        load.receptions(&pool).await?;
        load.tidy(source, &pool, &challenges).await?;
        Ok(load.done)
    }

    /// Forgets everything that loads have written, and loads it again. What users hid, blocked and were shown stays.
    ///
    /// # Errors
    /// As [`Recommender::sync`].
    pub async fn rebuild(
        &self,
        source: &mut impl Source,
        watch: Watch<'_>,
    ) -> Result<Synced, Error> {
        self.forget().await?;
        self.sync(source, watch).await
    }

    /// Removes what loads have written. Users are forgotten last, and the marks before anything else, so that this can be repeated.
    async fn forget(&self) -> Result<(), Error> {
        self.delete(&keys::watermarks()).await?;
        for user in self.users().await? {
            for key in [keys::liked_posts, keys::preferences, keys::counted, keys::follows] {
                self.delete(&key(&user)).await?;
            }
        }
        let pool = self.read_map(&keys::post_challenges()).await?;
        let posts: Vec<&String> = pool.keys().collect();
        for some in posts.chunks(PAGE) {
            self.remove_posts(some).await?;
        }
        for key in Recommender::category_keys() {
            self.delete(&key).await?;
        }
        let shared = [
            keys::challenges,
            keys::contributions,
            keys::breaks,
            keys::told_reactions,
            keys::neighbours,
            keys::receptions,
            keys::learned,
            keys::table_lengths,
        ];
        for key in shared {
            self.delete(&key()).await?;
        }
        let mut cmd = redis::cmd("HDEL");
        cmd.arg(&*self.store().place(&keys::parameters())).arg(&["day_index", "last_run", "ring"]);
        Ok(cmd.query_async(&mut self.store().connection()).await?)
    }

    async fn delete(&self, key: &Key) -> Result<(), Error> {
        let mut cmd = redis::cmd("UNLINK");
        cmd.arg(&*self.store().place(key));
        Ok(cmd.query_async(&mut self.store().connection()).await?)
    }

    pub(crate) async fn remove_posts<T: AsRef<str>>(&self, posts: &[T]) -> Result<(), Error> {
        if posts.is_empty() {
            return Ok(());
        }
        let posts: Vec<&str> = posts.iter().map(AsRef::as_ref).collect();
        let call = REMOVE
            .call(self.store())
            .key("pair", &keys::post_challenges())
            .key("authors", &keys::authors())
            .key("popularity", &keys::popularity())
            .key("showings", &keys::showings())
            .keys("categories", &Recommender::category_keys())
            .args("posts", posts);
        Ok(call.run().await?)
    }
}

/// A load under way.
struct Load<'a> {
    service: &'a Recommender,
    watch: Watch<'a>,
    parameters: Parameters,
    today: Date,
    zones: Zones,
    done: Synced,
}

/// All challenges of the app by their ids.
type Challenges = HashMap<u64, Challenge>;

/// The challenges of the posts in the pool.
type Pool = HashMap<u64, u64>;

impl<'a> Load<'a> {
    async fn new(service: &'a Recommender, watch: Watch<'a>) -> Result<Load<'a>, Error> {
        let parameters = service.parameters().await?;
        let (today, zones) = (service.today(), service.zones());
        Ok(Load { service, watch, parameters, today, zones, done: Synced::default() })
    }

    /// Tells whoever watches about a write.
    fn wrote(&mut self, step: &'static str, rows: u64, of: Option<u64>) -> Result<(), Error> {
        match (self.watch)(Progress { step, rows, of }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Stopped),
        }
    }

    /// How many rows a table has, and how many of them came since the last load.
    async fn lengths(&self, source: &mut impl Source, table: Table) -> Result<(u64, u64), Error> {
        let length = source.len(table).await?;
        let mut cmd = redis::cmd("HGET");
        cmd.arg(&*self.service.store().place(&keys::table_lengths())).arg(table.short());
        let before: Option<String> =
            cmd.query_async(&mut self.service.store().connection()).await?;
        let before = before.and_then(|text| text.parse().ok()).unwrap_or(0);
        Ok((length, length.saturating_sub(before)))
    }

    /// Begins the day, unless a load has done so already.
    async fn advance(&mut self) -> Result<(), Error> {
        let day = NewDay::after(&self.parameters, self.today);
        self.done.day_index = day.index;
        if !self.begins_day(&day) {
            return Ok(());
        }
        let seen = self.parameters.last_run.map(|day| day.to_string()).unwrap_or_default();
        let last_run = self.day();
        let call = ADVANCE
            .call(self.service.store())
            .key("parameters", &keys::parameters())
            .key("pair", &keys::post_challenges())
            .key("authors", &keys::authors())
            .key("popularity", &keys::popularity())
            .key("showings", &keys::showings())
            .keys("categories", &Recommender::category_keys())
            .arg("seen", seen)
            .arg("today", last_run.to_string())
            .arg("passed", day.passed)
            .arg("old_index", day.old_index)
            .arg("old_ring", day.old_ring)
            .arg("new_index", day.index)
            .arg("new_ring", day.ring);
        self.done.removed += call.run::<u64>().await?;
        self.done.new_day = day.passed > 0 || self.parameters.last_run.is_none();
        self.parameters.day_index = Some(day.index);
        self.parameters.ring = Some(day.ring);
        self.parameters.last_run = Some(last_run);
        self.wrote("day", 1, Some(1))
    }

    /// The day of this load. A clock that was set back begins no day.
    fn day(&self) -> Date {
        self.parameters.last_run.map_or(self.today, |last| last.max(self.today))
    }

    fn begins_day(&self, day: &NewDay) -> bool {
        day.passed > 0 || day.old_ring != day.ring || self.parameters.last_run.is_none()
    }

    /// Writes what differs between a hash and what it should be, and the length of the table behind it.
    async fn replace(
        &mut self,
        key: &Key,
        wanted: &BTreeMap<String, String>,
        table: Option<(Table, u64)>,
        step: &'static str,
    ) -> Result<(), Error> {
        let present = self.service.read_map(key).await?;
        let changed: Vec<(&String, &String)> =
            wanted.iter().filter(|(field, value)| present.get(*field) != Some(value)).collect();
        let mut stale: Vec<&String> =
            present.keys().filter(|field| !wanted.contains_key(*field)).collect();
        stale.sort();
        let mut written = 0;
        for some in changed.chunks(PAGE) {
            let values = some.iter().flat_map(|(field, value)| [field.as_str(), value.as_str()]);
            self.replace_some(key, some.len(), values.collect(), None).await?;
            written += some.len() as u64;
            self.wrote(step, written, Some(changed.len() as u64))?;
        }
        for some in stale.chunks(PAGE) {
            let fields = some.iter().map(|field| field.as_str()).collect();
            self.replace_some(key, 0, fields, None).await?;
            self.wrote(step, written, Some(changed.len() as u64))?;
        }
        if let Some(table) = table {
            self.replace_some(key, 0, Vec::new(), Some(table)).await?;
            self.wrote(step, written, Some(changed.len() as u64))?;
        }
        Ok(())
    }

    async fn replace_some(
        &self,
        key: &Key,
        n_set: usize,
        values: Vec<&str>,
        table: Option<(Table, u64)>,
    ) -> Result<(), Error> {
        let call = REPLACE
            .call(self.service.store())
            .key("hash", key)
            .key("lengths", &keys::table_lengths())
            .arg("table_name", table.map_or("", |(table, _)| table.short()))
            .arg("length", table.map_or(0, |(_, length)| length))
            .arg("n_set", n_set)
            .args("values", values);
        Ok(call.run().await?)
    }
}

/// Where a new day stands in the ring, and where the one before it stood.
#[derive(Debug, PartialEq, Eq)]
struct NewDay {
    passed: u64,
    old_index: u64,
    old_ring: u64,
    index: u64,
    ring: u64,
}

impl NewDay {
    fn after(parameters: &Parameters, today: Date) -> NewDay {
        let ring = parameters.max_post_age;
        let old_ring = parameters.ring();
        let passed = match (parameters.day_index, parameters.last_run) {
            (None, _) => 0,
            // Another program has counted days without saying which: at least one has passed.
            (Some(_), None) => 1,
            (Some(_), Some(last)) => u64::try_from(day::days_between(last, today)).unwrap_or(0),
        };
        let old_index = parameters.day_index.unwrap_or(0) % old_ring;
        let index = (old_index + passed) % ring;
        NewDay { passed, old_index, old_ring, index, ring }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_day(index: Option<u64>, last: Option<&str>, ring: Option<u64>) -> NewDay {
        let parameters = Parameters {
            max_post_age: 7,
            categories: 5,
            day_index: index,
            last_run: last.map(|day| day.parse().expect("a day")),
            ring,
        };
        NewDay::after(&parameters, "2024-03-10".parse().expect("a day"))
    }

    #[test]
    fn the_first_day_is_0_and_the_ring_goes_round() {
        assert_eq!(new_day(None, None, None).index, 0);
        assert_eq!(new_day(Some(0), Some("2024-03-09"), Some(7)).index, 1);
        assert_eq!(new_day(Some(6), Some("2024-03-09"), Some(7)).index, 0);
        assert_eq!(new_day(Some(6), Some("2024-03-07"), Some(7)).index, 2);
    }

    #[test]
    fn the_same_day_and_a_clock_set_back_change_nothing() {
        for last in ["2024-03-10", "2024-03-11"] {
            let day = new_day(Some(4), Some(last), Some(7));
            assert_eq!((day.index, day.passed), (4, 0));
        }
    }

    #[test]
    fn another_ring_is_counted_from_where_the_old_one_was() {
        let day = new_day(Some(8), Some("2024-03-09"), Some(10));
        assert_eq!((day.old_index, day.old_ring, day.index, day.ring), (8, 10, 2, 7));
    }
}
