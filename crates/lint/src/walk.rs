//! Walking a keyspace: SCAN goes ahead while earlier batches are still being looked at.

use std::num::NonZeroU32;
use std::time::Duration;

use futures_util::{Stream, TryStreamExt as _, stream};
use keyrack_store::{Error, Keyspace};
use tokio::time::Instant;

/// Keys asked for at once.
const BATCH: usize = 512;

/// How fast to walk.
#[derive(Clone, Copy, Debug, Default)]
pub struct WalkRate {
    /// At most so many keys a second; as fast as the server answers without it.
    pub keys_per_second: Option<NonZeroU32>,
}

impl WalkRate {
    /// How long so many keys should take.
    fn duration(self, n_keys: u64) -> Duration {
        self.keys_per_second.map_or(Duration::ZERO, |rate| {
            Duration::from_secs_f64(n_keys as f64 / f64::from(rate.get()))
        })
    }
}

/// The keys of a keyspace in batches; some keys may come twice.
pub fn walk_keys<'a>(
    keyspace: &'a Keyspace,
    pattern: Option<&'a str>,
    pace: WalkRate,
) -> impl Stream<Item = Result<Vec<Vec<u8>>, Error>> + 'a {
    walk_keys_from(keyspace, pattern, pace, 0).map_ok(|batch| batch.keys)
}

/// Some keys of a walk, and where it goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkBatch {
    /// The keys, each once.
    pub keys: Vec<Vec<u8>>,
    /// The cursor after them; 0 at the end.
    pub next: u64,
}

/// The same from a cursor that an earlier walk has reached. A cursor is good for as long as the server runs.
pub fn walk_keys_from<'a>(
    keyspace: &'a Keyspace,
    pattern: Option<&'a str>,
    pace: WalkRate,
    cursor: u64,
) -> impl Stream<Item = Result<WalkBatch, Error>> + 'a {
    let start = Walk { cursor: Some(cursor), n_keys: 0, started: Instant::now() };
    stream::try_unfold(start, move |mut walk| async move {
        let Some(cursor) = walk.cursor else { return Ok(None) };
        tokio::time::sleep_until(walk.started + pace.duration(walk.n_keys)).await;
        // With a limit a batch is a fraction of a second's worth, so that the walk does not come in bursts.
        let count = pace
            .keys_per_second
            .map_or(BATCH, |rate| usize::try_from(rate.get() / 8).unwrap_or(BATCH).clamp(1, BATCH));
        let (next, mut keys) = keyspace.scan(cursor, pattern, count).await?;
        keys.sort_unstable();
        keys.dedup();
        walk.n_keys += keys.len() as u64;
        walk.cursor = Some(next).filter(|next| *next != 0);
        Ok(Some((WalkBatch { keys, next }, walk)))
    })
}

struct Walk {
    /// Where to go on; `None` at the end.
    cursor: Option<u64>,
    n_keys: u64,
    started: Instant,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pace_says_how_long_keys_take() {
        let pace = WalkRate { keys_per_second: NonZeroU32::new(500) };
        assert_eq!(pace.duration(1_000), Duration::from_secs(2));
        assert_eq!(WalkRate::default().duration(1_000), Duration::ZERO);
    }
}
