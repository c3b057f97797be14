//! Whole queues: which there are, pausing them, and what limits them.

use std::collections::BTreeMap;

use keyrack_store::Script;
use serde::{Deserialize, Serialize};

use super::{
    hive::Hive,
    keys::{self, QueueName, Tenant},
    submit::DELAY_MS_MAX,
};
use crate::Error;

static LIMITS: Script = bee_script!("limits.lua");
static DELETE: Script = bee_script!("delete.lua");

/// The most tenants of a queue that may have a limit of their own.
pub const TENANT_LIMITS_MAX: usize = 1000;
/// The longest time over which starts can be limited: a day.
pub const RATE_MS_MAX: u64 = 86_400_000;

/// In the settings, what stands before the name of a tenant with a limit of its own.
const OF_TENANT: &str = "tenant_concurrency:";

/// What may run at once or start in some time, and how much is kept of what has ended; what is not set is not limited, or
/// has its default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Limits {
    /// The most jobs that may run at once.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub concurrency: Option<u64>,
    /// How many jobs may start in some time.
    pub rate: Option<Rate>,
    /// The most jobs that may run at once for one tenant.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub tenant_concurrency: Option<u64>,
    /// The same for tenants who have a limit of their own, by name.
    pub tenants: BTreeMap<String, u64>,
    /// How many completed jobs are kept; 100,000 unless set. Beyond that, those that would expire first are deleted.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub completed_max: Option<u64>,
    /// How many failed jobs are kept; 100,000 unless set. Beyond that, those that failed first are deleted.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub failed_max: Option<u64>,
    /// For how many milliseconds failed jobs are kept that do not say so themselves; 7 days unless set, 0 for as long as
    /// they would be if they were completed.
    pub failed_ttl_ms: Option<u64>,
}

/// A number of starts in some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Rate {
    /// So many jobs may start
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub max: u64,
    /// in so many milliseconds.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub per_ms: u64,
}

impl Limits {
    /// Reads stored settings; what makes no sense is no limit.
    pub(super) fn from_settings(settings: &BTreeMap<String, String>) -> Limits {
        let number = |name: &str| settings.get(name).and_then(|text| text.parse::<u64>().ok());
        let rate = number("rate_max").zip(number("rate_ms"));
        let tenants = settings.iter().filter_map(|(name, value)| {
            Some((name.strip_prefix(OF_TENANT)?.to_owned(), value.parse().ok()?))
        });
        Limits {
            concurrency: number("concurrency"),
            rate: rate.map(|(max, per_ms)| Rate { max, per_ms }),
            tenant_concurrency: number("tenant_concurrency"),
            tenants: tenants.collect(),
            completed_max: number("completed_max"),
            failed_max: number("failed_max"),
            failed_ttl_ms: number("failed_ttl_ms"),
        }
    }

    fn check(&self) -> Result<(), Error> {
        let at_least_1 = |field, limit: Option<u64>| match limit {
            Some(0) => Err(Error::invalid(
                field,
                "0; give at least 1, leave it out for no limit, or pause the queue",
            )),
            _ => Ok(()),
        };
        at_least_1("concurrency", self.concurrency)?;
        at_least_1("tenant_concurrency", self.tenant_concurrency)?;
        at_least_1("completed_max", self.completed_max)?;
        at_least_1("failed_max", self.failed_max)?;
        if self.failed_ttl_ms.is_some_and(|ttl| ttl as f64 > DELAY_MS_MAX) {
            let reason = format!("more than {DELAY_MS_MAX} milliseconds");
            return Err(Error::invalid("failed_ttl_ms", reason));
        }
        at_least_1("rate.max", self.rate.map(|rate| rate.max))?;
        if let Some(Rate { per_ms, .. }) = self.rate
            && !(1..=RATE_MS_MAX).contains(&per_ms)
        {
            let reason = format!("{per_ms}; give 1 to {RATE_MS_MAX} milliseconds");
            return Err(Error::invalid("rate.per_ms", reason));
        }
        if self.tenants.len() > TENANT_LIMITS_MAX {
            let reason =
                format!("{} of them; at most {TENANT_LIMITS_MAX} are taken", self.tenants.len());
            return Err(Error::invalid("tenants", reason));
        }
        for (tenant, limit) in &self.tenants {
            Tenant::new(tenant.as_str())?;
            at_least_1("tenants", Some(*limit))?;
        }
        Ok(())
    }

    /// Names and numbers as they are stored.
    fn to_settings(&self) -> Vec<String> {
        let numbers = [
            ("concurrency", self.concurrency),
            ("rate_max", self.rate.map(|rate| rate.max)),
            ("rate_ms", self.rate.map(|rate| rate.per_ms)),
            ("tenant_concurrency", self.tenant_concurrency),
            ("completed_max", self.completed_max),
            ("failed_max", self.failed_max),
            ("failed_ttl_ms", self.failed_ttl_ms),
        ];
        let named = numbers.into_iter().filter_map(|(name, n)| Some((name.to_owned(), n?)));
        let own = self.tenants.iter().map(|(tenant, n)| (format!("{OF_TENANT}{tenant}"), *n));
        named.chain(own).flat_map(|(name, n)| [name, n.to_string()]).collect()
    }
}

