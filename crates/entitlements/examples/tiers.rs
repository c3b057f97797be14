//! How fast entitlements are read from memory, and how soon a purge reaches everybody.
//!
//! `tiers URL` prints two numbers: reads per second, and the milliseconds that the slowest purge took. The listeners have stores
//! and connections of their own, as processes would.

use std::{
    error::Error,
    io::Write as _,
    sync::Arc,
    time::{Duration, Instant},
};

use keyrack_entitlements::{Answer, Asked, Customer, Entitlements, Settings, Source};
use keyrack_keys::UserSub;
use keyrack_store::Store;

const USERS: usize = 1_000;
const READERS: usize = 2;
const READS: usize = 1_000_000;
const LISTENERS: usize = 8;
const PURGES: usize = 200;
/// Far more than a purge may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Somebody who always knows.
#[derive(Debug)]
struct Everybody;

impl Source for Everybody {
    fn fetch<'a>(&'a self, _: &'a Customer) -> Asked<'a, Option<Answer>> {
        let answer = Answer { entitlements: [("pro".to_owned(), None)].into() };
        Box::pin(async move { Ok(Some(answer)) })
    }

    fn purchased<'a>(&'a self, _: &'a Customer, _: &'a str) -> Asked<'a, ()> {
        Box::pin(async { Ok(()) })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("usage: tiers URL")?;
    let store = Store::open(&url).await?;
    let entitlements = open(store.clone()).await?;
    let users = (0..USERS).map(|n| UserSub::new(format!("user{n}")));
    let users: Arc<[UserSub]> = users.collect::<Result<_, _>>()?;
    for user in users.iter() {
        entitlements.ensure_customer(user).await?;
        entitlements.lookup(user, "pro").await?;
    }
    let reads = reads_per_second(&entitlements, &users).await?;
    let slowest = slowest_purge(&entitlements, &url, &users).await?;
    let mut out = std::io::stdout();
    writeln!(out, "{reads:.0} {:.2}", slowest.as_secs_f64() * 1000.0)?;
    Ok(())
}

async fn open(store: Store) -> Result<Entitlements, Box<dyn Error>> {
    let opened = Entitlements::open(store, Arc::new(Everybody), Settings::default())?;
    opened.ready().await;
    Ok(opened)
}

async fn reads_per_second(
    entitlements: &Entitlements,
    users: &Arc<[UserSub]>,
) -> Result<f64, Box<dyn Error>> {
    let started = Instant::now();
    let readers = (0..READERS).map(|_| {
        let (entitlements, users) = (entitlements.clone(), users.clone());
        tokio::spawn(async move {
            for n in 0..READS {
                entitlements.lookup(&users[n % USERS], "pro").await?;
            }
            Ok::<(), keyrack_entitlements::Error>(())
        })
    });
    for reader in readers.collect::<Vec<_>>() {
        reader.await??;
    }
    let reads = (READERS * READS) as f64 / started.elapsed().as_secs_f64();
    let counts = entitlements.counts();
    if counts.local < (READERS * READS) as u64 {
        return Err("some reads were not answered from memory".into());
    }
    Ok(reads)
}

/// Lets everybody remember a user, purges the user, and sees how long the last of them remembers.
async fn slowest_purge(
    entitlements: &Entitlements,
    url: &str,
    users: &[UserSub],
) -> Result<Duration, Box<dyn Error>> {
    // An engine in memory is nobody else's; there, everybody shares the store.
    let own = !url.starts_with("embedded:");
    let mut listeners = Vec::new();
    for _ in 0..LISTENERS {
        let store = if own { Store::open(url).await? } else { entitlements.store().clone() };
        listeners.push(open(store).await?);
    }
    let mut slowest = Duration::ZERO;
    for user in users.iter().cycle().take(PURGES) {
        for listener in &listeners {
            listener.lookup(user, "pro").await?;
        }
        // What was found out in the same millisecond survives a purge.
        tokio::time::sleep(Duration::from_millis(2)).await;
        let purged = Instant::now();
        entitlements.purge(user).await?;
        while listeners.iter().any(|listener| listener.lookup_local(user, "pro").is_some()) {
            if purged.elapsed() > PATIENCE {
                return Err("a purge did not arrive".into());
            }
            tokio::task::yield_now().await;
        }
        slowest = slowest.max(purged.elapsed());
    }
    Ok(slowest)
}
