//! Which job stands for a submission, by what was submitted before.

use std::{collections::BTreeMap, time::Duration};

use keyrack_jobs::bee::{SubmitOutcome, Unique};

use super::{
    facts::{Facts, Place},
    random::Random,
    seen::Scores,
    steps::Request,
};

/// When the sweep looks again at an entry whose job has not ended.
const LOOK_MS: u64 = 600_000;

/// Submissions that have something in common are for the same job, for some time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    by: By,
    scope: Scope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Key(&'static str),
    Args,
    Id,
}

#[derive(Debug, Clone, Copy)]
enum Scope {
    Started,
    Ended,
    For(u64),
    Throttle(u64),
    Debounce { quiet: u64, longest: u64 },
    Fold(u64),
}

impl Rule {
    pub(super) fn new(random: &mut Random) -> Rule {
        let quiet = random.pick(&[1, 900, 8_000]);
        let longest = quiet * random.pick(&[1, 2, 5]);
        let time = random.pick(&[40, 3_000, 100_000]);
        let scopes = [
            Scope::Started,
            Scope::Ended,
            Scope::For(time),
            Scope::Throttle(time),
            Scope::Debounce { quiet, longest },
            Scope::Debounce { quiet, longest },
            Scope::Fold(time),
            Scope::Fold(time),
        ];
        let of_ids = [Scope::Ended, Scope::For(time), Scope::Throttle(time)];
        let by = random.pick(&[By::Key("one"), By::Key("two"), By::Args, By::Id]);
        let scopes = if by == By::Id { &of_ids[..] } else { &scopes };
        Rule { by, scope: random.pick(scopes) }
    }

    pub(super) fn is_by_id(self) -> bool {
        self.by == By::Id
    }

    /// Whether it says itself when the job runs.
    pub(super) fn says_when(self) -> bool {
        matches!(self.scope, Scope::Debounce { .. } | Scope::Fold(_))
    }

    pub(super) fn unique(self) -> Unique {
        let ms = Duration::from_millis;
        let unique = match self.by {
            By::Key(key) => Unique::by_key(key),
            By::Args => Unique::by_args(),
            By::Id => Unique::by_id(),
        };
        match self.scope {
            Scope::Started => unique.until_started(),
            Scope::Ended => unique.until_ended(),
            Scope::For(time) => unique.for_time(ms(time)),
            Scope::Throttle(time) => unique.throttle(ms(time)),
            Scope::Debounce { quiet, longest } => unique.debounce(ms(quiet), ms(longest)),
            Scope::Fold(time) => unique.throttle_folded(ms(time)),
        }
    }
}

