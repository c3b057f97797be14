//! How often rules have spoken, and what they said.

use std::collections::BTreeMap;

use super::Ledger;
use crate::{error::Error, keys};

/// An output event of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Its number.
    pub number: u64,
    /// Its type: `fired` or `resolved`.
    pub kind: String,
    /// All that it says, such as `rule`, `bucket` and `calculated_value`.
    pub fields: BTreeMap<String, String>,
}

impl Said {
    /// Reads an entry of the list; what is none is nothing.
    fn parse(entry: &str) -> Option<Said> {
        let mut words = entry.splitn(3, ' ');
        let (number, kind) = (words.next()?.parse().ok()?, words.next()?.to_owned());
        let flat: Vec<String> = serde_json::from_str(words.next()?).ok()?;
        let pairs = flat.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
        Some(Said { number, kind, fields: pairs.collect() })
    }
}

impl Ledger {
    /// How many output events there have been, of all rules of the account.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn said(&self) -> Result<u64, Error> {
        let mut cmd = redis::cmd("GET");
        cmd.arg(&*self.store().place(&keys::event_counter(self.account())));
        let said: Option<u64> = cmd.query_async(&mut self.store().connection()).await?;
        Ok(said.unwrap_or(0))
    }

    /// The output events after the one of this number, oldest first, as far as they are among the latest 10,000.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn said_since(&self, number: u64) -> Result<Vec<Said>, Error> {
        let said = self.said().await?;
        // An account that was made anew counts from the start.
        let number = if said < number { 0 } else { number };
        let n_new = said - number;
        if n_new == 0 {
            return Ok(Vec::new());
        }
        // Each event has an entry, so the new ones are the last.
        let first = -i64::try_from(n_new).unwrap_or(i64::MAX);
        let mut cmd = redis::cmd("LRANGE");
        cmd.arg(&*self.store().place(&keys::said(self.account()))).arg(first).arg(-1);
        let entries: Vec<String> = cmd.query_async(&mut self.store().connection()).await?;
        let said = entries.iter().filter_map(|entry| Said::parse(entry));
        Ok(said.filter(|said| said.number > number).collect())
    }
}
