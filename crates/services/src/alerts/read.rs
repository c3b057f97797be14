//! Reads what the rules judge. Each read is bounded, and what cannot be read is left out.

use std::{sync::Arc, time::Duration};

use futures_util::future::try_join_all;
use keyrack_files::{Entry, Files};
use keyrack_jobs::{
    Error,
    bee::{Filter, Hive, Place, Stats, keys::QueueName},
    hot::{self, Producer},
};

use super::{AlertFacts, rules::RecentRules};
use crate::{Services, cache::Cache};

/// The most queues that are read: each takes a script call.
pub const QUEUES_MAX: usize = 200;
/// How many of the latest failed jobs are read, and of how many queues, to find poison jobs.
const FAILED_JOBS_MAX: usize = 20;
const FAILED_QUEUES_MAX: usize = 20;
/// How many files that could not be deleted are read to find the worst.
const FAILING_FILES_MAX: usize = 100;
/// How old the facts about files may be.
const FILES_AGE: Duration = Duration::from_secs(1);

/// What is remembered between two reads.
#[derive(Debug)]
pub(crate) struct AlertReader {
    rules: RecentRules,
    files: Cache<(), Arc<FileFacts>>,
}

impl Default for AlertReader {
    fn default() -> AlertReader {
        AlertReader { rules: RecentRules::default(), files: Cache::new(FILES_AGE) }
    }
}

/// Files that wait to be deleted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileFacts {
    /// How many there are.
    pub waiting: u64,
    /// How many could be deleted now.
    pub due: u64,
    /// How many could not be deleted when tried.
    pub failing: u64,
    /// The one that failed most often.
    pub worst: Option<Entry>,
}

impl AlertFacts {
    /// Reads the facts. Problems of lint are known to the process that ran lint, which adds them.
    pub async fn read(services: &Services) -> AlertFacts {
        let reader = &services.alerts;
        let breaker = async { services.entitlements().ok()?.breaker().await.ok() };
        let (queues, unknown, rules, breaker, files, counts) = tokio::join!(
            queues(services),
            unknown_hot_jobs(services),
            reader.rules.read(services),
            breaker,
            services.file_facts(),
            services.census.latest(),
        );
        let (queues, poison_jobs, store_error) = match queues {
            Ok((queues, poison_jobs)) => (queues, poison_jobs, None),
            Err(error) => (Vec::new(), Vec::new(), Some(error.to_string())),
        };
        AlertFacts {
            store_error,
            now_ms: services.store.now_ms(),
            queues,
            poison_jobs,
            unknown_hot_jobs: unknown.unwrap_or_default(),
            recent_rules: rules.to_vec(),
            breaker,
            files: files.as_deref().cloned().unwrap_or_default(),
            undeclared_keys: counts.map_or(0, |counts| counts.undeclared),
            lint_problems: 0,
        }
    }
}

impl Services {
    /// What each queue holds, and how many more queues there are.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn queue_stats(&self) -> Result<(Vec<Stats>, usize), Error> {
        let hive = &self.jobs().await?.hive;
        let mut names = hive.queues().await?;
        let left_out = names.len().saturating_sub(QUEUES_MAX);
        names.truncate(QUEUES_MAX);
        let stats = try_join_all(names.iter().map(|name| hive.stats(name))).await?;
        Ok((stats, left_out))
    }

    /// Files that wait to be deleted, as of a moment ago; `None` if they cannot be read.
    pub async fn file_facts(&self) -> Option<Arc<FileFacts>> {
        let read = async {
            let files = Files::new(self.store.clone());
            let ((waiting, due), (failing, worst)) =
                tokio::try_join!(files.count(), files.failing(FAILING_FILES_MAX))?;
            let worst = worst.into_iter().next();
            Ok::<_, keyrack_files::Error>(Arc::new(FileFacts { waiting, due, failing, worst }))
        };
        self.alerts.files.get((), read).await.ok()
    }
}

async fn unknown_hot_jobs(services: &Services) -> Result<u64, hot::Error> {
    Producer::new(services.store.clone()).unknown_depth().await
}

async fn queues(services: &Services) -> Result<(Vec<Stats>, Vec<(String, u64)>), Error> {
    let (stats, _) = services.queue_stats().await?;
    let poison_jobs = poison_jobs(&services.jobs().await?.hive, &stats).await?;
    Ok((stats, poison_jobs))
}

/// Jobs that failed lately and whose workers died.
async fn poison_jobs(hive: &Hive, stats: &[Stats]) -> Result<Vec<(String, u64)>, Error> {
    let filter = Filter::at(Place::Failed);
    let failing = stats.iter().filter(|stats| stats.failed > 0).take(FAILED_QUEUES_MAX);
    let names = failing.filter_map(|stats| QueueName::new(stats.queue.as_str()).ok());
    let lists = names.map(async |name| hive.list(&name, &filter, None, FAILED_JOBS_MAX).await);
    let pages = try_join_all(lists).await?;
    let jobs = pages.iter().flat_map(|page| &page.jobs).filter(|job| job.deaths() > 0);
    Ok(jobs.map(|job| (job.jid().to_owned(), job.deaths())).collect())
}