/// Queue, tenant, and what the submissions have in common.
pub(super) type EntryId = (usize, Option<&'static str>, Common);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Common {
    Key(&'static str),
    Args(u8),
}

/// The job that stands for others.
#[derive(Debug, Clone)]
pub(super) struct UniqueEntry {
    jid: String,
    at: u64,
    /// The job that all others in its time were folded into.
    next: Option<String>,
    look_at: u64,
}

impl Facts {
    /// Submits a job, unless another one stands for it. Returns which one does, and what has become of the submission.
    pub(super) fn submit_unique(
        &mut self,
        jid: String,
        mut asked: Request,
        after: &[String],
        parent: Option<String>,
    ) -> (String, SubmitOutcome) {
        if let Some(rule) = asked.unique {
            let common = match rule.by {
                By::Key(key) => Common::Key(key),
                By::Args => Common::Args(asked.data),
                By::Id => return self.submit_id(jid, asked, after, rule.scope),
            };
            let id = (asked.queue, asked.tenant, common);
            let found = self.unique.get(&id).cloned();
            let stood = match rule.scope {
                Scope::Debounce { quiet, longest } => {
                    self.debounce(found, &mut asked, quiet, longest)
                }
                Scope::Fold(time) => match self.fold(found, &jid, &mut asked, time) {
                    Folded::Into(other) => Some((other, SubmitOutcome::Replaced)),
                    Folded::Next(entry) => {
                        self.unique.insert(id, entry);
                        self.submit(jid.clone(), asked, after, parent);
                        return (jid, SubmitOutcome::Created);
                    }
                    Folded::First => None,
                },
                _ => found
                    .filter(|entry| self.stands(&entry.jid, entry.at, rule.scope))
                    .map(|entry| (entry.jid, SubmitOutcome::Existing)),
            };
            if let Some(stood) = stood {
                return stood;
            }
            let kept = match rule.scope {
                Scope::For(time) | Scope::Throttle(time) | Scope::Fold(time) => time,
                _ => LOOK_MS,
            };
            let (at, look_at) = (self.now, self.now + kept);
            self.unique.insert(id, UniqueEntry { jid: jid.clone(), at, next: None, look_at });
        }
        self.submit(jid.clone(), asked, after, parent);
        (jid, SubmitOutcome::Created)
    }

    /// The job under an id stands for others of this id. When it has ended, the next one takes its
    /// place.
    fn submit_id(
        &mut self,
        jid: String,
        asked: Request,
        after: &[String],
        scope: Scope,
    ) -> (String, SubmitOutcome) {
        let mut attempts = 0;
        if let Some(job) = self.jobs.get(&jid) {
            if !job.place.has_ended() || self.stands(&jid, job.submitted_at, scope) {
                return (jid, SubmitOutcome::Existing);
            }
            attempts = job.attempts;
            self.die(&jid, Place::Expired);
            self.jobs.remove(&jid);
        }
        self.submit(jid.clone(), asked, after, None);
        // Its attempts count on, but its history begins anew.
        let job = self.job(&jid);
        (job.attempts, job.unseen) = (attempts, attempts);
        (jid, SubmitOutcome::Created)
    }

    /// A job has other arguments now: it does not stand for those who submit the old ones.
    pub(super) fn forget_args(&mut self, jid: &str) {
        let asked = &self.jobs[jid].asked;
        let id = (asked.queue, asked.tenant, Common::Args(asked.data));
        let Some(entry) = self.unique.get_mut(&id) else { return };
        if entry.jid == jid {
            self.unique.remove(&id);
        } else if entry.next.as_deref() == Some(jid) {
            entry.next = None;
        }
    }

    fn debounce(
        &mut self,
        found: Option<UniqueEntry>,
        asked: &mut Request,
        quiet: u64,
        longest: u64,
    ) -> Option<(String, SubmitOutcome)> {
        if let Some(entry) = found.filter(|entry| self.is_unstarted(&entry.jid)) {
            let due = (self.now + quiet).min(entry.at + longest);
            self.take_over(&entry.jid, asked.data, due);
            return Some((entry.jid, SubmitOutcome::Replaced));
        }
        asked.delay = quiet;
        None
    }

    fn fold(
        &mut self,
        found: Option<UniqueEntry>,
        jid: &str,
        asked: &mut Request,
        time: u64,
    ) -> Folded {
        let Some(mut entry) = found else { return Folded::First };
        if let Some(next) = entry.next.clone()
            && self.now >= entry.at + time
        {
            entry = UniqueEntry { jid: next, at: entry.at + time, next: None, ..entry };
        }
        let over = entry.at + time;
        if self.now >= over || (entry.next.is_none() && self.is_canceled(&entry.jid)) {
            return Folded::First;
        }
        match entry.next.take().filter(|next| self.is_unstarted(next)) {
            Some(next) => {
                self.take_over(&next, asked.data, over);
                Folded::Into(next)
            }
            None => {
                asked.delay = over - self.now;
                Folded::Next(UniqueEntry { next: Some(jid.into()), look_at: over + time, ..entry })
            }
        }
    }

    fn stands(&self, jid: &str, submitted_at: u64, scope: Scope) -> bool {
        let place = self.jobs.get(jid).map(|job| &job.place);
        let runs = matches!(place, Some(Place::Running { .. } | Place::Reserved { .. }));
        let waits = place.is_some_and(|place| !place.has_ended() && !runs);
        match scope {
            _ if self.is_canceled(jid) => false,
            Scope::For(time) | Scope::Throttle(time) => self.now < submitted_at + time,
            Scope::Started => waits,
            _ => waits || runs,
        }
    }

    fn is_canceled(&self, jid: &str) -> bool {
        self.jobs.get(jid).is_some_and(|job| job.place == Place::Canceled)
    }

    fn is_unstarted(&self, jid: &str) -> bool {
        let Some(job) = self.jobs.get(jid) else { return false };
        let waits = matches!(job.place, Place::Ready | Place::Delayed { retried: false, .. });
        waits && job.attempts == 0 && job.retries == 0
    }

    /// A job that has not started runs with other arguments, and perhaps later.
    fn take_over(&mut self, jid: &str, data: u8, due: u64) {
        let now = self.now;
        let job = self.job(jid);
        job.asked.data = data;
        match job.place {
            Place::Ready if due <= now => {}
            _ => job.place = Place::Delayed { due: due.max(now), retried: false },
        }
    }

    /// What a sweep forgets.
    pub(super) fn sweep_unique(&mut self, queue: usize) {
        let (now, jobs) = (self.now, &self.jobs);
        let is_alive = |jid: &String| jobs.get(jid).is_some_and(|job| !job.place.has_ended());
        self.unique.retain(|(of, ..), entry| {
            if *of != queue || entry.look_at > now {
                return true;
            }
            entry.look_at = now + LOOK_MS;
            is_alive(&entry.jid) || entry.next.as_ref().is_some_and(is_alive)
        });
    }

    /// The entries of a queue as they stand in the store, and when they are looked at.
    pub(super) fn unique_entries(&self, queue: usize) -> (BTreeMap<String, String>, Scores) {
        let (mut entries, mut looks) = (BTreeMap::new(), Scores::new());
        let of_queue = self.unique.iter().filter(|((of, ..), _)| *of == queue);
        for ((_, tenant, common), entry) in of_queue {
            let field = match common {
                Common::Key(key) => serde_json::json!(["key", key, tenant]),
                Common::Args(data) => {
                    let digest = sha1_smol::Sha1::from(format!("[{data}]")).digest().to_string();
                    serde_json::json!(["args", digest, tenant])
                }
            };
            let field = field.to_string();
            let next = entry.next.as_ref().map(|next| format!(r#","next":"{next}""#));
            let next = next.unwrap_or_default();
            let text = format!(r#"{{"jid":"{}","at":{}{next}}}"#, entry.jid, entry.at);
            entries.insert(field.clone(), text);
            looks.insert(field, entry.look_at as f64);
        }
        (entries, looks)
    }
}

/// What becomes of a job that may be folded into another one.
enum Folded {
    First,
    Next(UniqueEntry),
    Into(String),
}