impl Hive {
    /// The names of all queues that keyrack has seen, in order.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn queues(&self) -> Result<Vec<QueueName>, Error> {
        let mut cmd = redis::cmd("SMEMBERS");
        cmd.arg(&*self.store().place(&keys::queues()));
        let names: Vec<String> = cmd.query_async(&mut self.store().connection()).await?;
        let mut queues: Vec<_> =
            names.into_iter().filter_map(|name| QueueName::new(name).ok()).collect();
        queues.sort_unstable();
        Ok(queues)
    }

    /// Whether there is such a queue: keyrack has seen it, or a Node hive has left something in it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn has_queue(&self, queue: &QueueName) -> Result<bool, Error> {
        let mut cmd = redis::cmd("SISMEMBER");
        cmd.arg(&*self.store().place(&keys::queues())).arg(queue.as_str());
        if cmd.query_async(&mut self.store().connection()).await? {
            return Ok(true);
        }
        let group = queue.group();
        let mut cmd = redis::cmd("EXISTS");
        for key in [keys::queue, keys::delayed, keys::expires, keys::locks, keys::bees] {
            cmd.arg(&*self.store().place(&key(queue, &group)));
        }
        let found: u64 = cmd.query_async(&mut self.store().connection()).await?;
        if found > 0 {
            self.list_queue(queue).await?;
        }
        Ok(found > 0)
    }

    /// Fails when there is no such queue.
    ///
    /// # Errors
    /// [`Error::NoSuchQueue`], or when the store fails.
    pub async fn check_queue(&self, queue: &QueueName) -> Result<(), Error> {
        if self.has_queue(queue).await? {
            return Ok(());
        }
        let others = self.queues().await?;
        let similar = most_similar(queue.as_str(), others.iter().map(QueueName::as_str));
        Err(Error::NoSuchQueue { queue: queue.to_string(), similar: similar.map(Into::into) })
    }

    /// Lets no more jobs of the queue start. Those that run go on; Node workers do not look at it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn pause(&self, queue: &QueueName) -> Result<(), Error> {
        self.list_queue(queue).await?;
        let mut cmd = redis::cmd("HSET");
        cmd.arg(&*self.store().place(&keys::settings(queue, &queue.group()))).arg("paused").arg(1);
        Ok(cmd.query_async(&mut self.store().connection()).await?)
    }

    /// Lets jobs start again, and wakes idle workers.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn resume(&self, queue: &QueueName) -> Result<(), Error> {
        let mut cmd = redis::cmd("HDEL");
        cmd.arg(&*self.store().place(&keys::settings(queue, &queue.group()))).arg("paused");
        let () = cmd.query_async(&mut self.store().connection()).await?;
        let message = serde_json::json!({"type": "resumed", "jid": "", "queue": queue.as_str()});
        let channel = keys::queue_events(queue, &queue.group());
        self.store().publish(&channel, message.to_string()).await?;
        Ok(())
    }

    /// Replaces the limits of a queue, and wakes idle workers.
    ///
    /// # Errors
    /// When a limit makes no sense, or when the store fails.
    pub async fn set_limits(&self, queue: &QueueName, limits: &Limits) -> Result<(), Error> {
        limits.check()?;
        self.list_queue(queue).await?;
        let call = self.call_on_queue(&LIMITS, queue).args("limits", limits.to_settings());
        call.run::<()>().await?;
        Ok(())
    }

    /// The limits of a queue.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn limits(&self, queue: &QueueName) -> Result<Limits, Error> {
        let mut cmd = redis::cmd("HGETALL");
        cmd.arg(&*self.store().place(&keys::settings(queue, &queue.group())));
        let settings = cmd.query_async(&mut self.store().connection()).await?;
        Ok(Limits::from_settings(&settings))
    }

    /// Forgets a queue, its settings and its counters, if no job is in it.
    ///
    /// # Errors
    /// [`Error::QueueNotEmpty`], or when the store fails.
    pub async fn delete_queue(&self, queue: &QueueName) -> Result<(), Error> {
        // Off the list first: were it last, a job that comes in between would be in a queue nobody knows of.
        self.unlist_queue(queue).await?;
        let left: u64 = self.call_on_queue(&DELETE, queue).run().await?;
        if left > 0 {
            self.list_queue(queue).await?;
            return Err(Error::QueueNotEmpty { queue: queue.to_string(), left });
        }
        Ok(())
    }
}

/// The name that is most similar to this one: at most a third of its letters have to be changed, or it begins alike.
fn most_similar<'a>(name: &str, others: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let changes_max = (name.chars().count() / 3).max(1);
    let scored = others.map(|other| (changes_between(name, other), other));
    scored
        .filter(|(changes, other)| *changes <= changes_max || other.starts_with(name))
        .min()
        .map(|(_, other)| other)
}

/// How many letters have to be changed, added or left out to make one text of the other.
fn changes_between(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (n, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = n + 1;
        for (at, other) in b.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[at + 1];
            row[at + 1] = changed.min(row[at] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests;
