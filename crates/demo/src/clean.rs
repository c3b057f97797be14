//! Taking away what the demo made, and nothing else.
//!
//! A key that carries the demo's mark in its name goes. Of keys that everybody shares, only marked members go. What has no names at all, such as the
//! recommender's pool, goes if nobody had any of it when the demo began.

mod journeys;
mod members;

use keyrack_calculations::{account, keys as calculations};
use keyrack_keys::{Family, Parsed, Registry};
use keyrack_store::{Keyspace, Script, Store};

use self::{journeys::Journeys, members::trim};
use crate::{
    error::Error,
    foreign_keys::Walk,
    mark::{MARK, Marks},
    record::Record,
};

static FORGET_ACCOUNT: Script = keyrack_store::script!("clean/forget_account.lua");

/// The parts of keyrack whose keys have no names by which one could tell whose they are.
pub(crate) const CLAIMABLE: [&str; 3] = [RECOMMENDER, RECURRING, BREAKER];
pub(crate) const RECOMMENDER: &str = "recommender";
pub(crate) const RECURRING: &str = "jobs.recurring";
/// The failures of the billing provider.
pub(crate) const BREAKER: &str = "entitlements";

/// A server that looks after the same queues may have put something back in between; after so many times it has nothing left to put.
const PASSES_MAX: usize = 5;

/// What was taken away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CleanReport {
    /// Keys.
    pub keys: u64,
    /// Members of keys that others use too.
    pub members: u64,
}

/// Takes away what a demo has left in a store. Does nothing where there was none. One that crashed a moment ago still counts as running, so
/// that this may wait for a quarter of a minute.
///
/// # Errors
/// [`Error::Running`] when the demo still runs, or when the store fails; cleaning again goes on.
pub async fn clean(store: &Store, registry: &Registry) -> Result<CleanReport, Error> {
    let record = Record::new(store.clone());
    if !record.take_patiently().await? {
        return Err(Error::Running);
    }
    let cleaned = sweep(store, registry, &record).await;
    record.give_back().await?;
    cleaned
}

/// The same for a demo that has the store already.
pub(crate) async fn sweep(
    store: &Store,
    registry: &Registry,
    record: &Record,
) -> Result<CleanReport, Error> {
    let Some(written) = record.read().await? else { return Ok(CleanReport::default()) };
    let database = account_database(store).await?;
    let databases = database.filter(|number| *number != 0).into_iter().collect();
    let journeys = Journeys::find(store, registry, written.started_at).await?;
    let marks = Marks { known: journeys.uids(), databases };
    let broom = CleanRules { registry, marks, claims: written.claims };
    let mut cleaned = CleanReport::default();
    for _ in 0..PASSES_MAX {
        let before = cleaned;
        for keyspace in store.keyspaces().await? {
            broom.sweep(&keyspace, &mut cleaned).await?;
        }
        if cleaned == before {
            break;
        }
    }
    cleaned.keys += journeys.delete().await?;
    if let Some(database) = database {
        forget_account(store, database).await?;
    }
    record.forget().await?;
    Ok(cleaned)
}

/// What goes by which rule.
struct CleanRules<'a> {
    registry: &'a Registry,
    marks: Marks,
    claims: Vec<String>,
}

/// What becomes of a key.
enum CleanAction {
    Goes,
    /// Others use it too.
    IsTrimmed(&'static Family),
    Stays,
}

impl CleanRules<'_> {
    async fn sweep(&self, keyspace: &Keyspace, cleaned: &mut CleanReport) -> Result<(), Error> {
        let (mut keys, mut shared) = (Walk::new(keyspace), Vec::new());
        while let Some(batch) = keys.next().await? {
            let mut delete = redis::pipe();
            for raw in batch {
                match self.fate(keyspace.db(), &raw) {
                    CleanAction::Goes => {
                        delete.cmd("UNLINK").arg(raw);
                    }
                    CleanAction::IsTrimmed(family) => shared.push((raw, family)),
                    CleanAction::Stays => {}
                }
            }
            for reply in keyspace.pipeline(&delete).await? {
                cleaned.keys += redis::from_redis_value::<u64>(reply.extract_error()?)
                    .map_err(redis::RedisError::from)?;
            }
        }
        for (raw, family) in shared {
            cleaned.members += trim(keyspace, &raw, family, &self.marks).await?;
        }
        Ok(())
    }

    fn fate(&self, db: i64, raw: &[u8]) -> CleanAction {
        if self.marks.databases.contains(&db) {
            return CleanAction::Goes;
        }
        // What nobody has declared, the demo has not written.
        let Some(parsed) = self.registry.parse(raw) else { return CleanAction::Stays };
        match parsed.family {
            family if family.owner == "demo" || journeys::is_journey(family) => CleanAction::Stays,
            _ if self.marks.is_on_key(&parsed) || self.is_claimed(&parsed) => CleanAction::Goes,
            // The field of the demo's account goes with its number.
            family
                if is_shared(family)
                    && family.name != calculations::account_databases::FAMILY.name =>
            {
                CleanAction::IsTrimmed(family)
            }
            _ => CleanAction::Stays,
        }
    }

    fn is_claimed(&self, parsed: &Parsed) -> bool {
        let owner = parsed.family.owner;
        let is_nameless =
            owner != BREAKER || parsed.family.template.starts_with("revenue_cat_errors");
        is_nameless && self.claims.iter().any(|claim| claim == owner)
    }
}

/// Whether the demo and others have members in one key: there is only one of it, or one for each month or tag.
fn is_shared(family: &Family) -> bool {
    family.parts.is_empty()
        || family.template == "tcount:<year>:<month>"
        || family.template == "bee:s:tags:<tag>"
}

/// The numbered database of the demo's account, if it has got one.
async fn account_database(store: &Store) -> Result<Option<i64>, Error> {
    let mut cmd = redis::cmd("HGET");
    cmd.arg(&*store.place(&calculations::account_databases())).arg(account(MARK)?.as_str());
    Ok(cmd.query_async(&mut store.connection()).await?)
}

async fn forget_account(store: &Store, database: i64) -> Result<(), Error> {
    let call = FORGET_ACCOUNT
        .call(store)
        .key("account_databases", &calculations::account_databases())
        .key("next_database", &calculations::next_database())
        .arg("account", MARK)
        .arg("database", database);
    Ok(call.run().await?)
}
