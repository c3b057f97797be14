//! An account's data: its projects, their values and results, rules and output events.
//!
//! In reading order: [`key`] names what belongs to a key; `record` takes events in, by `group`, `snapshot`, `second_read`, `change`, `tally` and `commit`;
//! `expected_state` says what should be stored, and `build` makes it so; `read` tells results; `rules`, `judge` and `due` are about rules.

mod build;
mod change;
mod commit;
mod delete;
mod due;
mod expected_state;
mod group;
mod judge;
mod key;
mod live;
mod read;
mod record;
mod rules;
mod said;
mod second_read;
mod snapshot;
mod tally;

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use keyrack_store::Store;
use parking_lot::Mutex;
use tokio::sync::MutexGuard;

pub use self::{
    build::{Difference, Verdict},
    key::KeyId,
    live::{Changed, Live},
    read::{Direction, POINTS_MAX, Point, Trend},
    record::EventResults,
    rules::OutputEvent,
    said::Said,
};
use crate::{
    keys::{Account, Dimension, DimensionKey, Project},
    rule::NumberedRule,
    settings::Settings,
};

/// Keys that are worked on at once in one process do not disturb each other if they have different ones of these.
const TURNS: usize = 64;

/// One account's data. Cheap to clone.
#[derive(Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    /// What all accounts share.
    main: Store,
    account: Account,
    /// Writers of one key in one process take turns; between processes, the slower one starts again.
    turns: Vec<tokio::sync::Mutex<()>>,
    hasher: RandomState,
    /// Events that wait for those before them.
    queues: group::Queues,
    /// What settings and rules were when last looked at: good guesses that are checked with each look.
    settings: Mutex<HashMap<Project, Settings>>,
    rules: Mutex<HashMap<Project, KnownRules>>,
}

/// Rules, and the mark that changes with them.
type KnownRules = ((String, String), Arc<Vec<NumberedRule>>);

impl Ledger {
    pub(crate) fn new(main: Store, store: Store, account: Account) -> Ledger {
        let turns = std::iter::repeat_with(|| tokio::sync::Mutex::new(())).take(TURNS).collect();
        let inner = Inner {
            store,
            main,
            account,
            turns,
            hasher: RandomState::new(),
            queues: group::Queues::default(),
            settings: Mutex::default(),
            rules: Mutex::default(),
        };
        Ledger { inner: Arc::new(inner) }
    }

    /// The account.
    pub fn account(&self) -> &Account {
        &self.inner.account
    }

    /// The account's own view of the store.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// One key of a dimension of a project.
    pub fn key(&self, project: &Project, dimension: &Dimension, key: &DimensionKey) -> KeyId {
        KeyId {
            account: self.account().clone(),
            project: project.clone(),
            dimension: dimension.clone(),
            key: key.clone(),
        }
    }

    async fn turn(&self, id: &KeyId) -> MutexGuard<'_, ()> {
        let at = self.inner.hasher.hash_one(id) as usize % TURNS;
        self.inner.turns[at].lock().await
    }

    fn settings_hint(&self, project: &Project) -> Settings {
        self.inner.settings.lock().get(project).cloned().unwrap_or_default()
    }

    fn hint_settings(&self, project: &Project, settings: &Settings) {
        let mut known = self.inner.settings.lock();
        if known.get(project) != Some(settings) {
            known.insert(project.clone(), settings.clone());
        }
    }
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").field("account", &self.inner.account).finish_non_exhaustive()
    }
}
