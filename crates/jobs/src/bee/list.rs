//! Looking through the jobs of a queue, page by page.
//!
//! A page begins behind the last job of the one before, wherever that would stand now: what comes and goes meanwhile
//! neither hides other jobs nor shows them twice. The work of one call is bounded, so a page of a search may be short
//! or empty and still have a next one.

mod cursor;

use keyrack_keys::Key;
use keyrack_store::Script;
use serde::{Deserialize, Serialize};

use self::cursor::Cursor;
use super::{
    hive::Hive,
    job::Job,
    keys::{self, QueueName, Tenant},
};
use crate::Error;

static LIST: Script = bee_script!("list.lua");

/// The most jobs on a page.
pub const PAGE_MAX: usize = 500;
/// Jobs that one call looks at for a page, and bytes of them.
const LOOKED_AT_MAX: usize = 2000;
const BYTES_MAX: usize = 8 * 1024 * 1024;
/// Jobs that are read in one go: each may have a megabyte of data.
const BATCH: usize = 20;
/// Tenants that one call looks at.
const TENANTS_MAX: usize = 200;

/// Where in its queue a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Place {
    /// In the working queue; the first to run comes first.
    Queued,
    /// Not due yet, or to be tried again; the first due comes first.
    Delayed,
    /// Waiting for other jobs, by submission. Jobs of Node hives are not on this list.
    Waiting,
    /// Waiting for the turn of its tenant, tenant by tenant.
    Parked,
    /// On a worker; the one whose lock ends first comes first.
    Running,
    /// Failed for good; the last to fail comes first.
    Failed,
    /// Completed or failed; the last to expire comes first.
    Ended,
}

impl Place {
    /// Every place, in the order of a job's life.
    pub const ALL: [Place; 7] = [
        Place::Waiting,
        Place::Delayed,
        Place::Parked,
        Place::Queued,
        Place::Running,
        Place::Failed,
        Place::Ended,
    ];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Place::Queued => "queued",
            Place::Delayed => "delayed",
            Place::Waiting => "waiting",
            Place::Parked => "parked",
            Place::Running => "running",
            Place::Failed => "failed",
            Place::Ended => "ended",
        }
    }

    fn is_newest_first(self) -> bool {
        matches!(self, Place::Failed | Place::Ended)
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl std::str::FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        Place::ALL.into_iter().find(|place| place.as_str() == text).ok_or_else(|| {
            let words = Place::ALL.map(Place::as_str).join("\", \"");
            format!("\"{text}\" is no place of a job; use one of \"{words}\"")
        })
    }
}

/// Which jobs of a queue are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Where they are.
    pub place: Place,
    /// Text that is in their data, their id or one of their tags.
    pub text: Option<String>,
    /// A tag that they have.
    pub tag: Option<String>,
}

impl Filter {
    /// All jobs in this place.
    pub fn at(place: Place) -> Filter {
        Filter { place, text: None, tag: None }
    }

    fn is_met_by(&self, job: &Job) -> bool {
        let has_tag = |tag: &String| job.tags().contains(tag);
        let has_text = |text: &String| {
            job.jid().contains(text)
                // Redis' JSON has a backslash before each slash.
                || job.data().replace("\\/", "/").contains(text)
                || job.tags().iter().any(|tag| tag.contains(text))
        };
        self.tag.as_ref().is_none_or(has_tag) && self.text.as_ref().is_none_or(has_text)
    }
}

/// Some jobs, and where to go on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// What to ask for the next page with; without one, this was the last.
    pub next: Option<String>,
}

impl Hive {
    /// Up to `max` jobs that meet the filter, from a cursor on.
    ///
    /// # Errors
    /// When the cursor is none of ours, or when the store fails.
    pub async fn list(
        &self,
        queue: &QueueName,
        filter: &Filter,
        cursor: Option<&str>,
        max: usize,
    ) -> Result<Page, Error> {
        let from = match cursor {
            Some(text) => Cursor::parse(text)?,
            None => Cursor::default(),
        };
        let mut search = Search {
            hive: self,
            queue,
            filter,
            max: max.clamp(1, PAGE_MAX),
            jobs: Vec::new(),
            looked_at: 0,
            bytes: 0,
        };
        let stopped_at = match filter.place {
            Place::Parked => search.parked(from).await?,
            place => search.set(&set_of(queue, place), from).await?,
        };
        Ok(Page { jobs: search.jobs, next: stopped_at.map(|cursor| cursor.to_text()) })
    }
}

