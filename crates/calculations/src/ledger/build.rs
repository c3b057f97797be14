//! Calculating everything about a key afresh: when something is declared later, and when somebody asks for it.
//!
//! Whoever builds says so in the key's head, and nobody else changes the key until it is done. Only what differs is
//! written, so that readers never see a result that is gone for a moment.

use std::{collections::HashMap, time::Duration};

use keyrack_keys::Key;
use keyrack_store::{Script, script};

use super::{
    Ledger,
    commit::message,
    expected_state::{ExpectedState, Kind, image, in_stored_form},
    key::{Declared, KeyId},
    snapshot::read_snapshot,
};
use crate::error::Error;

static BEGIN: Script = script!("begin.lua");
static MEND: Script = script!("mend.lua");
static FINISH: Script = script!("finish.lua");

/// A builder that has not got on for this long is taken to be dead; a part takes milliseconds.
const PATIENCE_MS: u64 = 10_000;
/// How long to wait before looking again whether another has finished.
const PAUSE: Duration = Duration::from_millis(20);
/// Fields that are read or written at once.
const CHUNK: usize = 500;

/// What a comparison of everything stored with the values has shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// How many fields of results were compared.
    pub compared: u64,
    /// Where they differ.
    pub differences: Vec<Difference>,
    /// Values that cannot be read; other programs must have written them.
    pub unreadable: u64,
}

/// A field that is not what the values say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The key's documented name.
    pub name: String,
    /// The field, or the member of a sorted set.
    pub field: String,
    /// What is stored.
    pub stored: Option<String>,
    /// What the values say.
    pub expected: Option<String>,
}

/// A name for whoever calculates a key afresh.
pub(super) fn builder_name() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// Times that were not written in the form in which they are stored.
fn differences_of(values: &Key, changes: Vec<(String, Option<String>)>) -> Vec<Difference> {
    let name = values.name();
    let difference = |(field, expected): (String, Option<String>)| Difference {
        name: name.to_owned(),
        stored: None,
        field,
        expected,
    };
    changes.into_iter().map(difference).collect()
}

