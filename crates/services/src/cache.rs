//! Values that were read a moment ago, so that any number of watchers costs the store no more than one does.

use std::{collections::HashMap, hash::Hash, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

/// How many things are remembered at once.
const ENTRIES_MAX: usize = 200;
/// What took long to read is not read again before so many times as long has passed: one part in so many of the store's time.
const REST: u32 = 20;

/// Values by key, each read anew when it is old.
#[derive(Debug)]
pub struct Cache<K, V> {
    fresh_for: Duration,
    entries: Mutex<HashMap<K, Arc<Entry<V>>>>,
}

type Entry<V> = tokio::sync::Mutex<Option<Kept<V>>>;

#[derive(Debug)]
struct Kept<V> {
    value: V,
    good_until: Instant,
}

impl<K: Hash + Eq + Clone, V: Clone> Cache<K, V> {
    /// An empty cache, whose values are good for at least `fresh_for`.
    pub fn new(fresh_for: Duration) -> Cache<K, V> {
        Cache { fresh_for, entries: Mutex::default() }
    }

    /// The value of a key, which `read` finds out if it is not known or old. All who ask meanwhile wait for that one.
    pub async fn get<E>(&self, key: K, read: impl Future<Output = Result<V, E>>) -> Result<V, E> {
        let entry = self.entry(key);
        let mut kept = entry.lock().await;
        if let Some(kept) = kept.as_ref().filter(|kept| Instant::now() < kept.good_until) {
            return Ok(kept.value.clone());
        }
        let began = Instant::now();
        let value = read.await?;
        let good_for = self.fresh_for.max(began.elapsed() * REST);
        *kept = Some(Kept { value: value.clone(), good_until: Instant::now() + good_for });
        Ok(value)
    }

    /// Has everything read anew: whoever changed something sees the change.
    pub fn clear(&self) {
        self.entries.lock().clear();
    }

    fn entry(&self, key: K) -> Arc<Entry<V>> {
        let mut entries = self.entries.lock();
        if entries.len() >= ENTRIES_MAX && !entries.contains_key(&key) {
            // Those that somebody is reading stay, and so does what is still good.
            let now = Instant::now();
            entries.retain(|_, entry| match entry.try_lock() {
                Ok(kept) => kept.as_ref().is_some_and(|kept| now < kept.good_until),
                Err(_) => true,
            });
            if entries.len() >= ENTRIES_MAX {
                entries.clear();
            }
        }
        entries.entry(key).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use tokio::time::{advance, sleep};

    use super::*;

    async fn ask(cache: &Cache<u32, u32>, key: u32, value: u32, takes_ms: u64) -> u32 {
        let read = async {
            sleep(Duration::from_millis(takes_ms)).await;
            Ok::<_, Infallible>(value)
        };
        cache.get(key, read).await.expect("a value")
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_just_read_is_not_read_again() {
        let cache = Cache::new(Duration::from_secs(1));
        assert_eq!(ask(&cache, 1, 10, 0).await, 10);
        assert_eq!(ask(&cache, 1, 11, 0).await, 10);
        assert_eq!(ask(&cache, 2, 20, 0).await, 20);
        advance(Duration::from_secs(1)).await;
        assert_eq!(ask(&cache, 1, 12, 0).await, 12);
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_changed_is_read_again() {
        let cache = Cache::new(Duration::from_secs(1));
        assert_eq!(ask(&cache, 1, 10, 0).await, 10);
        cache.clear();
        assert_eq!(ask(&cache, 1, 11, 0).await, 11);
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_long_is_read_rarely() {
        let cache = Cache::new(Duration::from_secs(1));
        assert_eq!(ask(&cache, 1, 10, 500).await, 10);
        advance(Duration::from_secs(9)).await;
        assert_eq!(ask(&cache, 1, 11, 500).await, 10);
        advance(Duration::from_secs(2)).await;
        assert_eq!(ask(&cache, 1, 12, 500).await, 12);
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_ask_at_once_share_one_read() {
        let cache = Cache::new(Duration::from_secs(1));
        let (a, b) = tokio::join!(ask(&cache, 1, 10, 50), ask(&cache, 1, 11, 50));
        assert_eq!((a, b), (10, 10));
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_is_remembered_than_there_is_room_for() {
        let cache = Cache::new(Duration::from_secs(1));
        for key in 0..3 * ENTRIES_MAX as u32 {
            assert_eq!(ask(&cache, key, key, 0).await, key);
        }
        assert!(cache.entries.lock().len() <= ENTRIES_MAX);
    }
}
