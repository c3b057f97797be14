//! What a store holds, family by family, in numbers that do not depend on how its keys are named or ordered.

use std::collections::{BTreeMap, HashSet};
use std::pin::pin;
use std::time::Instant;

use futures_util::TryStreamExt as _;
use keyrack_lint::{WalkRate, printable, walk_keys};
use keyrack_store::Keyspace;

use super::{
    reader::{KeyDigest, Reader},
    side::{Met, Side},
    value::digest,
};

/// The row of keys without a declaration.
pub(super) const UNDECLARED: &str = "(undeclared)";
/// The row of the accounts of the calculations.
const ACCOUNTS: &str = "calculations.account_databases";
/// Keys that end within so many seconds of the end of the count may be counted in one store and not in the other.
const SPARE_S: u64 = 1;
/// Names that are shown.
const EXAMPLES: usize = 3;

/// Keys and their elements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) keys: u64,
    /// Strings, items, members, fields and entries.
    pub(super) values: u64,
    pub(super) digest: u128,
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.keys += other.keys;
        self.values += other.values;
        self.digest = self.digest.wrapping_add(other.digest);
    }
}

/// Some names of keys, and how many there were.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) keys: u64,
    pub(super) examples: Vec<String>,
}

impl Names {
    pub(super) fn add(&mut self, key: &[u8]) {
        self.keys += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(printable(key));
        }
    }
}

/// What a store holds.
#[derive(Debug, Default)]
pub(super) struct Tally {
    lasting: BTreeMap<String, Sum>,
    /// What expires, by the second since the start of the count in which it does.
    expiring: BTreeMap<u64, BTreeMap<String, Sum>>,
    /// Keys of no family in the store's own database.
    pub(super) undeclared: Names,
    /// Keys in databases that are none of the store's.
    pub(super) elsewhere: u64,
    /// Keys of types that cannot be read.
    pub(super) unreadable: Names,
}

impl Tally {
    /// Counts a store. Seconds are counted from `started`.
    pub(super) async fn of(side: &Side, pace: WalkRate, started: Instant) -> anyhow::Result<Tally> {
        let mut tally = Tally::default();
        let accounts = side.accounts().map(|name| digest(0, &[name.as_bytes()]));
        let mut row = Sum::default();
        for account in accounts {
            row.add(Sum { keys: 0, values: 1, digest: account });
        }
        if row.values > 0 {
            row.keys = 1;
            tally.lasting.insert(ACCOUNTS.to_owned(), row);
        }
        let mut names = HashSet::new();
        for keyspace in &side.keyspaces().await? {
            // SCAN gives some keys twice.
            let mut seen = HashSet::new();
            let mut batches = pin!(walk_keys(keyspace, None, pace));
            while let Some(mut keys) = batches.try_next().await? {
                keys.retain(|key| seen.insert(digest(0, &[key])));
                tally.add(side, keyspace, keys, &mut names, started).await?;
            }
        }
        Ok(tally)
    }

    async fn add(
        &mut self,
        side: &Side,
        keyspace: &Keyspace,
        keys: Vec<Vec<u8>>,
        names: &mut HashSet<u128>,
        started: Instant,
    ) -> anyhow::Result<()> {
        let met = side.recognise(keyspace, &keys).await?;
        let mut chosen = Vec::with_capacity(keys.len());
        for (key, met) in keys.into_iter().zip(met) {
            match met {
                Met::Key(known) => {
                    let identity = known.identity();
                    let is_first = !known.is_divided() || names.insert(digest(0, &[&identity]));
                    chosen.push((key, known.family.id(), identity, is_first));
                }
                Met::Undeclared => {
                    self.undeclared.add(&key);
                    chosen.push((key.clone(), UNDECLARED.to_owned(), key, true));
                }
                Met::Elsewhere => self.elsewhere += 1,
                Met::Accounts | Met::OfThisStore => {}
            }
        }
        let reader = Reader::Keyspace(keyspace);
        let raw: Vec<&[u8]> = chosen.iter().map(|(key, ..)| key.as_slice()).collect();
        let looks = reader.look(&raw).await?;
        let mut readable = Vec::with_capacity(chosen.len());
        for (chosen, look) in chosen.iter().zip(&looks) {
            match look.kind {
                Some(Ok(kind)) => readable.push((kind, chosen, look.ttl_ms)),
                Some(Err(_)) => self.unreadable.add(&chosen.0),
                None => {}
            }
        }
        let wanted: Vec<_> =
            readable.iter().map(|(kind, chosen, _)| (*kind, chosen.0.as_slice())).collect();
        let chunks = reader.first_chunks(&wanted).await?;
        for ((kind, (key, row, identity, is_first), ttl_ms), chunk) in
            readable.into_iter().zip(chunks)
        {
            let Some(chunk) = chunk else { continue };
            let KeyDigest { elements, mut sum } =
                reader.digest(kind, key, identity, &chunk).await?;
            if elements == 0 {
                continue;
            }
            if ttl_ms.is_some() {
                sum = sum.wrapping_add(digest(1, &[identity]));
            }
            let ends = ttl_ms.map(|ms| started.elapsed().as_secs() + ms / 1000);
            let rows = match ends {
                None => &mut self.lasting,
                Some(second) => self.expiring.entry(second).or_default(),
            };
            let sum = Sum { keys: u64::from(*is_first), values: elements, digest: sum };
            rows.entry(row.clone()).or_default().add(sum);
        }
        Ok(())
    }

    /// The second up to which keys may have expired while one of two stores was counted: one in which no key ends, if
    /// there is one soon.
    fn cutoff(tallies: [&Tally; 2], elapsed_s: u64) -> u64 {
        let first = elapsed_s + SPARE_S;
        let is_quiet = |second: u64| {
            let near = second.saturating_sub(SPARE_S)..=second + SPARE_S;
            tallies.iter().all(|tally| tally.expiring.range(near.clone()).next().is_none())
        };
        (first..first + 600).find(|second| is_quiet(*second)).unwrap_or(first)
    }

    /// The rows of both stores, without what may have expired meanwhile.
    pub(super) fn compare(self, other: Tally, started: Instant) -> BTreeMap<String, [Sum; 2]> {
        let cutoff = Tally::cutoff([&self, &other], started.elapsed().as_secs());
        let mut rows: BTreeMap<String, [Sum; 2]> = BTreeMap::new();
        for (i, tally) in [self, other].into_iter().enumerate() {
            let expiring = tally.expiring.into_iter().filter(|(second, _)| *second > cutoff);
            let all = expiring.flat_map(|(_, rows)| rows).chain(tally.lasting);
            for (row, sum) in all {
                rows.entry(row).or_default()[i].add(sum);
            }
        }
        rows
    }
}
