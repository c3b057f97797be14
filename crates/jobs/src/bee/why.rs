//! Why a job is not running yet, and when it may.
//!
//! A script gathers facts; what follows from them is decided here, by a function of the facts alone.

mod tell;

use keyrack_store::Script;
use serde::{Deserialize, Serialize};

use super::{
    hive::Hive,
    job::{Job, Status},
    keys::Jid,
};
use crate::Error;

static WHY: Script = bee_script!("why.lua");

/// Why a job is not running yet.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Why {
    /// Where in its life the job is.
    pub status: Status,
    /// What keeps it from running; of a job that runs or has ended, nothing.
    pub reasons: Vec<Reason>,
    /// Its place in the working queue, the first being 1.
    pub position: Option<u64>,
    /// How many jobs are likely to start before it.
    pub ahead: Option<u64>,
    /// When it is likely to start, in unix milliseconds, at the pace of the last five minutes. Nothing when that
    /// depends on more than the pace.
    pub estimate_start_ms: Option<u64>,
    /// All of this in a sentence.
    pub explanation: String,
}

/// One thing that keeps a job from running.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Reason {
    /// It waits for other jobs.
    Dependencies {
        /// How many.
        count: u64,
        /// The first of them.
        jobs: Vec<Dependency>,
    },
    /// Its time has not come.
    Delay {
        /// When it does, in unix milliseconds.
        until: u64,
        /// Whether it has failed and is to be tried again then.
        retry: bool,
    },
    /// As many jobs of its tenant run as may at once.
    TenantLimit {
        /// The tenant.
        tenant: String,
        /// How many may.
        limit: u64,
        /// How many do.
        running: u64,
    },
    /// No jobs of its tenant start.
    TenantPaused {
        /// The tenant.
        tenant: String,
    },
    /// As many jobs of its tenant have started as may in that time.
    TenantRate {
        /// The tenant.
        tenant: String,
        /// How many may start
        max: u64,
        /// in so many milliseconds.
        per_ms: u64,
        /// When the next may start, in unix milliseconds.
        again_at: u64,
    },
    /// As many jobs run that name the same limit as may at once.
    NamedLimit {
        /// The name.
        name: String,
        /// How many may.
        limit: u64,
        /// How many do.
        running: u64,
    },
    /// As many jobs have started that name the same limit as may in that time.
    NamedRate {
        /// The name.
        name: String,
        /// How many may start
        max: u64,
        /// in so many milliseconds.
        per_ms: u64,
        /// When the next may start, in unix milliseconds.
        again_at: u64,
    },
    /// Its tenant has other jobs that come first.
    TenantTurn {
        /// The tenant.
        tenant: String,
        /// How many.
        ahead: u64,
    },
    /// The queue is paused.
    Paused,
    /// No worker of the queue has sent a heartbeat in the last minute.
    NoWorkers,
    /// As many jobs of the queue run as may at once.
    Concurrency {
        /// How many may.
        limit: u64,
        /// How many do.
        running: u64,
    },
    /// As many jobs of the queue have started as may in that time.
    Rate {
        /// How many may start
        max: u64,
        /// in so many milliseconds.
        per_ms: u64,
        /// When the next may start, in unix milliseconds.
        again_at: u64,
    },
    /// Other jobs come first.
    Position {
        /// How many.
        ahead: u64,
    },
}

/// A job that another waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Dependency {
    /// Its id.
    pub jid: String,
    /// Its status; `gone` if there is no such job any more.
    pub status: String,
}

/// What the script finds out.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Facts {
    rank: Option<u64>,
    queued: u64,
    running: u64,
    workers: u64,
    due: Option<f64>,
    dependencies: u64,
    paused: bool,
    concurrency: Option<u64>,
    rate_max: Option<u64>,
    rate_ms: Option<u64>,
    rate_allows: Option<f64>,
    rate_again_at: Option<f64>,
    started: u64,
    started_ms: f64,
    tenants: u64,
    tenant_rank: Option<u64>,
    tenant_running: u64,
    tenant_concurrency: Option<u64>,
    tenant_paused: bool,
    tenant_rate_max: Option<u64>,
    tenant_rate_ms: Option<u64>,
    tenant_rate_allows: Option<f64>,
    tenant_rate_again_at: Option<f64>,
    limit: Option<LimitFacts>,
    #[serde(skip)]
    waits_for: Vec<Dependency>,
}

