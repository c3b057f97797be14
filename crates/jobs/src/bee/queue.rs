//! Whole queues: which there are, pausing them, and what limits them.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_store::Script;
use serde::{Deserialize, Serialize};

use super::{
    backoff::{Backoff, BackoffKind},
    hive::Hive,
    job::DEFAULT_RETRY_DELAY_MS,
    keys::{self, LimitName, QueueName, Tenant},
    submit::{check_time, check_ttl},
};
use crate::Error;

static LIMITS: Script = bee_script!("limits.lua");
static DELETE: Script = bee_script!("delete.lua");

/// The most tenants of a queue that may have a limit of their own.
pub const TENANT_LIMITS_MAX: usize = 1000;
/// The longest time over which starts can be limited: a day.
pub const RATE_MS_MAX: u64 = 86_400_000;

/// The most limits of a queue that jobs can name.
pub const NAMED_LIMITS_MAX: usize = 1000;

/// The most turns that a tenant can have for one of others: so many of its jobs stand in the working queue.
pub const TENANT_WEIGHT_MAX: u64 = 100;

/// In the settings, what stands before the name of a tenant with a limit of its own.
const OF_TENANT: &str = "tenant_concurrency:";
const RATE_MAX_OF: &str = "tenant_rate_max:";
const RATE_MS_OF: &str = "tenant_rate_ms:";
const WEIGHT_OF: &str = "tenant_weight:";
const PAUSED_OF: &str = "tenant_paused:";
/// The same before the name of a limit that jobs name.
const CONCURRENCY_OF_LIMIT: &str = "limit_concurrency:";
const RATE_MAX_OF_LIMIT: &str = "limit_rate_max:";
const RATE_MS_OF_LIMIT: &str = "limit_rate_ms:";

/// What may run at once or start in some time, and how much is kept of what has ended; what is not set is not limited, or
/// has its default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    /// How many jobs of one tenant may start in some time.
    pub tenant_rate: Option<Rate>,
    /// The same for tenants who have a rate of their own, by name.
    pub tenant_rates: BTreeMap<String, Rate>,
    /// How many turns a tenant has for one of others, by name; 1 unless set, 100 at most.
    pub tenant_weights: BTreeMap<String, u64>,
    /// Tenants of whom no more jobs start.
    pub paused_tenants: BTreeSet<String>,
    /// Limits that jobs name, by name. They count the jobs that name them, besides the limits above.
    pub named: BTreeMap<String, NamedLimit>,
    /// How many completed jobs are kept; 100,000 unless set. Beyond that, those that would expire first are deleted.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub completed_max: Option<u64>,
    /// How many failed jobs are kept; 100,000 unless set. Beyond that, those that failed first are deleted.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub failed_max: Option<u64>,
    /// For how many milliseconds failed jobs are kept that do not say so themselves; 7 days unless set, 0 for as long as
    /// they would be if they were completed.
    pub failed_ttl_ms: Option<u64>,
    /// How often jobs are tried again that do not say so themselves; 5 unless set.
    pub retries: Option<u32>,
    /// How long jobs that do not say so themselves wait before they are tried again; half a minute unless set.
    pub backoff: Option<Backoff>,
    /// How many milliseconds an attempt may take at jobs that do not say so themselves; as their worker says unless set.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub timeout_ms: Option<u64>,
    /// The time in milliseconds within which 95 % of the jobs should start: the target of the number of workers. Default: 60,000.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub wait_target_ms: Option<u64>,
}

