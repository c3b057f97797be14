//! The provider's keys: in memory, in the store for all processes, and from the provider itself.
//!
//! Whatever tokens arrive, the provider is asked at most once in [`ASK_EVERY_MS`] by each process, and by one request for all
//! that wait. While it does not answer, the keys that are known go on to be used for a while.

use std::{collections::HashMap, sync::Arc};

use jsonwebtoken::{
    Algorithm, DecodingKey,
    jwk::{Jwk, PublicKeyUse},
};
use keyrack_store::Store;
use parking_lot::RwLock;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::fetch::{Fetcher, RawKey};
use crate::{error::Error, keys};

/// How long keys count as current, in memory and in the store.
const FRESH_MS: u64 = 3_600_000;

/// How long keys are used when the provider does not answer.
const STALE_MS: u64 = 24 * FRESH_MS;

/// How soon the provider is asked again, whatever keys tokens name.
const ASK_EVERY_MS: u64 = 30_000;

/// The most keys of a set: a provider has two or three.
const KEYS_MAX: usize = 100;

/// The provider's keys. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Jwks {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: Store,
    fetcher: Fetcher,
    memory: RwLock<Memory>,
    /// Held by whoever looks for keys elsewhere.
    looking: Arc<Mutex<()>>,
}

/// What this process knows.
#[derive(Default)]
struct Memory {
    keys: HashMap<String, Arc<Key>>,
    /// When the keys were loaded.
    loaded_at: Option<u64>,
    /// When they were last looked for elsewhere.
    looked_at: Option<u64>,
}

/// A key with which signatures are checked.
pub(super) struct Key {
    pub(super) decoding: DecodingKey,
    pub(super) algorithm: Algorithm,
}

/// What became of the search for a key.
pub(super) enum KeyLookup {
    Key(Arc<Key>),
    /// The provider has no such key, as far as is known.
    Unknown,
}

impl Jwks {
    pub(super) fn new(store: Store, url: &str) -> Result<Jwks, Error> {
        let fetcher = Fetcher::new(url)?;
        let (memory, looking) = (RwLock::default(), Arc::default());
        Ok(Jwks { inner: Arc::new(Inner { store, fetcher, memory, looking }) })
    }

    /// The key of that name.
    ///
    /// # Errors
    /// When no keys are to be had at all.
    pub(super) async fn find(&self, kid: &str) -> Result<KeyLookup, Error> {
        let (known, is_due) = self.inner.recall(kid);
        if known.is_some() && !is_due {
            return self.inner.verdict(known);
        }
        let looking = match self.inner.looking.clone().try_lock_owned() {
            Ok(looking) => looking,
            // Somebody is looking already, and the old key is good enough meanwhile.
            Err(_) if known.is_some() => return self.inner.verdict(known),
            Err(_) => self.inner.looking.clone().lock_owned().await,
        };
        if self.inner.recall(kid).1 {
            // A task of its own: the client who caused it may hang up, and others wait for it.
            let (inner, kid) = (self.inner.clone(), kid.to_owned());
            let _ = tokio::spawn(async move { inner.look(&kid, looking).await }).await;
        }
        self.inner.verdict(self.inner.recall(kid).0)
    }
}

impl Inner {
    /// What is known of a key, and whether it is time to look for it elsewhere.
    fn recall(&self, kid: &str) -> (Option<Arc<Key>>, bool) {
        let now = self.store.now_ms();
        let memory = self.memory.read();
        let age = |at: Option<u64>| at.map_or(u64::MAX, |at| now.saturating_sub(at));
        let is_usable = age(memory.loaded_at) < STALE_MS;
        let known = memory.keys.get(kid).filter(|_| is_usable).cloned();
        let is_current = known.is_some() && age(memory.loaded_at) < FRESH_MS;
        (known, !is_current && age(memory.looked_at) >= ASK_EVERY_MS)
    }

    /// Unknown is what a key is only if there are any to compare with.
    fn verdict(&self, known: Option<Arc<Key>>) -> Result<KeyLookup, Error> {
        match known {
            Some(key) => Ok(KeyLookup::Key(key)),
            None if self.memory.read().loaded_at.is_none() => Err(Error::KeysUnavailable),
            None => Ok(KeyLookup::Unknown),
        }
    }

    /// Looks in the store, where another process may have put newer keys, and then asks the provider.
    async fn look(&self, kid: &str, _looking: OwnedMutexGuard<()>) {
        self.memory.write().looked_at = Some(self.store.now_ms());
        match self.read_stored().await {
            Ok(Some(keys)) if keys.iter().any(|key| kid_of(key) == Some(kid)) => {
                return self.remember(&keys);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "could not read the identity provider's keys"),
        }
        match self.fetcher.fetch().await {
            Ok(keys) if keys.len() > KEYS_MAX => {
                tracing::warn!(keys = keys.len(), "the identity provider has too many keys");
            }
            Ok(keys) => {
                self.remember(&keys);
                if let Err(error) = self.store_for_others(&keys).await {
                    tracing::warn!(%error, "could not store the identity provider's keys");
                }
            }
            Err(error) => tracing::warn!(error, "could not fetch the identity provider's keys"),
        }
    }

    fn remember(&self, keys: &[RawKey]) {
        let usable = keys.iter().filter_map(|key| Some((kid_of(key)?.to_owned(), read(key)?)));
        let mut memory = self.memory.write();
        memory.keys = usable.map(|(kid, key)| (kid, Arc::new(key))).collect();
        memory.loaded_at = Some(self.store.now_ms());
    }

    async fn read_stored(&self) -> Result<Option<Vec<RawKey>>, Error> {
        let mut cmd = redis::cmd("GET");
        cmd.arg(&*self.store.place(&keys::jwks()));
        let text: Option<Vec<u8>> = cmd.query_async(&mut self.store.connection()).await?;
        // Something else than keys is as good as nothing: the provider is asked, and it is replaced.
        Ok(text.and_then(|text| serde_json::from_slice(&text).ok()))
    }

    async fn store_for_others(&self, keys: &[RawKey]) -> Result<(), Error> {
        let text = serde_json::to_string(keys).expect("what was read as JSON is JSON");
        let mut cmd = redis::cmd("SET");
        cmd.arg(&*self.store.place(&keys::jwks())).arg(text).arg("PX").arg(FRESH_MS);
        Ok(cmd.exec_async(&mut self.store.connection()).await?)
    }
}

fn kid_of(key: &RawKey) -> Option<&str> {
    key.get("kid")?.as_str()
}

/// A key that is for signatures, and of a kind that only its owner can sign with.
fn read(key: &RawKey) -> Option<Key> {
    let jwk: Jwk = serde_json::from_value(key.clone().into()).ok()?;
    if jwk.common.public_key_use != Some(PublicKeyUse::Signature) {
        return None;
    }
    let algorithm = Algorithm::try_from(jwk.common.key_algorithm?).ok()?;
    if matches!(algorithm, Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512) {
        return None;
    }
    Some(Key { decoding: DecodingKey::from_jwk(&jwk).ok()?, algorithm })
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory").field("keys", &self.keys.len()).finish_non_exhaustive()
    }
}
