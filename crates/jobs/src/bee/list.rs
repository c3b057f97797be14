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
/// Jobs that are looked at in one go, and bytes of them: about what the store does in two milliseconds.
const BATCH: usize = 1000;
const BATCH_BYTES: usize = 1024 * 1024;
/// Jobs that come back from one go.
const BATCH_JOBS: usize = 100;
/// Tenants that are read in one go.
const TENANTS: usize = 20;
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
    /// Text that is in their data, their id or one of their tags. The newest are looked at first, wherever they are.
    pub text: Option<String>,
    /// A tag that they have.
    pub tag: Option<String>,
}

impl Filter {
    /// All jobs in this place.
    pub fn at(place: Place) -> Filter {
        Filter { place, text: None, tag: None }
    }

    /// Whoever looks for something looks for what came lately; a list shows what is next, or what ended last.
    fn is_newest_first(&self) -> bool {
        self.text.is_some() || matches!(self.place, Place::Failed | Place::Ended)
    }

    fn wants_all(&self) -> bool {
        self.text.is_none() && self.tag.is_none()
    }
}

/// Some jobs, and where to go on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// What to ask for the next page with; without one, this was the last.
    pub next: Option<String>,
    /// How many jobs were looked at for it.
    pub looked_at: usize,
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
        // The script takes what is empty for what nobody asks for; but a tag is never empty.
        if filter.tag.as_deref() == Some("") {
            return Ok(Page::default());
        }
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
        let next = stopped_at.map(|cursor| cursor.to_text());
        Ok(Page { jobs: search.jobs, next, looked_at: search.looked_at })
    }
}

impl Hive {
    /// Those of these places where there is something to look at.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn occupied<'q>(
        &self,
        places: &[(&'q QueueName, Place)],
    ) -> Result<Vec<(&'q QueueName, Place)>, Error> {
        let looks = places.iter().map(async |(queue, place)| {
            let key = match place {
                Place::Parked => keys::tenants(queue, &queue.group()),
                place => set_of(queue, *place),
            };
            let mut cmd = redis::cmd("EXISTS");
            cmd.arg(&*self.store().place(&key));
            let exists: bool = cmd.query_async(&mut self.store().connection()).await?;
            Ok::<_, Error>(exists.then_some((*queue, *place)))
        });
        let found = futures_util::future::try_join_all(looks).await?;
        Ok(found.into_iter().flatten().collect())
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

/// What one go has found.
struct Batch {
    looked_at: usize,
    bytes: usize,
    /// The last entry that was looked at.
    score: String,
    member: String,
    is_end: bool,
    jobs: Vec<Job>,
}

impl Search<'_> {
    fn is_over(&self) -> bool {
        self.jobs.len() >= self.max || self.looked_at >= LOOKED_AT_MAX || self.bytes >= BYTES_MAX
    }

    /// Goes through one sorted set. Returns where it stopped, unless that was the end.
    async fn set(&mut self, set: &Key, mut at: Cursor) -> Result<Option<Cursor>, Error> {
        loop {
            let batch = self.batch(set, &at).await?;
            self.looked_at += batch.looked_at;
            self.bytes += batch.bytes;
            self.jobs.extend(batch.jobs);
            if batch.is_end {
                return Ok(None);
            }
            (at.score, at.member) = (batch.score, batch.member);
            if self.is_over() {
                return Ok(Some(at));
            }
        }
    }

    async fn batch(&self, set: &Key, at: &Cursor) -> Result<Batch, Error> {
        let max = BATCH_JOBS.min(self.max - self.jobs.len());
        let call = self
            .hive
            .call(&LIST, &self.queue.group())
            .key("set", set)
            .arg("newest", u8::from(self.filter.is_newest_first()))
            .arg("max", max)
            .arg("score", at.score.as_str())
            .arg("member", at.member.as_str())
            .arg("looks", if self.filter.wants_all() { max } else { BATCH })
            .arg("bytes", BATCH_BYTES)
            .arg("wanted_tag", self.filter.tag.as_deref().unwrap_or_default())
            .arg("wanted_text", self.filter.text.as_deref().unwrap_or_default());
        let (looked_at, bytes, score, member, is_end, jobs) = call.run().await?;
        Ok(Batch { looked_at, bytes, score, member, is_end, jobs })
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
        cmd.arg(&*self.hive.store().place(&key)).arg(scan).arg("COUNT").arg(TENANTS);
        let (next, entries): (u64, Vec<(String, String)>) =
            cmd.query_async(&mut self.hive.store().connection()).await?;
        let mut tenants: Vec<String> = entries.into_iter().map(|(tenant, _)| tenant).collect();
        tenants.sort_unstable();
        Ok((next, tenants))
    }
}

#[cfg(test)]
mod tests;
