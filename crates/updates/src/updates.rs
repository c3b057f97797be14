//! The service itself.

use keyrack_store::{Script, Store};
use serde::{Deserialize, Serialize};

use crate::{
    error::Error,
    keys::{self, Repo},
};

static ANNOUNCE: Script = keyrack_store::script!("updates/announce.lua");

/// What is published. Whoever listens cares only that something is.
const MESSAGE: &str = "1";

/// Announcements of a repository that are remembered, for people to look at.
const REMEMBERED_MAX: usize = 20;

/// How long a repository is listed after its last announcement: a year.
const LISTED_S: f64 = 31_536_000.0;

/// The most repositories that are listed.
const REPOS_MAX: usize = 1_000;

/// Something that was announced.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Announcement {
    /// When, in unix seconds.
    pub at: f64,
    /// How many heard it, as far as the server that took it knew.
    pub heard: u64,
}

/// Announcements of updates. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Updates {
    store: Store,
}

impl Updates {
    /// The updates in a store.
    pub fn new(store: Store) -> Updates {
        Updates { store }
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Says that a repository has something new. Returns how many heard it, as far as the server that took it knows.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn announce(&self, repo: &Repo) -> Result<u64, Error> {
        let now = self.now();
        let call = ANNOUNCE.call(&self.store).key("updates", &keys::updates(repo));
        let call = call.key("announced", &keys::announced(repo));
        let call = call.arg("message", MESSAGE).arg("at", now).arg("max", REMEMBERED_MAX);
        let heard = call.run().await?;
        if let Err(error) = self.list_repo(repo, now).await {
            // What was to be said is said, and the list is for people to look at.
            tracing::warn!(%error, "the list of repositories lags behind");
        }
        Ok(heard)
    }

    /// Enters a repository into the list of all, which lies elsewhere on a cluster.
    async fn list_repo(&self, repo: &Repo, now: f64) -> Result<(), keyrack_store::Error> {
        let repos = keys::repos();
        let repos = self.store.place(&repos);
        let mut pipeline = redis::pipe();
        pipeline.cmd("ZADD").arg(&*repos).arg(now).arg(repo.as_str()).ignore();
        pipeline.cmd("ZREMRANGEBYSCORE").arg(&*repos).arg("-inf").arg(now - LISTED_S).ignore();
        Ok(pipeline.exec_async(&mut self.store.connection()).await?)
    }

    /// The repositories of which something was announced, the latest first, and when that was, in unix seconds.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn repos(&self) -> Result<Vec<(Repo, f64)>, Error> {
        let mut cmd = redis::cmd("ZREVRANGE");
        cmd.arg(&*self.store.place(&keys::repos())).arg(0).arg(REPOS_MAX - 1).arg("WITHSCORES");
        let found: Result<Vec<(String, f64)>, _> =
            cmd.query_async(&mut self.store.connection()).await;
        let found = found.map_err(keyrack_store::Error::from)?;
        found.into_iter().map(|(repo, at)| Ok((Repo::new(repo)?, at))).collect()
    }

    /// The latest announcements of a repository, newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn announcements(&self, repo: &Repo) -> Result<Vec<Announcement>, Error> {
        let mut cmd = redis::cmd("LRANGE");
        cmd.arg(&*self.store.place(&keys::announced(repo))).arg(0).arg(-1);
        let texts: Result<Vec<String>, _> = cmd.query_async(&mut self.store.connection()).await;
        let texts = texts.map_err(keyrack_store::Error::from)?;
        Ok(texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect())
    }

    /// The time in unix seconds.
    fn now(&self) -> f64 {
        self.store.now_ms() as f64 / 1000.0
    }
}
