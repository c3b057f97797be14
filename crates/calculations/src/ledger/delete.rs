//! Deleting values, after which the results are those of the others, and keys with everything that belongs to them.

use std::time::Duration;

use keyrack_keys::Key;
use keyrack_store::{Script, script};

use super::{
    Ledger,
    build::builder_name,
    commit::message,
    key::{Declared, KeyId},
    snapshot::read_snapshot,
};
use crate::{
    error::Error,
    keys::{self, Calculation, Interval},
    stamp::Stamp,
};

static DELETE: Script = script!("delete.lua");

/// How often somebody who calculates the key afresh is waited for, and how long each time.
const ATTEMPTS_MAX: usize = 1000;
const PAUSE: Duration = Duration::from_millis(20);

impl Ledger {
    /// Deletes the values of a key at some times; the results follow. Returns how many there were.
    ///
    /// Output events and what rules have said stay: they are the record.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn delete_values(&self, id: &KeyId, times: &[Stamp]) -> Result<u64, Error> {
        if times.is_empty() {
            return Ok(0);
        }
        let _turn = self.turn(id).await;
        let builder = builder_name();
        for _ in 0..ATTEMPTS_MAX {
            if !self.begin(id, &builder, &Declared::default()).await? {
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            let removed = self.remove_values(id, &builder, times).await;
            let built = self.build_as(id, &builder).await;
            if built.is_err() || removed.is_err() {
                // So that others need not wait until this builder is taken to be dead.
                let _ = self.finish(id, &builder, &Declared::default(), 0).await;
            }
            let (removed, built) = (removed?, built?);
            if built.is_some() {
                return Ok(removed);
            }
        }
        Err(Error::Busy { key: id.shown() })
    }

    /// Takes values away, as the one who calculates the key afresh.
    async fn remove_values(
        &self,
        id: &KeyId,
        builder: &str,
        times: &[Stamp],
    ) -> Result<u64, Error> {
        let values = id.values();
        let mut cmd = redis::cmd("HMGET");
        cmd.arg(&*self.store().place(&values));
        cmd.arg(times.iter().map(Stamp::as_str).collect::<Vec<_>>());
        let present: Vec<Option<String>> = cmd.query_async(&mut self.store().connection()).await?;
        let gone = times.iter().zip(present).filter(|(_, value)| value.is_some());
        let mut gone: Vec<String> = gone.map(|(time, _)| time.as_str().to_owned()).collect();
        gone.sort_unstable();
        gone.dedup();
        self.remove_fields(id, builder, &values, &gone).await?;
        Ok(gone.len() as u64)
    }

    /// Deletes a key of a dimension: its values, its results and what is declared for it. Says whether there was one.
    ///
    /// Output events stay: they are the record.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn delete_key(&self, id: &KeyId) -> Result<bool, Error> {
        let _turn = self.turn(id).await;
        for _ in 0..ATTEMPTS_MAX {
            let before = read_snapshot(self.store(), id, &[], &[]).await?;
            let done: u64 = DELETE
                .call(self.store())
                .key("head", &id.head())
                .key(
                    "dimension_keys",
                    &keys::dimension_keys(&id.project, &id.dimension, &id.account),
                )
                .key("changes", &id.changes())
                .keys("own", &own(id))
                .arg("key", id.key.as_str())
                .arg("message", message(id, before.version + 1))
                .run()
                .await?;
            if done == 1 || before.builder.is_none() {
                return Ok(done == 1);
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(Error::Busy { key: id.shown() })
    }
}

/// Everything that is stored about a key, its head excepted.
fn own(id: &KeyId) -> Vec<Key> {
    let mut all = vec![id.values(), id.calculations()];
    for &calculation in Calculation::ALL {
        all.push(id.intervals(calculation));
        all.extend(Interval::ALL.iter().map(|&interval| id.result((calculation, interval))));
    }
    for &interval in Interval::ALL {
        all.extend([id.state(interval), id.sketch(interval)]);
        all.extend([id.order(interval), id.repeats(interval)]);
    }
    all
}