/// A limit that jobs name. What is not set is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NamedLimit {
    /// The most jobs with this name that may run at once.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub concurrency: Option<u64>,
    /// How many jobs with this name may start in some time.
    pub rate: Option<Rate>,
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
        let tenant_rate = number("tenant_rate_max").zip(number("tenant_rate_ms"));
        let tenants = of_names(settings, OF_TENANT);
        let tenant_rates =
            of_names(settings, RATE_MAX_OF).into_iter().filter_map(|(tenant, max)| {
                let per_ms = number(&format!("{RATE_MS_OF}{tenant}"))?;
                Some((tenant, Rate { max, per_ms }))
            });
        Limits {
            concurrency: number("concurrency"),
            rate: rate.map(|(max, per_ms)| Rate { max, per_ms }),
            tenant_concurrency: number("tenant_concurrency"),
            tenants,
            tenant_rate: tenant_rate.map(|(max, per_ms)| Rate { max, per_ms }),
            tenant_rates: tenant_rates.collect(),
            tenant_weights: of_names(settings, WEIGHT_OF),
            paused_tenants: of_names(settings, PAUSED_OF).into_keys().collect(),
            named: named_limits(settings),
            completed_max: number("completed_max"),
            failed_max: number("failed_max"),
            failed_ttl_ms: number("failed_ttl_ms"),
            retries: number("retries").and_then(|retries| retries.try_into().ok()),
            backoff: backoff_from(settings),
            timeout_ms: number("timeout_ms"),
            wait_target_ms: number("wait_target_ms"),
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
        check_ttl("failed_ttl_ms", self.failed_ttl_ms)?;
        if let Some(backoff) = &self.backoff {
            backoff.check(["backoff.delay_ms", "backoff.max_ms", "backoff.jitter"])?;
        }
        check_time("timeout_ms", self.timeout_ms)?;
        check_time("wait_target_ms", self.wait_target_ms)?;
        check_rate(["rate.max", "rate.per_ms"], "", self.rate)?;
        check_rate(["tenant_rate.max", "tenant_rate.per_ms"], "", self.tenant_rate)?;
        self.check_tenants()?;
        self.check_named()
    }

    fn check_named(&self) -> Result<(), Error> {
        if self.named.len() > NAMED_LIMITS_MAX {
            let reason =
                format!("{} of them; at most {NAMED_LIMITS_MAX} are taken", self.named.len());
            return Err(Error::invalid("named", reason));
        }
        for (name, limit) in &self.named {
            Error::named("named", LimitName::new(name.as_str()))?;
            if limit.concurrency == Some(0) {
                let reason =
                    format!("0 for \"{name}\"; give at least 1, or leave it out for no limit");
                return Err(Error::invalid("named.concurrency", reason));
            }
            check_rate(["named.rate.max", "named.rate.per_ms"], name, limit.rate)?;
        }
        Ok(())
    }

    fn check_tenants(&self) -> Result<(), Error> {
        let named: [(_, Vec<&String>); 4] = [
            ("tenants", self.tenants.keys().collect()),
            ("tenant_rates", self.tenant_rates.keys().collect()),
            ("tenant_weights", self.tenant_weights.keys().collect()),
            ("paused_tenants", self.paused_tenants.iter().collect()),
        ];
        for (field, names) in named {
            if names.len() > TENANT_LIMITS_MAX {
                let reason =
                    format!("{} of them; at most {TENANT_LIMITS_MAX} are taken", names.len());
                return Err(Error::invalid(field, reason));
            }
            for name in names {
                Error::named(field, Tenant::new(name.as_str()))?;
            }
        }
        if let Some((name, limit)) = self.tenants.iter().find(|(_, limit)| **limit == 0) {
            let reason = format!(
                "{limit} for \"{name}\"; give at least 1, leave it out for no limit, or pause the tenant"
            );
            return Err(Error::invalid("tenants", reason));
        }
        for (name, rate) in &self.tenant_rates {
            check_rate(["tenant_rates.max", "tenant_rates.per_ms"], name, Some(*rate))?;
        }
        for (name, weight) in &self.tenant_weights {
            if !(1..=TENANT_WEIGHT_MAX).contains(weight) {
                let reason = format!("{weight} for \"{name}\"; give 1 to {TENANT_WEIGHT_MAX}");
                return Err(Error::invalid("tenant_weights", reason));
            }
        }
        Ok(())
    }

    /// Names and numbers as they are stored.
    fn to_settings(&self) -> Vec<String> {
        let has_rates = self.tenant_rate.is_some() || !self.tenant_rates.is_empty();
        let numbers = [
            ("concurrency", self.concurrency),
            ("rate_max", self.rate.map(|rate| rate.max)),
            ("rate_ms", self.rate.map(|rate| rate.per_ms)),
            ("tenant_concurrency", self.tenant_concurrency),
            ("tenant_rate_max", self.tenant_rate.map(|rate| rate.max)),
            ("tenant_rate_ms", self.tenant_rate.map(|rate| rate.per_ms)),
            ("tenant_rates", has_rates.then_some(1)),
            ("named_limits", (!self.named.is_empty()).then_some(1)),
            ("completed_max", self.completed_max),
            ("failed_max", self.failed_max),
            ("failed_ttl_ms", self.failed_ttl_ms),
            ("retries", self.retries.map(u64::from)),
            ("timeout_ms", self.timeout_ms),
            ("wait_target_ms", self.wait_target_ms),
        ];
        let named = numbers.into_iter().filter_map(|(name, n)| Some((name.to_owned(), n?)));
        let own = self.tenants.iter().map(|(tenant, n)| (format!("{OF_TENANT}{tenant}"), *n));
        let rates = self.tenant_rates.iter().flat_map(|(tenant, rate)| {
            [(RATE_MAX_OF, rate.max), (RATE_MS_OF, rate.per_ms)]
                .map(|(name, n)| (format!("{name}{tenant}"), n))
        });
        let weights = self.tenant_weights.iter();
        let weights = weights.map(|(tenant, n)| (format!("{WEIGHT_OF}{tenant}"), *n));
        let paused = self.paused_tenants.iter().map(|tenant| (format!("{PAUSED_OF}{tenant}"), 1));
        let own = own.chain(rates).chain(weights).chain(paused).chain(self.named_settings());
        let numbers = named.chain(own).flat_map(|(name, n)| [name, n.to_string()]);
        let waits = self.backoff.iter().flat_map(backoff_settings);
        numbers.chain(waits).collect()
    }

    fn named_settings(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        self.named.iter().flat_map(|(name, limit)| {
            let numbers = [
                (CONCURRENCY_OF_LIMIT, limit.concurrency),
                (RATE_MAX_OF_LIMIT, limit.rate.map(|rate| rate.max)),
                (RATE_MS_OF_LIMIT, limit.rate.map(|rate| rate.per_ms)),
            ];
            numbers.into_iter().filter_map(move |(field, n)| Some((format!("{field}{name}"), n?)))
        })
    }
}

