//! The quick way in, for jobs that ask for nothing special.
//!
//! Such a job needs no decision: its fields are known before the call, and so is its place in the queue, unless it has a
//! priority. So the server is handed the finished hash of each and their entries, and only placing those with a priority,
//! counting and announcing is left to a script, all in one transaction. That takes it half the time of building the hashes
//! in Lua.

use std::collections::BTreeMap;

use keyrack_keys::Layout;

use super::{
    super::{
        history::{entry, needs_no_escapes},
        keys,
    },
    ENTER, Hive, Prepared, QueueName,
};

impl Hive {
    /// Whether all of these can go the quick way. On a cluster none do: its client cannot follow a slot that moves
    /// under a transaction.
    pub(super) fn is_plain_batch(&self, jobs: &[Prepared]) -> bool {
        self.store().layout() == Layout::Documented
            && needs_no_escapes(self.id())
            && jobs.iter().all(Prepared::is_plain)
    }

    pub(super) async fn submit_plain(
        &self,
        queue: &QueueName,
        jobs: &[Prepared],
    ) -> Result<(), keyrack_store::Error> {
        let group = queue.group();
        let now = self.now_ms().to_string();
        let history = self.first_history(&now);
        let mut transaction = redis::pipe();
        transaction.atomic();
        for job in jobs {
            let key = keys::job(&job.jid, &group);
            let fields = [
                ("status", "queued"),
                ("history", &history),
                ("jid", job.jid.as_str()),
                ("queue", queue.as_str()),
                ("data", &job.data),
                ("options", &job.options),
                ("worker", ""),
                ("submitted", &now),
                ("retries", "0"),
                ("tags", &job.tags),
            ];
            transaction.cmd("HSET").arg(&*self.store().place(&key)).arg(&fields).ignore();
        }
        let jids: Vec<&str> = jobs.iter().map(|job| job.jid.as_str()).collect();
        let by_priority = by_priority(jobs);
        if let Some(jids) = by_priority.get(NO_PRIORITY) {
            let entries: Vec<(&str, &str)> = jids.iter().map(|jid| (now.as_str(), *jid)).collect();
            let key = keys::queue(queue, &group);
            transaction.cmd("ZADD").arg(&*self.store().place(&key)).arg(&entries).ignore();
        }
        let prioritized = by_priority
            .into_iter()
            .filter(|(priority, _)| priority != NO_PRIORITY)
            .flat_map(|(priority, jids)| [priority, jids.join(" ")])
            .collect::<Vec<_>>();
        self.call_on_queue(&ENTER, queue)
            .arg("now", &now)
            .arg("n_jobs", jids.len())
            .arg("jids", jids.join(" "))
            .args("prioritized", prioritized)
            .add_to(&mut transaction);
        let (): () = transaction.ignore().query_async(&mut self.store().connection()).await?;
        Ok(())
    }

    /// The history of a job that went into its queue at once.
    fn first_history(&self, now: &str) -> String {
        format!("[{},{}]", entry("submitted", now, self.id()), entry("queued", now, self.id()))
    }
}

/// The priority of a job that has none, as scripts get it.
const NO_PRIORITY: &str = "0";

fn by_priority(jobs: &[Prepared]) -> BTreeMap<String, Vec<&str>> {
    let mut by_priority = BTreeMap::<_, Vec<_>>::new();
    for job in jobs {
        // -0 is no priority either.
        let priority = if job.priority == 0.0 { 0.0 } else { job.priority };
        by_priority.entry(priority.to_string()).or_default().push(job.jid.as_str());
    }
    by_priority
}

impl Prepared {
    /// Whether nothing has to be looked up to store it: its id is new, and it goes into its queue at once.
    fn is_plain(&self) -> bool {
        self.is_fresh && self.tags == "[]" && self.rest.is_empty()
    }
}
