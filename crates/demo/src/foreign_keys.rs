//! A look at a store before anything is done to it: is somebody else there?

use std::collections::BTreeSet;

use keyrack_keys::{Family, Registry};
use keyrack_store::{Keyspace, Store};

use crate::{error::Error, mark::Marks};

/// What a store holds beside a demo.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForeignKeys {
    /// Keys that are somebody's data.
    pub others: u64,
    /// One of them.
    pub example: Option<String>,
    /// A key that carries the mark of the demo.
    pub marked: Option<String>,
    /// Who owns keys of any kind: `jobs.bee`, `recommender` and so on.
    pub owners: BTreeSet<&'static str>,
}

/// How many keys one step asks for.
const STEP: usize = 500;

/// Looks at the names of all keys.
///
/// # Errors
/// When the store fails.
pub async fn survey(store: &Store, registry: &Registry) -> Result<ForeignKeys, Error> {
    let (mut survey, marks) = (ForeignKeys::default(), Marks::default());
    for keyspace in store.keyspaces().await? {
        let mut keys = Walk::new(&keyspace);
        while let Some(batch) = keys.next().await? {
            batch.iter().for_each(|raw| survey.see(raw, registry, &marks));
        }
    }
    Ok(survey)
}

impl ForeignKeys {
    fn see(&mut self, raw: &[u8], registry: &Registry, marks: &Marks) {
        let name = || String::from_utf8_lossy(raw).into_owned();
        let parsed = registry.parse(raw);
        if let Some(parsed) = &parsed {
            self.owners.insert(parsed.family.owner);
            if parsed.family.owner == "demo" {
                return;
            }
            if marks.is_on_key(parsed) {
                self.marked.get_or_insert_with(name);
                return;
            }
        }
        if parsed.is_none_or(|parsed| is_data(parsed.family)) {
            self.others += 1;
            self.example.get_or_insert_with(name);
        }
    }
}

/// Whether a key is somebody's data: a server that only runs leaves a few keys, too, and users who may sign in are no reason either.
fn is_data(family: &Family) -> bool {
    let is_of_servers = family.template.starts_with("jobs:hot:") || family.name == "hive_options";
    family.owner != "identity" && !is_of_servers
}

/// A walk through the names of a keyspace. Keys that move meanwhile may come twice.
pub(crate) struct Walk<'a> {
    keyspace: &'a Keyspace,
    pattern: Option<String>,
    cursor: Option<u64>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(keyspace: &'a Keyspace) -> Walk<'a> {
        Walk { keyspace, pattern: None, cursor: Some(0) }
    }

    /// A walk through those that a pattern matches.
    pub(crate) fn matching(keyspace: &'a Keyspace, pattern: String) -> Walk<'a> {
        Walk { pattern: Some(pattern), ..Walk::new(keyspace) }
    }

    /// Some more names; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Vec<u8>>>, Error> {
        let Some(cursor) = self.cursor else { return Ok(None) };
        let (next, batch) = self.keyspace.scan(cursor, self.pattern.as_deref(), STEP).await?;
        self.cursor = (next != 0).then_some(next);
        Ok(Some(batch))
    }
}
