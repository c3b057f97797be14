//! Telling keys of declared families from other programs' keys that have names of the same form.
//!
//! `<project>:<dimension>:<key>:<number>` fits many programs' keys: BullMQ has `bull:emails:job:17`. Such a key belongs
//! to its family only where a known account keeps its data, and if its type and content fit.

use std::collections::HashSet;

use keyrack_keys::{Content, Family, KnownBy, Layout, Registry};
use keyrack_store::{Error, Store};
use redis::{Pipeline, Value};

use crate::content;

/// The hash that says which accounts there are, and in which databases.
const ACCOUNTS: &str = "calculations.account_databases";

/// The number that stands for the main database, which accounts share by hash tags.
const SHARED: i64 = 0;

/// Members of a set that are looked at.
const MEMBERS: usize = 10;

/// What tells keys of ambiguous names apart: the accounts that a store knows.
#[derive(Clone, Debug, Default)]
pub struct Recogniser {
    databases: HashSet<i64>,
    tags: HashSet<String>,
    main_db: i64,
}

impl Recogniser {
    /// Reads which accounts the store knows.
    ///
    /// # Errors
    /// When the store cannot be reached. Who may not read the accounts knows none.
    pub async fn new(store: &Store, registry: &Registry) -> Result<Self, Error> {
        let mut recogniser = Self { main_db: store.db(), ..Self::default() };
        let accounts = registry.get(ACCOUNTS);
        let Some(key) = accounts.and_then(|family| family.render(store.layout(), None, &[]).ok())
        else {
            return Ok(recogniser);
        };
        let reply: redis::RedisResult<Vec<(String, String)>> =
            redis::cmd("HGETALL").arg(key).query_async(&mut store.connection()).await;
        let accounts = match reply {
            Err(error) if matches!(error.code(), Some("NOPERM" | "WRONGTYPE")) => Vec::new(),
            accounts => accounts?,
        };
        for (account, database) in accounts {
            match database.parse() {
                Ok(SHARED) => {
                    recogniser.tags.insert(account);
                }
                Ok(database) => {
                    recogniser.databases.insert(database);
                }
                Err(_) => {}
            }
        }
        Ok(recogniser)
    }

    /// Of these keys of one database, with the families that their names fit, the families that they belong to.
    ///
    /// `ask` sends a pipeline to that database; it is called only if a name does not say enough.
    ///
    /// # Errors
    /// When `ask` fails.
    pub async fn belong(
        &self,
        registry: &Registry,
        db: i64,
        keys: &[(&[u8], Option<&'static Family>)],
        ask: impl AsyncFnOnce(&Pipeline) -> Result<Vec<Value>, Error>,
    ) -> Result<Vec<Option<&'static Family>>, Error> {
        let mut families: Vec<Option<&'static Family>> = Vec::with_capacity(keys.len());
        let (mut pipeline, mut asked) = (Pipeline::new(), Vec::new());
        for (at, &(key, family)) in keys.iter().enumerate() {
            let Some(ambiguous) = family.filter(|family| family.is_ambiguous()) else {
                families.push(family);
                continue;
            };
            families.push(None);
            if self.is_an_accounts(registry, key, db) {
                question(&mut pipeline, key, ambiguous);
                asked.push((at, ambiguous));
            }
        }
        if asked.is_empty() {
            return Ok(families);
        }
        for ((at, family), reply) in asked.into_iter().zip(ask(&pipeline).await?) {
            families[at] = fits(family, reply).then_some(family);
        }
        Ok(families)
    }

    /// Does the key lie where a known account keeps its data?
    fn is_an_accounts(&self, registry: &Registry, key: &[u8], db: i64) -> bool {
        let Some(parsed) = registry.parse(key) else { return false };
        match (parsed.layout, parsed.shard) {
            (Layout::Documented, _) => self.databases.contains(&db),
            (Layout::Cluster, Some(account)) => db == self.main_db && self.tags.contains(&account),
            (Layout::Cluster, None) => false,
        }
    }
}

/// Asks for what a key of the family must hold; a key of another type answers with an error.
fn question(pipeline: &mut Pipeline, key: &[u8], family: &Family) {
    match (&family.content, family.known_by) {
        (Content::Hash(_) | Content::Map { .. }, KnownBy::Content(fields)) => {
            pipeline.cmd("HMGET").arg(key).arg(fields);
        }
        (Content::Set(_), _) => {
            pipeline.cmd("SSCAN").arg(key).arg(0).arg("COUNT").arg(MEMBERS);
        }
        // No other type is declared ambiguous; the type alone decides then.
        _ => {
            pipeline.cmd("TYPE").arg(key);
        }
    }
}

fn fits(family: &Family, reply: Value) -> bool {
    match &family.content {
        Content::Hash(_) | Content::Map { .. } => match reply {
            Value::Array(values) => values.iter().any(|value| *value != Value::Nil),
            _ => false,
        },
        Content::Set(member) => {
            let Value::Array(mut halves) = reply else { return false };
            let members = halves.pop().map(content::strings).unwrap_or_default();
            !members.is_empty() && members.iter().all(|text| member.encoding.check(text).is_ok())
        }
        other => matches!(reply, Value::SimpleString(is) if is == other.redis_type()),
    }
}