/// The limit that holds a job, of those that it names.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct LimitFacts {
    name: String,
    concurrency: Option<u64>,
    running: u64,
    rate_max: Option<u64>,
    rate_ms: Option<u64>,
    again_at: Option<f64>,
}

type Reply = Option<(Job, String, Vec<(String, String)>)>;

impl Hive {
    /// Why a job is not running yet, and when it may.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`], or when the store fails.
    pub async fn why(&self, jid: &Jid) -> Result<Why, Error> {
        let now = self.now_ms();
        let reply: Reply = self.call_on_job(&WHY, jid).run().await?;
        let Some((job, facts, waits_for)) = reply else {
            return Err(Error::NoSuchJob { jid: jid.to_string() });
        };
        let mut facts: Facts = serde_json::from_str(&facts).unwrap_or_default();
        facts.waits_for =
            waits_for.into_iter().map(|(jid, status)| Dependency { jid, status }).collect();
        Ok(Why::of(&job, &facts, now))
    }
}

impl Why {
    fn of(job: &Job, facts: &Facts, now: u64) -> Why {
        let status = job.status();
        // A job that has left the queue and does not run yet is in a reservation.
        let is_taken = status == Status::Queued && facts.rank.is_none();
        if is_taken || status == Status::Running || status.is_final() {
            let explanation = tell::beyond_waiting(job);
            return Why {
                status,
                reasons: Vec::new(),
                position: None,
                ahead: None,
                estimate_start_ms: None,
                explanation,
            };
        }
        let reasons = facts.reasons(job);
        let estimate = facts.estimate(&reasons, now);
        Why {
            status,
            position: facts.rank.map(|rank| rank + 1),
            ahead: facts.ahead(),
            estimate_start_ms: estimate,
            explanation: tell::waiting(&reasons, estimate, now),
            reasons,
        }
    }
}

/// A pace measured over less says nothing.
const PACE_MS_MIN: f64 = 1000.0;

impl Facts {
    fn reasons(&self, job: &Job) -> Vec<Reason> {
        let mut reasons = Vec::new();
        if self.dependencies > 0 {
            let (count, jobs) = (self.dependencies, self.waits_for.clone());
            reasons.push(Reason::Dependencies { count, jobs });
        }
        if let Some(limit) = &self.limit {
            reasons.extend(limit.reason());
        } else if let Some(due) = self.due {
            let retry = job.status() == Status::Retried;
            reasons.push(Reason::Delay { until: due.max(0.0) as u64, retry });
        }
        reasons.extend(self.tenant_reasons(job.tenant().unwrap_or_default()));
        if self.paused {
            reasons.push(Reason::Paused);
        }
        if self.workers == 0 {
            reasons.push(Reason::NoWorkers);
        }
        reasons.extend(self.limit_reasons());
        reasons.extend(self.rank.filter(|rank| *rank > 0).map(|ahead| Reason::Position { ahead }));
        reasons
    }

    fn tenant_reasons(&self, tenant: &str) -> Vec<Reason> {
        let (tenant, running) = (tenant.to_owned(), self.tenant_running);
        // A job that stands in the working queue does not start either.
        if self.tenant_paused {
            return vec![Reason::TenantPaused { tenant }];
        }
        if let (Some(max), Some(per_ms), Some(allows), Some(again_at)) = (
            self.tenant_rate_max,
            self.tenant_rate_ms,
            self.tenant_rate_allows,
            self.tenant_rate_again_at,
        ) && allows < 1.0
        {
            let again_at = again_at.ceil().max(0.0) as u64;
            return vec![Reason::TenantRate { tenant, max, per_ms, again_at }];
        }
        let Some(ahead) = self.tenant_rank else { return Vec::new() };
        match self.tenant_concurrency {
            Some(limit) if limit > 0 && running >= limit => {
                vec![Reason::TenantLimit { tenant, limit, running }]
            }
            // One more stands in the working queue.
            _ => vec![Reason::TenantTurn { tenant, ahead: ahead + 1 }],
        }
    }

