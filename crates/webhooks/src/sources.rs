//! Where the sources of events stand: how far they were read, and which events are asked for at
//! all.

use std::collections::{BTreeMap, BTreeSet};

use crate::{error::Error, keys, webhooks::Webhooks};

impl Webhooks {
    /// The kinds of events that some webhook asks for, each with a queue, or with none for all
    /// queues.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn wanted(&self) -> Result<BTreeSet<(Option<String>, String)>, Error> {
        let mut wanted = BTreeSet::new();
        for settings in self.all().await?.into_values().filter(|settings| settings.enabled) {
            let mut queues: Vec<_> = settings.queues.into_iter().map(Some).collect();
            if queues.is_empty() {
                queues.push(None);
            }
            for queue in queues {
                wanted.extend(settings.events.iter().map(|kind| (queue.clone(), kind.clone())));
            }
        }
        Ok(wanted)
    }

    /// How far each source was read.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn cursors(&self) -> Result<BTreeMap<String, u64>, Error> {
        self.numbers(&keys::cursors()).await
    }

    /// Notes how far sources were read.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn set_cursors(&self, cursors: &BTreeMap<String, u64>) -> Result<(), Error> {
        self.set_numbers(&keys::cursors(), cursors).await
    }

    /// Forgets how far sources were read.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn forget_cursors(&self) -> Result<(), Error> {
        self.forget(&keys::cursors()).await
    }

    /// Alerts that were told of as raised, and when.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn raised_alerts(&self) -> Result<BTreeMap<String, u64>, Error> {
        self.numbers(&keys::alerts()).await
    }

    /// Notes that an alert was told of as raised.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn note_raised(&self, alert: &str, at_ms: u64) -> Result<(), Error> {
        let raised = BTreeMap::from([(alert.to_owned(), at_ms)]);
        self.set_numbers(&keys::alerts(), &raised).await
    }

    /// Notes that an alert was told of as cleared.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn note_cleared(&self, alert: &str) -> Result<(), Error> {
        let mut cmd = redis::cmd("HDEL");
        cmd.arg(&*self.store().place(&keys::alerts())).arg(alert);
        Ok(cmd.exec_async(&mut self.store().connection()).await?)
    }

    /// Forgets all alerts: nobody asks for them any more.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn forget_alerts(&self) -> Result<(), Error> {
        self.forget(&keys::alerts()).await
    }

    async fn numbers(&self, key: &keyrack_keys::Key) -> Result<BTreeMap<String, u64>, Error> {
        let mut cmd = redis::cmd("HGETALL");
        cmd.arg(&*self.store().place(key));
        Ok(cmd.query_async(&mut self.store().connection()).await?)
    }

    async fn set_numbers(
        &self,
        key: &keyrack_keys::Key,
        numbers: &BTreeMap<String, u64>,
    ) -> Result<(), Error> {
        if numbers.is_empty() {
            return Ok(());
        }
        let mut cmd = redis::cmd("HSET");
        cmd.arg(&*self.store().place(key));
        for (name, number) in numbers {
            cmd.arg(name).arg(number);
        }
        Ok(cmd.exec_async(&mut self.store().connection()).await?)
    }

    async fn forget(&self, key: &keyrack_keys::Key) -> Result<(), Error> {
        let mut cmd = redis::cmd("DEL");
        cmd.arg(&*self.store().place(key));
        Ok(cmd.exec_async(&mut self.store().connection()).await?)
    }
}