/// The limits that jobs name, as they are stored.
fn named_limits(settings: &BTreeMap<String, String>) -> BTreeMap<String, NamedLimit> {
    let mut named: BTreeMap<String, NamedLimit> = BTreeMap::new();
    for (name, n) in of_names(settings, CONCURRENCY_OF_LIMIT) {
        named.entry(name).or_default().concurrency = Some(n);
    }
    let times = of_names(settings, RATE_MS_OF_LIMIT);
    for (name, max) in of_names(settings, RATE_MAX_OF_LIMIT) {
        let rate = times.get(&name).map(|per_ms| Rate { max, per_ms: *per_ms });
        named.entry(name).or_default().rate = rate;
    }
    named
}

/// The numbers that stand under a prefix, by what comes after it.
fn of_names(settings: &BTreeMap<String, String>, name: &str) -> BTreeMap<String, u64> {
    let own = settings.iter().filter_map(|(field, value)| {
        Some((field.strip_prefix(name)?.to_owned(), value.parse().ok()?))
    });
    own.collect()
}

/// The names are what the caller calls the two numbers, and who or what has the rate, if that is not the queue.
fn check_rate(
    [max, per_ms]: [&'static str; 2],
    whose: &str,
    rate: Option<Rate>,
) -> Result<(), Error> {
    let Some(rate) = rate else { return Ok(()) };
    let whose = if whose.is_empty() { String::new() } else { format!(" for \"{whose}\"") };
    if rate.max == 0 {
        let reason =
            format!("0{whose}; give at least 1, leave it out for no limit, or pause the queue");
        return Err(Error::invalid(max, reason));
    }
    if !(1..=RATE_MS_MAX).contains(&rate.per_ms) {
        let reason = format!("{} ms{whose}; give 1 to {RATE_MS_MAX} milliseconds", rate.per_ms);
        return Err(Error::invalid(per_ms, reason));
    }
    Ok(())
}

/// A backoff as it is stored.
fn backoff_settings(backoff: &Backoff) -> Vec<String> {
    let words = [
        ("backoff", Some(backoff.kind.to_string())),
        ("retry_delay_ms", Some(backoff.delay_ms.to_string())),
        ("retry_delay_max_ms", backoff.max_ms.map(|ms| ms.to_string())),
        ("retry_jitter", backoff.jitter.map(|share| share.to_string())),
    ];
    words.into_iter().filter_map(|(name, word)| Some([name.to_owned(), word?])).flatten().collect()
}

fn backoff_from(settings: &BTreeMap<String, String>) -> Option<Backoff> {
    let number = |name: &str| settings.get(name).and_then(|text| text.parse::<f64>().ok());
    let kind = settings.get("backoff").and_then(|word| word.parse::<BackoffKind>().ok())?;
    let delay_ms = number("retry_delay_ms").unwrap_or(DEFAULT_RETRY_DELAY_MS);
    let (max_ms, jitter) = (number("retry_delay_max_ms"), number("retry_jitter"));
    Some(Backoff { kind, delay_ms, max_ms, jitter })
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