/// The sorted set that holds the jobs of a place.
fn set_of(queue: &QueueName, place: Place) -> Key {
    let key = match place {
        Place::Queued | Place::Parked => keys::queue,
        Place::Delayed => keys::delayed,
        Place::Waiting => keys::waiting,
        Place::Running => keys::locks,
        Place::Failed => keys::failed,
        Place::Ended => keys::expires,
    };
    key(queue, &queue.group())
}

/// One call's search.
struct Search<'a> {
    hive: &'a Hive,
    queue: &'a QueueName,
    filter: &'a Filter,
    max: usize,
    jobs: Vec<Job>,
    looked_at: usize,
    bytes: usize,
}

impl Search<'_> {
    fn is_over(&self) -> bool {
        self.jobs.len() >= self.max || self.looked_at >= LOOKED_AT_MAX || self.bytes >= BYTES_MAX
    }

    /// Goes through one sorted set. Returns where it stopped, unless that was the end.
    async fn set(&mut self, set: &Key, mut at: Cursor) -> Result<Option<Cursor>, Error> {
        loop {
            let wanted = match (&self.filter.text, &self.filter.tag) {
                (None, None) => BATCH.min(self.max - self.jobs.len()),
                _ => BATCH,
            };
            let entries = self.batch(set, &at, wanted).await?;
            let is_last = entries.len() < wanted;
            for (jid, score, job) in entries {
                // A job that does not fit on the page any more begins the next.
                if self.is_over() {
                    return Ok(Some(at));
                }
                (at.score, at.member) = (score, jid);
                self.look_at(job);
            }
            if is_last {
                return Ok(None);
            }
            if self.is_over() {
                return Ok(Some(at));
            }
        }
    }

    fn look_at(&mut self, job: Job) {
        self.looked_at += 1;
        self.bytes += job.bytes();
        // An entry without a job is about to be dropped by the next claim or sweep.
        if !job.jid().is_empty() && self.filter.is_met_by(&job) {
            self.jobs.push(job);
        }
    }

    async fn batch(
        &self,
        set: &Key,
        at: &Cursor,
        wanted: usize,
    ) -> Result<Vec<(String, String, Job)>, Error> {
        let call = self
            .hive
            .call(&LIST, &self.queue.group())
            .key("set", set)
            .arg("newest", u8::from(self.filter.place.is_newest_first()))
            .arg("max", wanted)
            .arg("score", at.score.as_str())
            .arg("member", at.member.as_str());
        Ok(call.run().await?)
    }

    /// Goes through the parked jobs of all tenants.
    async fn parked(&mut self, mut at: Cursor) -> Result<Option<Cursor>, Error> {
        let group = self.queue.group();
        let mut tenants_seen = 0;
        loop {
            let (next_scan, mut tenants) = self.tenants(at.scan).await?;
            tenants.retain(|name| *name >= at.tenant);
            for name in tenants {
                let Ok(tenant) = Tenant::new(name.as_str()) else { continue };
                if name != at.tenant {
                    at = Cursor { scan: at.scan, tenant: name, ..Cursor::default() };
                }
                if self.is_over() || tenants_seen >= TENANTS_MAX {
                    return Ok(Some(at));
                }
                tenants_seen += 1;
                let set = keys::parked(self.queue, &tenant, &group);
                if let Some(stopped_at) = self.set(&set, at.clone()).await? {
                    return Ok(Some(stopped_at));
                }
            }
            if next_scan == 0 {
                return Ok(None);
            }
            at = Cursor { scan: next_scan, ..Cursor::default() };
        }
    }

    /// Some tenants in order, and where the next are.
    async fn tenants(&self, scan: u64) -> Result<(u64, Vec<String>), Error> {
        let mut cmd = redis::cmd("HSCAN");
        let key = keys::tenants(self.queue, &self.queue.group());
        cmd.arg(&*self.hive.store().place(&key)).arg(scan).arg("COUNT").arg(BATCH);
        let (next, entries): (u64, Vec<(String, String)>) =
            cmd.query_async(&mut self.hive.store().connection()).await?;
        let mut tenants: Vec<String> = entries.into_iter().map(|(tenant, _)| tenant).collect();
        tenants.sort_unstable();
        Ok((next, tenants))
    }
}

#[cfg(test)]
mod tests;
