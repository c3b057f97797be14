//! The service: what waits to be deleted, and the ways in and out.

use std::time::Duration;

use keyrack_store::{Script, Store};
use serde::{Deserialize, Serialize};

use crate::{error::Error, file::File, keys};

static ENTER: Script = keyrack_store::script!("files/enter.lua");
static RELEASE: Script = keyrack_store::script!("files/release.lua");

/// A page of a hash: where to go on, and its fields with their values.
type Page = (u64, Vec<(Vec<u8>, Vec<u8>)>);

/// The files in purgatory. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Files {
    store: Store,
}

/// What waits to be deleted.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The member of the set, as it was found.
    pub member: Vec<u8>,
    /// The file, or why the member stands for none.
    pub file: Result<File, String>,
    /// When it is to be deleted, in unix seconds.
    pub at: f64,
    /// What went wrong when a sweep tried.
    pub failure: Option<Failure>,
}

/// What went wrong with a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// How often in a row.
    pub failures: u32,
    /// When last, in unix seconds.
    pub failed_at: f64,
    /// Why, the last time.
    pub reason: String,
}

impl Files {
    /// The files in a store.
    pub fn new(store: Store) -> Files {
        Files { store }
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The time in unix seconds.
    pub fn now(&self) -> f64 {
        self.store.now_ms() as f64 / 1000.0
    }

    /// Enters a file, to be deleted after a while unless it is taken out before. [`Files::begin_upload`] does this for uploads.
    ///
    /// # Errors
    /// When the names make no sense, when a sweep is deleting that very file, or when the store fails.
    pub async fn enter(&self, file: &File, after: Duration) -> Result<(), Error> {
        file.check()?;
        let (now, member) = (self.now(), file.member());
        let call = ENTER.call(&self.store).key("purgatory", &keys::purgatory());
        let call = call.key("claims", &keys::claims()).arg("member", member);
        let call = call.arg("now", now).arg("at", now + after.as_secs_f64());
        call.run().await.map_err(refused(file))
    }

    /// Asks for a file to be deleted, by the next sweep. Once is as good as twice.
    ///
    /// # Errors
    /// When the names make no sense, or when the store fails.
    pub async fn request_deletion(
        &self,
        bucket: &str,
        key: &str,
        hint: Option<&str>,
    ) -> Result<File, Error> {
        let file = File::new(bucket, key).expected();
        let file = File { hint: hint.map(str::to_owned), ..file };
        match self.enter(&file, Duration::ZERO).await {
            // What was asked for is being done.
            Ok(()) | Err(Error::BeingDeleted { .. }) => Ok(file),
            Err(error) => Err(error),
        }
    }

    /// Takes a member out, so that its file is kept. False if it is not there.
    ///
    /// # Errors
    /// When a sweep is deleting the file, or when the store fails.
    pub async fn keep(&self, member: &[u8]) -> Result<bool, Error> {
        let file = File::from_member(member).unwrap_or_else(|_| File::new("?", "?"));
        let released: Result<(), _> = self.release_call(member).run().await;
        match released.map_err(refused(&file)) {
            Ok(()) => Ok(true),
            Err(Error::Swept { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn release_call<'a>(&'a self, member: &[u8]) -> keyrack_store::Call<'a> {
        let call = RELEASE.call(&self.store).key("purgatory", &keys::purgatory());
        let call = call.key("claims", &keys::claims()).key("failures", &keys::failures());
        call.arg("member", member).arg("now", self.now())
    }

    /// How many files are in purgatory, and how many of them are due.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn count(&self) -> Result<(u64, u64), Error> {
        let purgatory = keys::purgatory();
        let purgatory = self.store.place(&purgatory);
        let mut pipeline = redis::pipe();
        pipeline.cmd("ZCARD").arg(&*purgatory);
        pipeline.cmd("ZCOUNT").arg(&*purgatory).arg("-inf").arg(self.now());
        Ok(pipeline.query_async(&mut self.store.connection()).await?)
    }

    /// So many entries from a rank on, the earliest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list(&self, from: usize, max: usize) -> Result<Vec<Entry>, Error> {
        if max == 0 {
            return Ok(Vec::new());
        }
        let mut cmd = redis::cmd("ZRANGE");
        cmd.arg(&*self.store.place(&keys::purgatory()));
        cmd.arg(from).arg(from.saturating_add(max - 1)).arg("WITHSCORES");
        let found: Vec<(Vec<u8>, f64)> = cmd.query_async(&mut self.store.connection()).await?;
        self.with_failures(found).await
    }

    /// So many of the entries that are due, the earliest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn due(&self, max: usize) -> Result<Vec<Entry>, Error> {
        let mut cmd = redis::cmd("ZRANGEBYSCORE");
        cmd.arg(&*self.store.place(&keys::purgatory())).arg("-inf").arg(self.now());
        cmd.arg("WITHSCORES").arg("LIMIT").arg(0).arg(max);
        let found: Vec<(Vec<u8>, f64)> = cmd.query_async(&mut self.store.connection()).await?;
        self.with_failures(found).await
    }

