//! What all queues hold, for lists of them and for alerts.
//!
//! Few queues are read each time. Many take a while, so what was read a moment ago is shared by all who ask, and read again behind
//! their backs: only the first ever has to wait.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use keyrack_jobs::{
    Error,
    bee::{Hive, QueueCounts},
};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::Services;

/// Up to so many queues are read each time.
const FEW: usize = 300;
/// How old what is known of many may be before it is read again.
const AGE: Duration = Duration::from_secs(1);
/// What took long to read rests for so many times as long: a tenth of the store's time at most.
const REST: u32 = 10;

/// What was read of many queues.
#[derive(Debug, Default)]
pub(crate) struct QueueList {
    known: Mutex<Option<Known>>,
    is_reading: AtomicBool,
}

#[derive(Debug, Clone)]
struct Known {
    counts: Arc<Vec<QueueCounts>>,
    good_until: Instant,
}

impl Services {
    /// What each queue holds, by name. Of more than 300 queues that is what they held some seconds ago.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn queue_counts(&self) -> Result<Arc<Vec<QueueCounts>>, Error> {
        let hive = &self.jobs().await?.hive;
        let known = self.queue_list.known.lock().clone();
        let Some(known) = known else {
            return self.queue_list.read(hive).await;
        };
        if Instant::now() >= known.good_until
            && !self.queue_list.is_reading.swap(true, Ordering::AcqRel)
        {
            let (list, hive) = (self.queue_list.clone(), hive.clone());
            tokio::spawn(async move {
                let guard = Reading(&list.is_reading);
                if let Err(error) = list.read(&hive).await {
                    // Whoever asks when nothing is known is told.
                    tracing::debug!(%error, "could not read what the queues hold");
                    *list.known.lock() = None;
                }
                drop(guard);
            });
        }
        Ok(known.counts)
    }
}

/// Lets somebody else read, whatever happens to this one.
struct Reading<'a>(&'a AtomicBool);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl QueueList {
    async fn read(&self, hive: &Hive) -> Result<Arc<Vec<QueueCounts>>, Error> {
        let began = Instant::now();
        let queues = hive.queues().await?;
        let counts = Arc::new(hive.counts_of(&queues).await?);
        let known = (counts.len() > FEW).then(|| Known {
            counts: counts.clone(),
            good_until: Instant::now() + AGE.max(began.elapsed() * REST),
        });
        *self.known.lock() = known;
        Ok(counts)
    }
}
