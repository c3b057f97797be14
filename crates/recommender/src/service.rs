//! The handle to the recommender of a store.

use std::collections::HashMap;

use jiff::{civil::Date, tz::TimeZone};
use keyrack_keys::Key;
use keyrack_store::Store;

use crate::{
    day,
    error::Error,
    keys::{self, CategoryNumber, UserId},
    rows::{CATEGORIES_MAX, Zones},
    source::Mapping,
};

/// How long a post may be recommended unless `rs_param` says otherwise.
pub const MAX_POST_AGE_DEFAULT: u64 = 7;

/// The most days a post may be recommended: a year is beyond all that is recent.
pub const MAX_POST_AGE_MAX: u64 = 366;

/// Members asked for at once while a large key is read, so that a server is never kept busy for long.
pub(crate) const SCAN_COUNT: usize = 1000;

/// The recommender of a store. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Recommender {
    store: Store,
    settings: Settings,
}

/// What a recommender goes by.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where days begin and end: the zone of the users.
    pub zone: TimeZone,
    /// The zone of moments that the database writes without one.
    pub database_zone: TimeZone,
    /// The text of posts that only announce a break; case and punctuation are ignored. Empty: none.
    pub break_text: String,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { zone: TimeZone::UTC, database_zone: TimeZone::UTC, break_text: String::new() }
    }
}

/// What `rs_param` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) max_post_age: u64,
    pub(crate) categories: usize,
    pub(crate) day_index: Option<u64>,
    pub(crate) last_run: Option<Date>,
    pub(crate) ring: Option<u64>,
}

impl Recommender {
    /// The recommender of a store.
    pub fn new(store: Store, settings: Settings) -> Recommender {
        Recommender { store, settings }
    }

    /// The store it works on.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What it goes by.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The calendar day of its users.
    pub fn today(&self) -> Date {
        day::day_of(self.store.now_ms(), &self.settings.zone)
    }

    pub(crate) fn zones(&self) -> Zones {
        Zones { users: self.settings.zone.clone(), database: self.settings.database_zone.clone() }
    }

    pub(crate) async fn parameters(&self) -> Result<Parameters, Error> {
        let mut cmd = redis::cmd("HGETALL");
        cmd.arg(&*self.store.place(&keys::parameters()));
        let fields: HashMap<String, String> = cmd.query_async(&mut self.store.connection()).await?;
        Parameters::read(&fields)
    }

    /// Changes how long posts may be recommended and how many categories there are; the next load acts on it.
    ///
    /// # Errors
    /// When a number is out of range, or the store cannot be reached.
    pub async fn set_parameters(&self, max_post_age: u64, categories: usize) -> Result<(), Error> {
        if !(1..=MAX_POST_AGE_MAX).contains(&max_post_age) {
            let what = format!(
                "posts cannot be recommended for {max_post_age} days; use 1 to {MAX_POST_AGE_MAX}"
            );
            return Err(Error::Invalid { what });
        }
        check_categories(categories)?;
        let mut cmd = redis::cmd("HSET");
        cmd.arg(&*self.store.place(&keys::parameters()));
        cmd.arg("max_post_age").arg(max_post_age).arg("distinct_category").arg(categories);
        Ok(cmd.query_async(&mut self.store.connection()).await?)
    }

    /// Takes what a mapping says about how long items may be recommended and how many sections there are; the rest stays.
    ///
    /// # Errors
    /// When a number is out of range, or the store cannot be reached.
    pub async fn apply(&self, mapping: &Mapping) -> Result<(), Error> {
        let (max_age, sections) = mapping.parameters();
        if max_age.is_none() && sections.is_none() {
            return Ok(());
        }
        let now = self.parameters().await?;
        let sections = sections.unwrap_or(now.categories);
        self.set_parameters(max_age.unwrap_or(now.max_post_age), sections).await
    }

    /// The whole of a large hash, read piece by piece.
    pub(crate) async fn read_map(&self, key: &Key) -> Result<HashMap<String, String>, Error> {
        let mut map = HashMap::new();
        let mut cursor = 0u64;
        loop {
            let mut scan = redis::cmd("HSCAN");
            scan.arg(&*self.store.place(key)).arg(cursor).arg("COUNT").arg(SCAN_COUNT);
            let (next, pairs): (u64, Vec<(String, String)>) =
                scan.query_async(&mut self.store.connection()).await?;
            map.extend(pairs);
            if next == 0 {
                return Ok(map);
            }
            cursor = next;
        }
    }

    /// The sets of all categories there can be, in the order of their codes.
    pub(crate) fn category_keys() -> Vec<Key> {
        (0..CATEGORIES_MAX).filter_map(category_number).map(|n| keys::recent_posts(&n)).collect()
    }
}

/// The number that a category's code has in key names.
pub(crate) fn category_number(code: usize) -> Option<CategoryNumber> {
    CategoryNumber::new(code as u64 + 1).ok()
}

fn check_categories(categories: usize) -> Result<(), Error> {
    if (1..=CATEGORIES_MAX).contains(&categories) {
        return Ok(());
    }
    let what = format!("there cannot be {categories} categories; use 1 to {CATEGORIES_MAX}");
    Err(Error::Invalid { what })
}

impl Parameters {
    fn read(fields: &HashMap<String, String>) -> Result<Parameters, Error> {
        let number = |name: &str| fields.get(name).and_then(|text| text.parse::<u64>().ok());
        let in_range = |days: &u64| (1..=MAX_POST_AGE_MAX).contains(days);
        let categories = match number("distinct_category") {
            None | Some(0) => CATEGORIES_MAX,
            Some(categories) => usize::try_from(categories).unwrap_or(usize::MAX),
        };
        check_categories(categories)?;
        Ok(Parameters {
            max_post_age: number("max_post_age").filter(in_range).unwrap_or(MAX_POST_AGE_DEFAULT),
            categories,
            day_index: number("day_index"),
            last_run: fields.get("last_run").and_then(|day| day.parse().ok()),
            ring: number("ring").filter(in_range),
        })
    }

    /// How many days go round in the scores of posts.
    pub(crate) fn ring(&self) -> u64 {
        self.ring.unwrap_or(self.max_post_age)
    }
}

/// A user's id out of what somebody typed or sent.
///
/// # Errors
/// When it cannot stand in a key.
pub fn user_id(text: &str) -> Result<UserId, Error> {
    Ok(UserId::new(text)?)
}