    fn limit_reasons(&self) -> Vec<Reason> {
        let mut reasons = Vec::new();
        if let Some(limit) = self.concurrency
            && self.running >= limit
        {
            reasons.push(Reason::Concurrency { limit, running: self.running });
        }
        if let (Some(max), Some(per_ms), Some(allows), Some(again_at)) =
            (self.rate_max, self.rate_ms, self.rate_allows, self.rate_again_at)
            && allows < 1.0
        {
            let again_at = again_at.ceil().max(0.0) as u64;
            reasons.push(Reason::Rate { max, per_ms, again_at });
        }
        reasons
    }

    /// How many jobs are likely to start before this one.
    fn ahead(&self) -> Option<u64> {
        // With each job of its own tenant, one of every other tenant comes first.
        let parked = || self.tenant_rank.map(|rank| self.queued + rank * self.tenants.max(1));
        self.rank.or_else(parked)
    }

    fn estimate(&self, reasons: &[Reason], now: u64) -> Option<u64> {
        let waits_for_others = reasons.iter().any(|reason| {
            matches!(
                reason,
                Reason::Dependencies { .. }
                    | Reason::Paused
                    | Reason::TenantPaused { .. }
                    | Reason::TenantRate { .. }
                    | Reason::NamedLimit { .. }
                    | Reason::NoWorkers
            )
        });
        if waits_for_others {
            return None;
        }
        let is_full = reasons.iter().any(|reason| {
            matches!(reason, Reason::Concurrency { .. } | Reason::TenantLimit { .. })
        });
        // What is delayed comes behind what is queued now, unless that is done by then.
        let ahead = self.ahead().unwrap_or(self.queued);
        let by_pace = self.pace_wait_ms(ahead + u64::from(is_full))?;
        let wait_ms = by_pace.max(self.rate_wait_ms(ahead, now)).max(0.0).ceil() as u64;
        let from = self.due.map_or(now, |due| due.max(now as f64) as u64);
        Some(from.max(now.saturating_add(wait_ms)))
    }

    /// How long the rate limit needs to let so many others start first; negative when it has room.
    fn rate_wait_ms(&self, ahead: u64, now: u64) -> f64 {
        let limit = self.rate_max.zip(self.rate_ms).zip(self.rate_again_at);
        limit.map_or(0.0, |((max, per_ms), again_at)| {
            let beyond = ahead as f64 - self.rate_allows.unwrap_or(0.0).max(0.0);
            again_at - now as f64 + beyond * per_ms as f64 / max.max(1) as f64
        })
    }

    /// How long so many starts take at the present pace. What runs says nothing about it: as many jobs as workers have
    /// room for start at once.
    fn pace_wait_ms(&self, starts: u64) -> Option<f64> {
        match (starts, self.started.saturating_sub(self.running)) {
            (0, _) => Some(0.0),
            (_, 0) => None,
            (starts, started) => {
                Some(starts as f64 * self.started_ms.max(PACE_MS_MIN) / started as f64)
            }
        }
    }
}

impl LimitFacts {
    /// A job whose limit has room again is let in with the next claim.
    fn reason(&self) -> Option<Reason> {
        let name = self.name.clone();
        if let (Some(max), Some(per_ms), Some(again_at)) =
            (self.rate_max, self.rate_ms, self.again_at)
        {
            let again_at = again_at.ceil().max(0.0) as u64;
            return Some(Reason::NamedRate { name, max, per_ms, again_at });
        }
        let limit = self.concurrency?;
        Some(Reason::NamedLimit { name, limit, running: self.running })
    }
}

#[cfg(test)]
mod tests;
