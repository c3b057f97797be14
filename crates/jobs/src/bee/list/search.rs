//! One call's search: a script says which jobs stand where, and what decides about them is read and judged here. Reading
//! in pipelines costs the store half of what a script would take to look, and lets it serve others in between.

use futures_util::{TryStreamExt as _, stream::FuturesOrdered};
use keyrack_keys::Key;

use super::{Filter, JobState, LIST, cursor::Cursor, set_of};
use crate::{
    Error,
    bee::{
        hive::Hive,
        job::Job,
        keys::{self, Jid, QueueName, Tenant},
    },
};

/// Jobs that one call looks at for a page, and bytes of them.
pub(super) const LOOKED_AT_MAX: usize = 2000;
const BYTES_MAX: usize = 8 * 1024 * 1024;
/// Jobs that are read in one pipeline; fewer when so many would probably be more than the bytes.
const PIPELINE: usize = 200;
const PIPELINE_BYTES: usize = 128 * 1024;
/// What a job is taken to have before the first was seen.
const BYTES_EXPECTED: usize = 64 * 1024;
/// Pipelines at once: the store answers some while others are judged.
const PIPELINES: usize = 6;
/// Tenants that are read in one go.
const TENANTS: usize = 20;
/// Tenants that one call looks at.
const TENANTS_MAX: usize = 200;

pub(super) struct Search<'a> {
    hive: &'a Hive,
    queue: &'a QueueName,
    filter: &'a Filter,
    max: usize,
    pub(super) jobs: Vec<Job>,
    pub(super) looked_at: usize,
    bytes: usize,
}

/// Some entries of a sorted set.
struct Entries {
    jids: Vec<Jid>,
    /// Behind the last of them.
    end: Cursor,
    is_end: bool,
}

/// What decides whether a job is wanted.
type Marks = (Option<Vec<u8>>, Option<Vec<u8>>, Option<Vec<u8>>);

