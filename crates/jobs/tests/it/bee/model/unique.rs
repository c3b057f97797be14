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

/// Submissions with the same key are for the same job, for some time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    key: &'static str,
    scope: Scope,
}

#[derive(Debug, Clone, Copy)]
enum Scope {
    Started,
    Ended,
    For(u64),
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
            Scope::Debounce { quiet, longest },
            Scope::Debounce { quiet, longest },
            Scope::Fold(time),
            Scope::Fold(time),
        ];
        Rule { key: random.pick(&["one", "two"]), scope: random.pick(&scopes) }
    }

    /// Whether it says itself when the job runs.
    pub(super) fn says_when(self) -> bool {
        matches!(self.scope, Scope::Debounce { .. } | Scope::Fold(_))
    }

    pub(super) fn unique(self) -> Unique {
        let (unique, ms) = (Unique::by_key(self.key), Duration::from_millis);
        match self.scope {
            Scope::Started => unique.until_started(),
            Scope::Ended => unique.until_ended(),
            Scope::For(time) => unique.for_time(ms(time)),
            Scope::Debounce { quiet, longest } => unique.debounce(ms(quiet), ms(longest)),
            Scope::Fold(time) => unique.throttle_folded(ms(time)),
        }
    }
}

/// Queue, tenant and key.
pub(super) type EntryId = (usize, Option<&'static str>, &'static str);

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
            let id = (asked.queue, asked.tenant, rule.key);
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
                    .filter(|entry| self.stands(entry, rule.scope))
                    .map(|entry| (entry.jid, SubmitOutcome::Existing)),
            };
            if let Some(stood) = stood {
                return stood;
            }
            let kept = match rule.scope {
                Scope::For(time) | Scope::Fold(time) => time,
                _ => LOOK_MS,
            };
            let (at, look_at) = (self.now, self.now + kept);
            self.unique.insert(id, UniqueEntry { jid: jid.clone(), at, next: None, look_at });
        }
        self.submit(jid.clone(), asked, after, parent);
        (jid, SubmitOutcome::Created)
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

    fn stands(&self, entry: &UniqueEntry, scope: Scope) -> bool {
        let place = self.jobs.get(&entry.jid).map(|job| &job.place);
        let runs = matches!(place, Some(Place::Running { .. } | Place::Reserved { .. }));
        let waits = place.is_some_and(|place| !place.has_ended() && !runs);
        match scope {
            _ if self.is_canceled(&entry.jid) => false,
            Scope::For(time) => self.now < entry.at + time,
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
        for ((_, tenant, key), entry) in self.unique.iter().filter(|((of, ..), _)| *of == queue) {
            let field = serde_json::json!(["key", key, tenant]).to_string();
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
