//! Reads what the rules judge. Each read is bounded, and what cannot be read is left out.

use std::{sync::Arc, time::Duration};

use futures_util::future::try_join_all;
use keyrack_files::{Entry, Files};
use keyrack_jobs::{
    Error,
    bee::{Filter, Hive, JobState, QueueCounts, Stats, keys::QueueName},
    hot::{self, Producer},
};

use super::{AlertFacts, rules::RecentRules};
use crate::{Services, cache::Cache};

/// The most queues that are read in full: each takes a script call.
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
        let (queues, unknown, rules, breaker, files, counts, mutes) = tokio::join!(
            queues(services),
            unknown_hot_jobs(services),
            reader.rules.read(services),
            breaker,
            services.file_facts(),
            services.census.latest(),
            services.identity.alert_mutes(),
        );
        let (queues, store_error) = match queues {
            Ok(queues) => (queues, None),
            Err(error) => (QueueFacts::default(), Some(error.to_string())),
        };
        AlertFacts {
            store_error,
            now_ms: services.store.now_ms(),
            queues: queues.stats,
            other_queues: queues.others,
            poison_jobs: queues.poison_jobs,
            unknown_hot_jobs: unknown.unwrap_or_default(),
            recent_rules: rules.to_vec(),
            breaker,
            files: files.as_deref().cloned().unwrap_or_default(),
            undeclared_keys: counts.map_or(0, |counts| counts.undeclared),
            lint_problems: 0,
            mutes: mutes.unwrap_or_default(),
        }
    }
}

impl Services {
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

/// What is known of queues.
#[derive(Default)]
struct QueueFacts {
    stats: Vec<Stats>,
    others: Vec<QueueCounts>,
    poison_jobs: Vec<(String, u64)>,
}

/// All queues: those in full in which something may be wrong, as far as there is room for them.
async fn queues(services: &Services) -> Result<QueueFacts, Error> {
    let counts = services.queue_counts().await?;
    let hive = &services.jobs().await?.hive;
    let mut places: Vec<usize> = (0..counts.len()).collect();
    if counts.len() > QUEUES_MAX {
        // Whatever fails or waits lets a rule speak that looks closer.
        places.sort_by_key(|at| {
            let one = &counts[*at];
            std::cmp::Reverse((one.running > 0 || one.failed > 0, one.harm(), one.failed))
        });
    }
    let (full, rest) = places.split_at(places.len().min(QUEUES_MAX));
    let mut full = full.to_vec();
    full.sort_unstable();
    let stats = try_join_all(full.iter().map(|at| hive.stats(&counts[*at].queue))).await?;
    let others = rest.iter().map(|at| counts[*at].clone()).collect();
    let poison_jobs = poison_jobs(hive, &stats).await?;
    Ok(QueueFacts { stats, others, poison_jobs })
}

/// Jobs that failed lately and whose workers died.
async fn poison_jobs(hive: &Hive, stats: &[Stats]) -> Result<Vec<(String, u64)>, Error> {
    let filter = Filter::at(JobState::Failed);
    let failing = stats.iter().filter(|stats| stats.failed > 0).take(FAILED_QUEUES_MAX);
    let names = failing.filter_map(|stats| QueueName::new(stats.queue.as_str()).ok());
    let lists = names.map(async |name| hive.list(&name, &filter, None, FAILED_JOBS_MAX).await);
    let pages = try_join_all(lists).await?;
    let jobs = pages.iter().flat_map(|page| &page.jobs).filter(|job| job.deaths() > 0);
    Ok(jobs.map(|job| (job.jid().to_owned(), job.deaths())).collect())
}