impl Ledger {
    /// Calculates everything about a key afresh and returns what was wrong before.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn recompute(&self, id: &KeyId) -> Result<Verdict, Error> {
        let _turn = self.turn(id).await;
        self.build(id, &Declared::default()).await
    }

    /// Compares everything that is stored about a key with what its values say, and changes nothing.
    ///
    /// # Errors
    /// When the store failed, or the key kept changing.
    pub async fn verify(&self, id: &KeyId) -> Result<Verdict, Error> {
        const ATTEMPTS: usize = 100;
        for _ in 0..ATTEMPTS {
            let before = read_snapshot(self.store(), id, &[], &[]).await?;
            let (values, changes) = in_stored_form(self.fields(&id.values(), Kind::State).await?);
            let expected = image(id, &before.declared, &before.settings, &values);
            let mut verdict = Verdict { unreadable: expected.unreadable, ..Verdict::default() };
            verdict.differences = differences_of(&id.values(), changes);
            self.compare(&expected, &mut verdict).await?;
            let after = read_snapshot(self.store(), id, &[], &[]).await?;
            if before.version == after.version && after.builder.is_none() {
                return Ok(verdict);
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(Error::Busy { key: id.shown() })
    }

    /// Builds everything that is declared and what is wanted beside; waits where another is at it.
    pub(super) async fn build(&self, id: &KeyId, wanted: &Declared) -> Result<Verdict, Error> {
        let builder = builder_name();
        loop {
            if !self.begin(id, &builder, wanted).await? {
                tokio::time::sleep(PAUSE).await;
                let snapshot = read_snapshot(self.store(), id, &[], &[]).await?;
                let is_done = wanted.pairs().iter().all(|pair| snapshot.built.contains(*pair));
                if snapshot.builder.is_none() && is_done && !wanted.pairs().is_empty() {
                    return Ok(Verdict::default());
                }
                continue;
            }
            let outcome = self.build_as(id, &builder).await;
            match outcome {
                Ok(Some(verdict)) => return Ok(verdict),
                Ok(None) => {}
                Err(error) => {
                    // So that others need not wait until this builder is taken to be dead.
                    let _ = self.finish(id, &builder, &Declared::default(), 0).await;
                    return Err(error);
                }
            }
        }
    }

    pub(super) async fn begin(
        &self,
        id: &KeyId,
        builder: &str,
        wanted: &Declared,
    ) -> Result<bool, Error> {
        let intervals: Vec<Key> =
            wanted.pairs().iter().map(|(calculation, _)| id.intervals(*calculation)).collect();
        let pairs: Vec<&str> = wanted
            .pairs()
            .iter()
            .flat_map(|(calculation, interval)| [calculation.as_str(), interval.as_str()])
            .collect();
        let begun: u64 = BEGIN
            .call(self.store())
            .key("head", &id.head())
            .key("calculations", &id.calculations())
            .keys("intervals", &intervals)
            .arg("builder", builder)
            .arg("now", self.store().now_ms())
            .arg("patience_ms", PATIENCE_MS)
            .args("pairs", pairs)
            .run()
            .await?;
        Ok(begun == 1)
    }

    /// The building itself; `None` when another has taken over.
    pub(super) async fn build_as(
        &self,
        id: &KeyId,
        builder: &str,
    ) -> Result<Option<Verdict>, Error> {
        let now = read_snapshot(self.store(), id, &[], &[]).await?;
        let (values, changes) = in_stored_form(self.fields(&id.values(), Kind::State).await?);
        let expected = image(id, &now.declared, &now.settings, &values);
        let mut verdict = Verdict { unreadable: expected.unreadable, ..Verdict::default() };
        verdict.differences = differences_of(&id.values(), changes);
        // What comes new is written first: a crash in between leaves no time without its value.
        for changes in
            verdict.differences.chunk_by(|a, b| a.expected.is_some() == b.expected.is_some()).rev()
        {
            if !self.mend(id, builder, &id.values(), Kind::State, changes).await? {
                return Ok(None);
            }
        }
        let differences = self.compare(&expected, &mut verdict).await?;
        for (part, differences) in expected.parts.iter().zip(differences) {
            if !self.mend(id, builder, &part.key, part.kind, &differences).await? {
                return Ok(None);
            }
        }
        let is_done = self.finish(id, builder, &now.declared, now.version + 1).await?;
        Ok(is_done.then_some(verdict))
    }

    pub(super) async fn finish(
        &self,
        id: &KeyId,
        builder: &str,
        built: &Declared,
        version: u64,
    ) -> Result<bool, Error> {
        let done: u64 = FINISH
            .call(self.store())
            .key("head", &id.head())
            .key("changes", &id.changes())
            .arg("builder", builder)
            .arg("built", built.built_text())
            .arg("message", message(id, version))
            .run()
            .await?;
        Ok(done == 1)
    }

    /// Takes fields out of a hash.
    pub(super) async fn remove_fields(
        &self,
        id: &KeyId,
        builder: &str,
        key: &Key,
        fields: &[String],
    ) -> Result<(), Error> {
        let gone = fields.iter().map(|field| (field.clone(), None)).collect();
        self.mend(id, builder, key, Kind::State, &differences_of(key, gone)).await.map(drop)
    }

    /// Writes what differs of one key.
    async fn mend(
        &self,
        id: &KeyId,
        builder: &str,
        key: &Key,
        kind: Kind,
        differences: &[Difference],
    ) -> Result<bool, Error> {
        let (gone, kept): (Vec<_>, Vec<_>) =
            differences.iter().partition(|difference| difference.expected.is_none());
        let (remove, set) = match kind {
            Kind::Order => ("ZREM", "ZADD"),
            Kind::Result | Kind::State => ("HDEL", "HSET"),
        };
        let gone: Vec<&str> = gone.iter().map(|difference| difference.field.as_str()).collect();
        let kept: Vec<&str> = kept
            .iter()
            .flat_map(|difference| {
                let value = difference.expected.as_deref().unwrap_or_default();
                let field = difference.field.as_str();
                if kind == Kind::Order { [value, field] } else { [field, value] }
            })
            .collect();
        for (command, values) in [(remove, gone), (set, kept)] {
            for chunk in values.chunks(2 * CHUNK) {
                let done: u64 = MEND
                    .call(self.store())
                    .key("head", &id.head())
                    .key("target", key)
                    .arg("builder", builder)
                    .arg("now", self.store().now_ms())
                    .arg("command", command)
                    .args("values", chunk)
                    .run()
                    .await?;
                if done == 0 {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// What differs of each part; results go into the verdict.
    async fn compare(
        &self,
        expected: &ExpectedState,
        verdict: &mut Verdict,
    ) -> Result<Vec<Vec<Difference>>, Error> {
        let mut all = Vec::with_capacity(expected.parts.len());
        for part in &expected.parts {
            let stored: HashMap<String, String> =
                self.fields(&part.key, part.kind).await?.into_iter().collect();
            let mut differences = Vec::new();
            let mut differ =
                |field: &String, stored: Option<&String>, expected: Option<&String>| {
                    if stored != expected {
                        differences.push(Difference {
                            name: part.key.name().to_owned(),
                            field: field.clone(),
                            stored: stored.cloned(),
                            expected: expected.cloned(),
                        });
                    }
                };
            for (field, value) in &part.fields {
                differ(field, stored.get(field), Some(value));
            }
            for (field, value) in &stored {
                if !part.fields.contains_key(field) {
                    differ(field, Some(value), None);
                }
            }
            differences.sort_by(|a, b| a.field.cmp(&b.field));
            if part.kind == Kind::Result {
                verdict.compared += part.fields.len() as u64;
            }
            verdict.differences.extend(differences.iter().cloned());
            all.push(differences);
        }
        Ok(all)
    }

    /// All fields of a hash, or members of a sorted set with their scores.
    pub(super) async fn fields(
        &self,
        key: &Key,
        kind: Kind,
    ) -> Result<Vec<(String, String)>, Error> {
        let command = if kind == Kind::Order { "ZSCAN" } else { "HSCAN" };
        let mut all: HashMap<String, String> = HashMap::new();
        let mut cursor = 0_u64;
        loop {
            let mut cmd = redis::cmd(command);
            cmd.arg(&*self.store().place(key)).arg(cursor).arg("COUNT").arg(2 * CHUNK);
            let (next, fields): (u64, Vec<(String, String)>) =
                cmd.query_async(&mut self.store().connection()).await?;
            all.extend(fields);
            cursor = next;
            if cursor == 0 {
                return Ok(all.into_iter().collect());
            }
        }
    }
}
