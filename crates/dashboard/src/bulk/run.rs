//! Changes of many jobs that are under way, or were lately.

use std::{
    collections::{HashSet, VecDeque},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use axum::http::StatusCode;
use keyrack_jobs::{Error, bee::Hive};
use keyrack_web::Problem;
use parking_lot::Mutex;

use super::Plan;
use crate::Site;

/// How many are remembered.
const KEPT_MAX: usize = 100;
/// How many may be under way: each is as much load as a busy client.
const RUNNING_MAX: usize = 4;
/// Jobs that are changed between two looks at whether to stop.
const STEP: usize = 100;

/// All changes that are remembered.
#[derive(Debug, Default)]
pub(crate) struct BulkRuns {
    known: Mutex<VecDeque<Arc<BulkRun>>>,
    last_id: AtomicU64,
}

/// One change of many jobs.
#[derive(Debug)]
pub(super) struct BulkRun {
    id: u64,
    pub(super) plan: Plan,
    /// How many jobs there were at the start.
    pub(super) total: u64,
    matched: AtomicU64,
    changed: AtomicU64,
    is_stopped: AtomicBool,
    outcome: OnceLock<Result<(), String>>,
}

impl BulkRuns {
    /// Begins a change and returns its id.
    pub(super) fn start(
        &self,
        site: Arc<Site>,
        hive: Hive,
        plan: Plan,
        total: u64,
    ) -> Result<u64, Problem> {
        let mut known = self.known.lock();
        let running = known.iter().filter(|errand| errand.outcome().is_none()).count();
        if running >= RUNNING_MAX {
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_errands")
                .title("too many such changes are under way")
                .detail(format!("{running} are; wait for one of them to end, or stop it")));
        }
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let errand = Arc::new(BulkRun {
            id,
            plan,
            total,
            matched: AtomicU64::new(0),
            changed: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
            outcome: OnceLock::new(),
        });
        if known.len() >= KEPT_MAX {
            known.pop_front();
        }
        known.push_back(errand.clone());
        tokio::spawn(async move {
            let done = tokio::select! {
                done = errand.run(&hive) => done.map_err(|error| error.to_string()),
                () = site.app.stopped() => Err("the server was stopped".into()),
            };
            // Set here and nowhere else.
            let _ = errand.outcome.set(done);
        });
        Ok(id)
    }

    pub(super) fn get(&self, id: u64) -> Option<Arc<BulkRun>> {
        self.known.lock().iter().find(|errand| errand.id == id).cloned()
    }
}

impl BulkRun {
    /// Jobs gone through, and those of them that were changed.
    pub(super) fn done(&self) -> (u64, u64) {
        (self.matched.load(Ordering::Relaxed), self.changed.load(Ordering::Relaxed))
    }

    /// How it ended, if it has.
    pub(super) fn outcome(&self) -> Option<Result<(), String>> {
        self.outcome.get().cloned()
    }

    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    async fn run(&self, hive: &Hive) -> Result<(), Error> {
        // A change may put a job further down in the list that is gone through.
        let (mut cursor, mut seen) = (None, HashSet::new());
        while !self.is_stopped.load(Ordering::Relaxed) {
            let plan = &self.plan;
            let page = hive.list(&plan.queue, &plan.filter, cursor.as_deref(), STEP).await?;
            let mut jobs = page.jobs;
            jobs.retain(|job| seen.insert(job.jid().to_owned()));
            let changed = hive.change(&jobs, &plan.what).await?;
            self.matched.fetch_add(jobs.len() as u64, Ordering::Relaxed);
            self.changed.fetch_add(changed, Ordering::Relaxed);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        Ok(())
    }
}
