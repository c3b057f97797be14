//! Putting jobs into the hot queue.

use keyrack_store::Store;
use serde::Serialize;

use super::{entry::encode, error::Error, keys};

/// Puts jobs into the hot queue and tells how it is doing. Cheap to clone.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use keyrack_jobs::hot::Producer;
/// use keyrack_store::Store;
/// use serde_json::json;
///
/// let producer = Producer::new(Store::open("embedded:memory").await?);
/// producer.push("runners.example", &json!({ "message": "hi" })).await?;
/// assert_eq!(producer.depth().await?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Producer {
    pub(super) store: Store,
}

impl Producer {
    /// A producer for the queue of a store.
    pub fn new(store: Store) -> Producer {
        Producer { store }
    }

    /// Puts a job at the end of the queue; returns how many wait now.
    ///
    /// # Errors
    /// When the job has no name, its arguments are no object, it is too large, or the store cannot be reached.
    pub async fn push(&self, name: &str, kwargs: &impl Serialize) -> Result<u64, Error> {
        let entry = encode(name, kwargs, self.store.now_ms())?;
        self.push_entries(&[entry]).await
    }

    /// Puts several jobs at the end of the queue in one step, in this order; returns how many wait now.
    ///
    /// # Errors
    /// As [`Producer::push`]; nothing is queued then.
    pub async fn push_many<'a, K: Serialize + 'a>(
        &self,
        jobs: impl IntoIterator<Item = (&'a str, &'a K)>,
    ) -> Result<u64, Error> {
        let now_ms = self.store.now_ms();
        let entries: Result<Vec<String>, Error> =
            jobs.into_iter().map(|(name, kwargs)| encode(name, kwargs, now_ms)).collect();
        match entries?.as_slice() {
            [] => self.depth().await,
            entries => self.push_entries(entries).await,
        }
    }

    async fn push_entries(&self, entries: &[String]) -> Result<u64, Error> {
        let mut cmd = redis::cmd("RPUSH");
        cmd.arg(&*self.store.place(&keys::hot())).arg(entries);
        Ok(cmd.query_async(&mut self.store.connection()).await?)
    }
}
