//! One store with `keyrack serve`, workers and clients around it, and what a fault did to them.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::Result;
use fastrand::Rng;
use keyrack_jobs::bee::{Hive, Job, Status, keys::Jid};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use crate::{
    client::{Clients, Target},
    fault::Fault,
    journal::{Journal, Reading},
    serve::{Serve, ServeSettings},
    store::{self, Damage, Servers},
    time::monotonic_ms,
    worker::{WorkerProcess, WorkerSettings},
};

const WORKERS: usize = 3;

/// So many jobs are acknowledged before a fault begins, and after it was healed.
const JOBS_BESIDE_FAULT: usize = 100;
/// How long clients may take for that; a healthy store needs half a second.
const SERVED_WITHIN: Duration = Duration::from_secs(60);
/// How long the last jobs may take. A worker that was killed keeps its jobs for up to 15 s.
const ENDED_WITHIN: Duration = Duration::from_secs(60);
/// How long sweeps may take to heal what the lint finds.
const CLEAN_WITHIN: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
const LINT_INTERVAL: Duration = Duration::from_secs(2);
/// How many jobs one look at the store asks for.
const CHUNK: usize = 500;
/// How many jobs that ran twice are told of.
const REPEATS_MAX: usize = 3;

/// A store in use. Its parts are dropped in this order.
pub(crate) struct Deployment<S> {
    hive: Hive,
    processes: Processes,
    servers: S,
    /// Makes the ids of the jobs of each fault their own.
    n_faults: u64,
    _folder: TempDir,
}

/// The processes around a store.
#[derive(Debug)]
pub(crate) struct Processes {
    pub(crate) workers: Vec<WorkerProcess>,
    pub(crate) serve: Serve,
    worker_settings: WorkerSettings,
    folder: PathBuf,
}

impl Processes {
    pub(crate) fn start_worker(&self, fake_time: Option<&Path>) -> WorkerProcess {
        WorkerProcess::start(&self.worker_settings, fake_time)
    }

    /// For files of a fault.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

/// What a fault did, as far as anybody could tell.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) acknowledged: usize,
    /// Acknowledged jobs that are gone, or ended without having run; a line for each.
    pub(crate) lost: Vec<String>,
    /// Jobs that did not end, and queues and slots that stayed out of reach.
    pub(crate) unreachable: Vec<String>,
    pub(crate) run_twice: usize,
    /// The story of the first few of these.
    pub(crate) repeats: Vec<String>,
    pub(crate) started_early: usize,
    pub(crate) longest_gap_ms: u64,
    pub(crate) lint: Vec<String>,
    /// Errors that clients met and that did not say "not now".
    pub(crate) errors: Vec<String>,
}

impl Outcome {
    /// Whether the deployment can go on to the next fault.
    pub(crate) fn is_whole(&self) -> bool {
        self.lost.is_empty() && self.unreachable.is_empty() && self.lint.is_empty()
    }
}

impl<S: Servers> Deployment<S> {
    /// Starts all processes.
    ///
    /// # Errors
    /// When the store cannot be opened. Processes that do not start panic with their reason.
    pub(crate) async fn start() -> Result<Deployment<S>> {
        let folder = TempDir::with_prefix("keyrack-campaign-")?;
        let path = folder.path().to_owned();
        let logs = path.join("logs");
        std::fs::create_dir(&logs)?;
        let runs = path.join("runs");
        std::fs::write(&runs, "")?;
        let mut servers = S::start(&path).await;
        let serve = Serve::start(ServeSettings {
            arguments: servers.serve_arguments(),
            log: path.join("serve.log"),
        });
        let hive = Hive::open(store::open(&servers.url(), S::REPLICAS_ACKNOWLEDGE).await?).await?;
        servers.prepare(&hive).await;
        let worker_settings = WorkerSettings {
            store: servers.url(),
            queues: servers.queues(),
            runs,
            replicas_acknowledge: S::REPLICAS_ACKNOWLEDGE,
            logs,
        };
        let mut processes = Processes { workers: Vec::new(), serve, worker_settings, folder: path };
        processes.workers = (0..WORKERS).map(|_| processes.start_worker(None)).collect();
        Ok(Deployment { hive, processes, servers, n_faults: 0, _folder: folder })
    }

    /// Injects a fault while clients submit, and finds out what became of their jobs.
    ///
    /// # Errors
    /// When the clients are not served before the fault, or the store cannot be opened after it.
    pub(crate) async fn undergo(&mut self, fault: Fault, random: &mut Rng) -> Result<Outcome> {
        self.n_faults += 1;
        let journal = Arc::new(Journal::begin(&self.processes.worker_settings.runs));
        let target = Target {
            hive: self.hive.clone(),
            http: self.processes.serve.http(),
            queues: self.servers.queues(),
            journal: Arc::clone(&journal),
        };
        let clients = Clients::start(&target, &format!("{fault}-{}", self.n_faults), random);
        let served = is_served(&journal).await;
        anyhow::ensure!(
            served,
            "clients were not served within {SERVED_WITHIN:?}, before the fault"
        );
        self.servers.inject(fault, &mut self.processes, random).await;
        let served_again = is_served(&journal).await;
        let stopped_ms = monotonic_ms();
        clients.stop().await;
        let mut outcome = self.judge(&journal, stopped_ms).await?;
        if !served_again {
            let text = format!("no client was served within {SERVED_WITHIN:?} after the fault");
            outcome.unreachable.push(text);
        }
        Ok(outcome)
    }

