//! Walking through the keys of a step, and changing them.

use std::num::NonZeroU32;
use std::pin::pin;

use futures_util::TryStreamExt as _;
use keyrack_keys::{Family, Layout, Parsed, Registry};
use keyrack_lint::{WalkRate, printable, walk_keys};
use keyrack_store::{Error, Keyspace, Store};
use redis::{Pipeline, Value};

use super::form::Form;
use super::place::{Place, remove_unchanged};
use super::plan::{Change, Step};
use crate::{Exit, Failure};

/// Changes that are shown.
const EXAMPLES: usize = 3;

/// What a walk has met and done.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Keys of the family.
    pub(super) keys: u64,
    /// Keys that are not yet as the step wants them.
    pub(super) to_do: u64,
    /// Keys that were changed.
    pub(super) done: u64,
    /// Keys that a second walk would still change.
    pub(super) left: u64,
    /// Keys whose new name is that of another key, or with a new member that is another one.
    pub(super) taken: u64,
    /// Keys whose value has neither the old form nor the new one, or that are of another type.
    pub(super) unreadable: u64,
    /// Some of the changes, in words.
    pub(super) examples: Vec<String>,
}

impl Outcome {
    pub(super) fn is_done(&self, applied: bool) -> bool {
        let left = if applied { self.left } else { self.to_do };
        left == 0 && self.taken == 0
    }
}

/// Walks through the keys of a step's family; changes them if told to.
pub(super) async fn walk(
    store: &Store,
    registry: &Registry,
    step: &Step,
    pace: NonZeroU32,
    apply: bool,
) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::default();
    let pattern = step.family.pattern(store.layout());
    let pace = WalkRate { keys_per_second: Some(pace) };
    for keyspace in &store.keyspaces().await? {
        let mut batches = pin!(walk_keys(keyspace, Some(&pattern), pace));
        while let Some(keys) = batches.try_next().await? {
            let keys: Vec<(String, Parsed)> = keys
                .into_iter()
                .filter_map(|raw| {
                    let parsed = registry.parse(&raw)?;
                    let is_wanted = std::ptr::eq(parsed.family, step.family);
                    is_wanted.then_some((String::from_utf8(raw).ok()?, parsed))
                })
                .collect();
            outcome.keys += keys.len() as u64;
            let is_cluster = store.layout() == Layout::Cluster;
            let on = Batch { store, keyspace, family: step.family, is_cluster, apply };
            match &step.change {
                Change::Rename(template) => on.rename(&keys, template, &mut outcome).await?,
                Change::Ttl(ttl) => on.expire(&keys, ttl.as_millis(), &mut outcome).await?,
                Change::Encode { place, form } => {
                    on.encode(&keys, place, form, &mut outcome).await?
                }
            }
        }
    }
    Ok(outcome)
}

struct Batch<'a> {
    store: &'a Store,
    keyspace: &'a Keyspace,
    family: &'static Family,
    is_cluster: bool,
    apply: bool,
}