impl<'a> Search<'a> {
    pub(super) fn new(
        hive: &'a Hive,
        queue: &'a QueueName,
        filter: &'a Filter,
        max: usize,
    ) -> Search<'a> {
        Search { hive, queue, filter, max, jobs: Vec::new(), looked_at: 0, bytes: 0 }
    }

    /// Goes through a place. Returns where it stopped, unless that was the end.
    pub(super) async fn run(&mut self, from: Cursor) -> Result<Option<Cursor>, Error> {
        match self.filter.place {
            JobState::Parked => self.parked(from).await,
            place => self.set(&set_of(self.queue, place), from).await,
        }
    }

    fn is_over(&self) -> bool {
        self.jobs.len() >= self.max || self.looked_at >= LOOKED_AT_MAX || self.bytes >= BYTES_MAX
    }

    /// Goes through one sorted set. Returns where it stopped, unless that was the end.
    async fn set(&mut self, set: &Key, mut at: Cursor) -> Result<Option<Cursor>, Error> {
        loop {
            let entries = self.entries(set, &at).await?;
            let seen = self.look_at(&entries.jids).await?;
            if seen < entries.jids.len() {
                return self.behind(set, &entries.jids[..seen], at).await.map(Some);
            }
            if entries.is_end {
                return Ok(None);
            }
            at = entries.end;
            if self.is_over() {
                return Ok(Some(at));
            }
        }
    }

    async fn entries(&self, set: &Key, at: &Cursor) -> Result<Entries, Error> {
        let room = if self.filter.wants_all() { self.max - self.jobs.len() } else { LOOKED_AT_MAX };
        let call = self
            .hive
            .call(&LIST, &self.queue.group())
            .key("set", set)
            .arg("newest", u8::from(self.filter.is_newest_first()))
            .arg("max", room.min(LOOKED_AT_MAX - self.looked_at))
            .arg("score", at.score.as_str())
            .arg("member", at.member.as_str());
        let (members, score, is_end): (Vec<String>, String, bool) = call.run().await?;
        // What is no id is the name of no job.
        let jids = members.iter().filter_map(|id| Jid::new(id.as_str()).ok()).collect();
        let member = members.into_iter().last().unwrap_or_default();
        Ok(Entries { jids, end: Cursor { score, member, ..at.clone() }, is_end })
    }

    /// The place behind those that were seen: what is no longer there of them cannot come again.
    async fn behind(&self, set: &Key, seen: &[Jid], from: Cursor) -> Result<Cursor, Error> {
        let mut cmd = redis::cmd("ZMSCORE");
        cmd.arg(&*self.hive.store().place(set))
            .arg(seen.iter().map(Jid::as_str).collect::<Vec<_>>());
        let scores: Vec<Option<String>> =
            cmd.query_async(&mut self.hive.store().connection()).await?;
        let mut backwards = scores.into_iter().zip(seen).rev();
        Ok(match backwards.find_map(|(score, jid)| Some((score?, jid))) {
            Some((score, jid)) => Cursor { score, member: jid.to_string(), ..from },
            None => from,
        })
    }

    /// Takes those of these jobs that are wanted, until there are enough. Returns how many it has looked at.
    async fn look_at(&mut self, jids: &[Jid]) -> Result<usize, Error> {
        let before = self.looked_at;
        if !self.filter.wants_all() {
            let wanted = self.wanted_of(jids).await?;
            self.take(&wanted).await?;
            return Ok(self.looked_at - before);
        }
        let mut rest = jids;
        while !rest.is_empty() && !self.is_over() {
            let (some, others) = rest.split_at(rest.len().min(self.pipeline()));
            self.take(some).await?;
            self.looked_at += some.len();
            rest = others;
        }
        Ok(self.looked_at - before)
    }

    async fn take(&mut self, wanted: &[Jid]) -> Result<(), Error> {
        let jobs = self.hive.jobs(wanted).await?;
        // An entry without a job is about to be dropped by the next claim or sweep.
        for job in jobs.into_iter().flatten() {
            self.bytes += job.data().len() + job.result().map_or(0, str::len);
            self.jobs.push(job);
        }
        Ok(())
    }

    /// The wanted ones of these jobs, until there are enough.
    async fn wanted_of(&mut self, jids: &[Jid]) -> Result<Vec<Jid>, Error> {
        let (room, mut wanted) = (self.max - self.jobs.len(), Vec::new());
        let (mut unread, mut reads) = (jids, FuturesOrdered::new());
        loop {
            while reads.len() < PIPELINES && !unread.is_empty() {
                let (some, rest) = unread.split_at(unread.len().min(self.pipeline()));
                reads.push_back(read(self.hive, self.queue, some));
                unread = rest;
            }
            let Some(read) = reads.try_next().await? else { return Ok(wanted) };
            for (jid, (data, tags, error)) in read {
                let (data, tags) = (data.unwrap_or_default(), tags.unwrap_or_default());
                let error = error.unwrap_or_default();
                self.looked_at += 1;
                self.bytes += data.len();
                if self.filter.is_met_by(jid.as_str(), &data, &tags, &error) {
                    wanted.push(jid.clone());
                }
                if wanted.len() == room || self.is_over() {
                    return Ok(wanted);
                }
            }
        }
    }

    /// How many jobs to read in one go, by the size of those that were.
    fn pipeline(&self) -> usize {
        let each = match self.looked_at {
            0 => BYTES_EXPECTED,
            looked_at => self.bytes / looked_at + 1,
        };
        (PIPELINE_BYTES / each).clamp(1, PIPELINE)
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

/// Reads what decides about these jobs.
async fn read<'j>(
    hive: &Hive,
    queue: &QueueName,
    jids: &'j [Jid],
) -> Result<Vec<(&'j Jid, Marks)>, Error> {
    let (group, store) = (queue.group(), hive.store());
    let mut reads = redis::pipe();
    for jid in jids {
        let key = keys::job(jid, &group);
        reads.cmd("HMGET").arg(&*store.place(&key)).arg("data").arg("tags").arg("errorGroup");
    }
    let marks: Vec<Marks> = reads.query_async(&mut store.connection()).await?;
    Ok(jids.iter().zip(marks).collect())
}