    async fn judge(&self, journal: &Journal, stopped_ms: u64) -> Result<Outcome> {
        // A connection of its own: it must not matter what the fault did to those of others.
        let hive = Hive::open(store::open(&self.servers.url(), 0).await?).await?;
        let acknowledged = journal.read(stopped_ms).acknowledged;
        let acknowledged: Vec<Jid> =
            acknowledged.keys().map(|jid| Jid::new(jid.as_str()).expect("an id of ours")).collect();
        let open = wait_until_ended(&hive, &acknowledged).await?;
        let reading = journal.read(stopped_ms);
        let mut damage = self.servers.inspect(&hive).await;
        count_damage(&reading, &acknowledged, &open, &mut damage);
        Ok(Outcome {
            acknowledged: acknowledged.len(),
            lost: damage.lost,
            unreachable: damage.unreachable,
            run_twice: reading.run_twice().count(),
            repeats: repeats(&hive, &reading).await?,
            started_early: reading.started_early(),
            longest_gap_ms: reading.longest_gap_ms,
            lint: lint_until_clean(&hive).await?,
            errors: reading.errors.iter().map(|(text, n)| format!("{n} times: {text}")).collect(),
        })
    }
}

/// Waits until some more jobs were acknowledged and started; `false` when that takes too long.
async fn is_served(journal: &Journal) -> bool {
    let acknowledged = journal.n_acknowledged() + JOBS_BESIDE_FAULT;
    let started = journal.n_started() + JOBS_BESIDE_FAULT;
    let deadline = Instant::now() + SERVED_WITHIN;
    while journal.n_acknowledged() < acknowledged || journal.n_started() < started {
        if Instant::now() > deadline {
            return false;
        }
        sleep(POLL_INTERVAL).await;
    }
    true
}

/// Waits until all jobs have completed; returns the others with what is wrong with each.
async fn wait_until_ended(hive: &Hive, acknowledged: &[Jid]) -> Result<Vec<(Jid, Option<Job>)>> {
    let deadline = Instant::now() + ENDED_WITHIN;
    let mut open: Vec<Jid> = acknowledged.to_vec();
    loop {
        let mut still_open = Vec::new();
        for chunk in open.chunks(CHUNK) {
            let jobs = chunk.iter().cloned().zip(hive.jobs(chunk).await?);
            still_open.extend(jobs.filter(|(_, job)| !job.as_ref().is_some_and(is_completed)));
        }
        let may_end = |job: &Option<Job>| job.as_ref().is_some_and(|job| !is_failed(job));
        let hopeless = !still_open.iter().any(|(_, job)| may_end(job));
        if hopeless || Instant::now() > deadline {
            return Ok(still_open);
        }
        open = still_open.into_iter().map(|(jid, _)| jid).collect();
        sleep(POLL_INTERVAL).await;
    }
}

fn is_completed(job: &Job) -> bool {
    job.status() == Status::Completed
}

fn is_failed(job: &Job) -> bool {
    matches!(job.status(), Status::Failed | Status::Canceled | Status::Expired | Status::Duplicate)
}

fn count_damage(
    reading: &Reading,
    acknowledged: &[Jid],
    open: &[(Jid, Option<Job>)],
    damage: &mut Damage,
) {
    for (jid, job) in open {
        let has_run = if reading.has_run(jid.as_str()) { "ran" } else { "did not run" };
        match job {
            None => damage.lost.push(format!("{jid}: {has_run} and is gone")),
            Some(job) if is_failed(job) => {
                damage
                    .lost
                    .push(format!("{jid}: {has_run} and ended as {}: {job:?}", job.status()));
            }
            Some(job) => {
                damage.unreachable.push(format!("{jid}: {has_run}, is {}: {job:?}", job.status()))
            }
        }
    }
    let open: HashSet<&str> = open.iter().map(|(jid, _)| jid.as_str()).collect();
    let completed = acknowledged.iter().map(Jid::as_str).filter(|jid| !open.contains(jid));
    let never_run = completed.filter(|jid| !reading.has_run(jid));
    damage.lost.extend(never_run.map(|jid| format!("{jid}: completed without having run")));
}

/// When the first few jobs that ran twice were started, and what the store knows of them; times are seconds since the load began.
async fn repeats(hive: &Hive, reading: &Reading) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for (jid, runs) in reading.run_twice().take(REPEATS_MAX) {
        let seconds = |ms: &u64| format!("{:.1}", ms.saturating_sub(reading.began_ms) as f64 / 1e3);
        let starts: Vec<String> = runs.starts_ms.iter().map(seconds).collect();
        let [job] = &hive.jobs(&[Jid::new(jid)?]).await?[..] else { continue };
        let history = job.as_ref().map(Job::history).unwrap_or_default();
        let submitted = history.first().map_or(0.0, |entry| entry.timestamp);
        let history: Vec<String> = history
            .iter()
            .map(|entry| format!("{} +{:.1}", entry.event, (entry.timestamp - submitted) / 1e3))
            .collect();
        lines.push(format!("{jid}: started at {}; {}", starts.join(", "), history.join(", ")));
    }
    Ok(lines)
}

/// The problems that are still there after sweeps had time to heal them.
async fn lint_until_clean(hive: &Hive) -> Result<Vec<String>> {
    let deadline = Instant::now() + CLEAN_WITHIN;
    loop {
        let (registry, options) = (keyrack_contract::registry(), keyrack_lint::Options::default());
        let report = keyrack_lint::lint(hive.store(), registry, &options, |_| {}).await?;
        if report.is_clean() {
            return Ok(Vec::new());
        }
        if Instant::now() > deadline {
            let problems = report
                .findings
                .iter()
                .filter(|finding| finding.severity() == keyrack_lint::Severity::Problem);
            return Ok(problems.map(ToString::to_string).collect());
        }
        sleep(LINT_INTERVAL).await;
    }
}