impl Batch<'_> {
    async fn ask(&self, pipeline: &Pipeline) -> Result<Vec<Value>, Error> {
        self.keyspace.pipeline(pipeline).await
    }

    async fn expire(
        &self,
        keys: &[(String, Parsed)],
        ms: u128,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        let mut ask = Pipeline::new();
        for (name, _) in keys {
            ask.cmd("PTTL").arg(name);
        }
        let replies = self.ask(&ask).await?;
        let lasting = keys.iter().zip(replies).filter(|(_, reply)| *reply == Value::Int(-1));
        let mut set = Pipeline::new();
        for ((name, _), _) in lasting {
            outcome.found(|| printable(name.as_bytes()));
            set.cmd("PEXPIRE").arg(name).arg(u64::try_from(ms).unwrap_or(u64::MAX));
        }
        self.change(&set, outcome).await
    }

    /// Writes the values in `place` of all keys in another form. A collection is read in chunks, so a long one takes several
    /// rounds.
    async fn encode(
        &self,
        keys: &[(String, Parsed)],
        place: &Place,
        form: &Form,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        let mut seen = vec![Seen::default(); keys.len()];
        let mut rest: Vec<(usize, u64)> = (0..keys.len()).map(|i| (i, 0)).collect();
        while !rest.is_empty() {
            let mut ask = Pipeline::new();
            for (i, cursor) in &rest {
                place.read(&mut ask, &keys[*i].0, *cursor);
            }
            let replies = self.ask(&ask).await?;
            let (mut set, mut set_for, mut next) = (Pipeline::new(), Vec::new(), Vec::new());
            for ((i, cursor), reply) in rest.into_iter().zip(replies) {
                let Some((values, go_on)) = place.take(cursor, reply) else {
                    seen[i].unreadable = true;
                    continue;
                };
                for found in values {
                    let Ok(old) = str::from_utf8(&found.old) else {
                        seen[i].unreadable = true;
                        continue;
                    };
                    let Some(new) = form.convert(old) else { continue };
                    let (name, parsed) = &keys[i];
                    if !std::mem::replace(&mut seen[i].to_do, true) {
                        outcome.found(|| example(name, parsed, old, &new));
                    }
                    place.replace(&mut set, name, &found, &new);
                    set_for.push(i);
                }
                next.extend(go_on.map(|cursor| (i, cursor)));
            }
            if self.apply && !set_for.is_empty() {
                for (i, reply) in set_for.into_iter().zip(self.ask(&set).await?) {
                    match reply.extract_error()? {
                        Value::Int(1) => seen[i].done = true,
                        Value::Int(2) => seen[i].taken = true,
                        _ => {}
                    }
                }
            }
            rest = next;
        }
        let count = |is: fn(&Seen) -> bool| seen.iter().filter(|seen| is(seen)).count() as u64;
        outcome.done += count(|seen| seen.done);
        outcome.taken += count(|seen| seen.taken);
        outcome.unreadable += count(|seen| seen.unreadable);
        Ok(())
    }

    async fn rename(
        &self,
        keys: &[(String, Parsed)],
        template: &str,
        outcome: &mut Outcome,
    ) -> anyhow::Result<()> {
        let renames: Vec<(&str, String)> =
            keys.iter().map(|(name, parsed)| (name.as_str(), renamed(parsed, template))).collect();
        let renames: Vec<_> = renames.into_iter().filter(|(old, new)| old != new).collect();
        for (old, new) in &renames {
            // It could not be told from those that are still to be renamed.
            if self.family.matches(new.as_bytes()) {
                let message = format!("\"{old}\" would become \"{new}\", a name of the same keys");
                let hint =
                    "a second run would rename it again; choose a name that they do not have";
                return Err(Failure::new(Exit::Usage, message).hint(hint).into());
            }
            outcome.found(|| {
                format!("{} becomes {}", printable(old.as_bytes()), printable(new.as_bytes()))
            });
        }
        if !self.apply {
            let mut ask = Pipeline::new();
            for (_, new) in &renames {
                ask.cmd("EXISTS").arg(new);
            }
            let taken = self.ask(&ask).await?.into_iter().filter(|reply| *reply == Value::Int(1));
            outcome.taken += taken.count() as u64;
            return Ok(());
        }
        if self.is_cluster {
            return Ok(self.move_between_slots(&renames, outcome).await?);
        }
        let mut set = Pipeline::new();
        for (old, new) in &renames {
            set.cmd("RENAMENX").arg(old).arg(new);
        }
        for reply in self.ask(&set).await? {
            match reply {
                Value::Int(1) => outcome.done += 1,
                Value::Int(_) => outcome.taken += 1,
                // It has expired meanwhile.
                Value::ServerError(error) if error.code() == "ERR" => {}
                reply => drop(reply.extract_error()?),
            }
        }
        Ok(())
    }

    /// On a cluster the new name may lie on another node: the content goes there before the old key is removed.
    async fn move_between_slots(
        &self,
        renames: &[(&str, String)],
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        let mut ask = Pipeline::new();
        for (old, _) in renames {
            ask.cmd("DUMP").arg(old);
            ask.cmd("PTTL").arg(old);
        }
        let mut replies = self.ask(&ask).await?.into_iter();
        for (old, new) in renames {
            let (Some(content), Some(ttl)) = (replies.next(), replies.next()) else { break };
            let (Value::BulkString(content), Value::Int(ttl)) = (content, ttl) else { continue };
            if !self.restore(new, &content, ttl.max(0)).await? {
                outcome.taken += 1;
                continue;
            }
            let mut connection = self.store.connection();
            let removed: u64 = remove_unchanged(old, &content).query_async(&mut connection).await?;
            if removed == 1 {
                outcome.done += 1;
            } else {
                // Somebody has written the old key meanwhile: it is the one that counts, and is left for another run.
                remove_unchanged(new, &content).exec_async(&mut connection).await?;
            }
        }
        Ok(())
    }

    /// Writes a key as it was dumped; `false` if its name is that of another key. A move that was stopped after this has
    /// left the same key under both names.
    async fn restore(&self, name: &str, content: &[u8], ttl: i64) -> Result<bool, Error> {
        let mut connection = self.store.connection();
        let mut restore = redis::cmd("RESTORE");
        restore.arg(name).arg(ttl).arg(content);
        match restore.exec_async(&mut connection).await {
            Err(error) if error.code() == Some("BUSYKEY") => {
                let there: Option<Vec<u8>> =
                    redis::cmd("DUMP").arg(name).query_async(&mut connection).await?;
                Ok(there.is_some_and(|there| there == content))
            }
            restored => Ok(restored.map(|()| true)?),
        }
    }

    /// Sends commands that answer with 1 if they changed something.
    async fn change(&self, set: &Pipeline, outcome: &mut Outcome) -> Result<(), Error> {
        if !self.apply {
            return Ok(());
        }
        for reply in self.ask(set).await? {
            if reply.extract_error()? == Value::Int(1) {
                outcome.done += 1;
            }
        }
        Ok(())
    }
}

impl Outcome {
    fn found(&mut self, words: impl FnOnce() -> String) {
        self.to_do += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(words());
        }
    }
}

/// What became of one key whose values get another form.
#[derive(Clone, Default)]
struct Seen {
    to_do: bool,
    done: bool,
    taken: bool,
    unreadable: bool,
}

/// A change of a value, without the value if that is nobody's business.
fn example(name: &str, parsed: &Parsed, old: &str, new: &str) -> String {
    let shown = printable(name.as_bytes());
    if parsed.family.has_secrets() { shown } else { format!("{shown}: {old} becomes {new}") }
}

/// The name of a key after a template, with the parts of its name now.
fn renamed(parsed: &Parsed, template: &str) -> String {
    let mut name = template.to_owned();
    // Parts are coded, so what stands in one of them is never taken for a place: "<" may stand in raw text, though,
    // so places are filled from the last to the first.
    let mut places: Vec<(usize, &str, String)> = parsed
        .family
        .parts
        .iter()
        .zip(&parsed.parts)
        .filter_map(|(slot, text)| {
            let mut coded = String::new();
            slot.kind.encode(text, &mut coded);
            Some((template.find(&format!("<{}>", slot.name))?, slot.name, coded))
        })
        .collect();
    places.sort_by_key(|place| std::cmp::Reverse(place.0));
    for (at, place, coded) in places {
        name.replace_range(at..at + place.len() + 2, &coded);
    }
    name
}
