//! The changes that an event makes, gathered and made in one call.

use std::borrow::Cow;

use keyrack_keys::Key;
use keyrack_store::{Script, Store, script};

use super::key::{Declared, KeyId};
use crate::{
    error::Error,
    keys::{self, Account, EventNumber},
};

static COMMIT: Script = script!("commit.lua", "judge.lua", "say.lua");

/// At most so many arguments in one step: Lua's stack is finite.
const ARGS_MAX: usize = 1000;

/// Changes to be made together. A batch has ten thousands of arguments, so what is there already is not copied.
#[derive(Debug, Default)]
pub(crate) struct Steps<'a> {
    keys: Vec<Key>,
    args: Vec<Cow<'a, [u8]>>,
}

impl<'a> Steps<'a> {
    /// Sets fields of a hash.
    pub(crate) fn set<F: Into<Cow<'a, str>>, V: Into<Cow<'a, str>>>(
        &mut self,
        key: &Key,
        fields: impl IntoIterator<Item = (F, V)>,
    ) {
        let fields = fields.into_iter().flat_map(|(field, value)| [field.into(), value.into()]);
        self.in_chunks("HSET", key, fields);
    }

    /// Runs a command of Redis with any number of arguments that each count for themselves.
    pub(crate) fn each(&mut self, command: &'static str, key: &Key, args: Vec<String>) {
        self.in_chunks(command, key, args.into_iter().map(Cow::Owned));
    }

    /// Adds members to a sorted set whose members are in order of their text.
    pub(crate) fn add_in_order(&mut self, key: &Key, members: Vec<String>) {
        let args = members.into_iter().flat_map(|member| [Cow::Borrowed("0"), Cow::Owned(member)]);
        self.in_chunks("ZADD", key, args);
    }

    /// One step as it is.
    pub(crate) fn step(&mut self, command: &'static str, key: &Key, args: Vec<String>) {
        let at = self.begin(command, key);
        self.args.extend(args.into_iter().map(|arg| bytes(Cow::Owned(arg))));
        self.end(at);
    }

    fn in_chunks(
        &mut self,
        command: &'static str,
        key: &Key,
        args: impl Iterator<Item = Cow<'a, str>>,
    ) {
        let mut args = args.peekable();
        while args.peek().is_some() {
            let at = self.begin(command, key);
            self.args.extend(args.by_ref().take(ARGS_MAX).map(bytes));
            self.end(at);
        }
    }

    /// Begins a step, and says where the number of its arguments goes.
    fn begin(&mut self, command: &'static str, key: &Key) -> usize {
        let place = self.place(key).to_string();
        self.args.extend([bytes(Cow::Borrowed(command)), bytes(Cow::Owned(place))]);
        self.args.push(Cow::Borrowed(b"0"));
        self.args.len() - 1
    }

    fn end(&mut self, at: usize) {
        let count = self.args.len() - at - 1;
        self.args[at] = bytes(Cow::Owned(count.to_string()));
    }

    /// The place of a key among those that the script gets, from 1.
    pub(crate) fn place(&mut self, key: &Key) -> usize {
        let known = self.keys.iter().position(|other| other == key);
        known.unwrap_or_else(|| {
            self.keys.push(key.clone());
            self.keys.len() - 1
        }) + 1
    }

    /// Is there nothing to do?
    pub(crate) fn is_empty(&self) -> bool {
        self.args.is_empty()
    }

    /// Makes the changes; `None` when the key is not in that version any more.
    pub(crate) async fn commit(
        self,
        store: &Store,
        id: &KeyId,
        version: u64,
        built: &Declared,
    ) -> Result<Option<Committed>, Error> {
        let (done, due_at): (u64, Option<u64>) = COMMIT
            .call(store)
            .key("head", &id.head())
            .key("event_counter", &keys::event_counter(&id.account))
            .key("events", &id.events())
            .key("changes", &id.changes())
            .key("due", &keys::rules_due(&id.account))
            .keys("more", &self.keys)
            .arg("version", version)
            .arg("built", built.built_text())
            .arg("now", store.now_ms())
            .arg("event_prefix", event_prefix(store, id)?)
            .arg("tag", tag(store, &id.account))
            .arg("message", message(id, version + 1))
            .many_args("steps", self.args)
            .run()
            .await?;
        Ok((done == 1).then_some(Committed { due_at }))
    }
}

fn bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// What was done.
#[derive(Debug)]
pub(crate) struct Committed {
    /// When the first of the rules that have begun to wait is due.
    pub(crate) due_at: Option<u64>,
}

/// What stands before documented names where an account's keys are stored.
pub(crate) fn tag(store: &Store, account: &Account) -> String {
    let key = keys::rules_due(account);
    let placed = store.place(&key);
    placed.strip_suffix(key.name()).unwrap_or_default().to_owned()
}

/// What the names of the key's output events begin with.
fn event_prefix(store: &Store, id: &KeyId) -> Result<String, Error> {
    let one = EventNumber::new(1)?;
    let first = keys::event(&id.project, &id.dimension, &id.key, &one, &id.account);
    let placed = store.place(&first);
    Ok(placed.strip_suffix('1').unwrap_or(&placed).to_owned())
}

/// What is published about a change.
pub(crate) fn message(id: &KeyId, version: u64) -> String {
    serde_json::json!({
        "dimension": id.dimension.as_str(),
        "key": id.key.as_str(),
        "version": version,
    })
    .to_string()
}