    /// How many files could not be deleted, and up to so many of them, those that failed most often first.
    ///
    /// Of more than `max` any are told, because they stand in no order.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn failing(&self, max: usize) -> Result<(u64, Vec<Entry>), Error> {
        let failures = keys::failures();
        let failures = self.store.place(&failures);
        let mut pipeline = redis::pipe();
        pipeline.cmd("HLEN").arg(&*failures);
        pipeline.cmd("HSCAN").arg(&*failures).arg(0).arg("COUNT").arg(max);
        let (count, (mut cursor, mut found)): (u64, Page) =
            pipeline.query_async(&mut self.store.connection()).await?;
        while cursor != 0 && found.len() < max {
            let mut cmd = redis::cmd("HSCAN");
            cmd.arg(&*failures).arg(cursor).arg("COUNT").arg(max);
            let (next, more): Page = cmd.query_async(&mut self.store.connection()).await?;
            cursor = next;
            found.extend(more);
        }
        found.truncate(max);
        let mut entries = self.with_times(found).await?;
        let failures = |entry: &Entry| entry.failure.as_ref().map_or(0, |failure| failure.failures);
        entries.sort_by(|a, b| failures(b).cmp(&failures(a)).then(a.member.cmp(&b.member)));
        Ok((count, entries))
    }

    /// The entries of members that have failed; those that others have taken out are left out.
    async fn with_times(&self, found: Vec<(Vec<u8>, Vec<u8>)>) -> Result<Vec<Entry>, Error> {
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let mut pipeline = redis::pipe();
        for (member, _) in &found {
            pipeline.cmd("ZSCORE").arg(&*self.store.place(&keys::purgatory())).arg(member);
        }
        let times: Vec<Option<f64>> = pipeline.query_async(&mut self.store.connection()).await?;
        let entries = found.into_iter().zip(times);
        Ok(entries
            .filter_map(|((member, failure), at)| Some(Entry::new(member, at?, Some(failure))))
            .collect())
    }

    async fn with_failures(&self, found: Vec<(Vec<u8>, f64)>) -> Result<Vec<Entry>, Error> {
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let mut cmd = redis::cmd("HMGET");
        cmd.arg(&*self.store.place(&keys::failures()));
        for (member, _) in &found {
            cmd.arg(member);
        }
        let failures: Vec<Option<Vec<u8>>> = cmd.query_async(&mut self.store.connection()).await?;
        let entries = found.into_iter().zip(failures);
        Ok(entries.map(|((member, at), failure)| Entry::new(member, at, failure)).collect())
    }
}

impl Entry {
    pub(crate) fn new(member: Vec<u8>, at: f64, failure: Option<Vec<u8>>) -> Entry {
        let file = File::from_member(&member);
        // Written by keyrack alone; what cannot be read counts as never failed.
        let failure = failure.and_then(|json| serde_json::from_slice(&json).ok());
        Entry { member, file, at, failure }
    }
}

/// What the words of the scripts mean for a file.
pub(crate) fn refused(file: &File) -> impl Fn(keyrack_store::Error) -> Error {
    let (bucket, key) = (file.bucket.clone(), file.key.clone());
    move |error| match &error {
        keyrack_store::Error::Refused { word, .. } => match word.as_str() {
            "BEING_DELETED" => Error::BeingDeleted { bucket: bucket.clone(), key: key.clone() },
            "NOT_THERE" => Error::Swept { bucket: bucket.clone(), key: key.clone() },
            _ => error.into(),
        },
        _ => error.into(),
    }
}
