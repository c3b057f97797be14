//! `keyrack jobs limits`.

use std::{collections::BTreeMap, io::Write as _, str::FromStr, time::Duration};

use keyrack_format as format;
use keyrack_jobs::bee::{
    Limits, NamedLimit, Rate,
    keys::{LimitName, QueueName, Tenant},
};

use super::{
    backoff::{self, BackoffArgs},
    names, open,
};
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
#[command(after_help = "Without an option, prints the current limits. \"none\" removes a limit.")]
pub(super) struct Args {
    /// The queue
    #[arg(value_parser = names::queue)]
    queue: QueueName,
    /// Run at most N jobs at once
    #[arg(long, value_name = "N|none", allow_negative_numbers = true)]
    concurrency: Option<Setting<u64>>,
    /// Start at most N jobs per TIME, such as 10/1s
    #[arg(long, value_name = "N/TIME|none", allow_hyphen_values = true)]
    rate: Option<Setting<Starts>>,
    /// Run at most N jobs of one tenant at once
    #[arg(long, value_name = "N|none", allow_negative_numbers = true)]
    tenant_concurrency: Option<Setting<u64>>,
    /// Run at most N jobs of this tenant at once; can be repeated
    #[arg(long = "tenant", value_name = "NAME=N|none", value_parser = parse_tenant)]
    tenants: Vec<(Tenant, Setting<u64>)>,
    /// Start at most N jobs of one tenant per TIME; NAME=N/TIME for this tenant; can be repeated
    #[arg(long = "tenant-rate", value_name = "[NAME=]N/TIME|none", value_parser = parse_tenant_rate)]
    tenant_rates: Vec<(Option<Tenant>, Setting<Starts>)>,
    /// Give this tenant N turns for one of others; can be repeated [default: 1]
    #[arg(long = "tenant-weight", value_name = "NAME=N|none", value_parser = parse_tenant)]
    tenant_weights: Vec<(Tenant, Setting<u64>)>,
    /// Start no more jobs of this tenant; can be repeated
    #[arg(long = "pause-tenant", value_name = "NAME", value_parser = names::tenant)]
    pause_tenants: Vec<Tenant>,
    /// Start jobs of this tenant again; can be repeated
    #[arg(long = "resume-tenant", value_name = "NAME", value_parser = names::tenant)]
    resume_tenants: Vec<Tenant>,
    /// Run at most N, or start at most N per TIME, of the jobs that name this limit; can be repeated
    #[arg(long = "limit", value_name = "NAME=N|N/TIME|none", value_parser = parse_named)]
    named: Vec<(LimitName, NamedSetting)>,
    /// Keep at most N completed jobs; those that expire first are deleted first [default: 100000]
    #[arg(long, value_name = "N|none", allow_negative_numbers = true)]
    keep_completed: Option<Setting<u64>>,
    /// Keep at most N failed jobs; the oldest are deleted first [default: 100000]
    #[arg(long, value_name = "N|none", allow_negative_numbers = true)]
    keep_failed: Option<Setting<u64>>,
    /// Keep failed jobs for TIME, unless the job sets it; 0s: as long as completed jobs [default: 7d]
    #[arg(long, value_name = "TIME|none", allow_hyphen_values = true)]
    failed_ttl: Option<Setting<Ttl>>,
    /// Retry jobs N times after failures, unless the job sets it [default: 5]
    #[arg(long, value_name = "N|none", allow_negative_numbers = true)]
    retries: Option<Setting<u32>>,
    #[command(flatten)]
    backoff: BackoffArgs,
    /// Forget what the queue sets about the waits before retries
    #[arg(long, conflicts_with_all = ["retry_delay", "backoff", "retry_delay_max", "retry_jitter"])]
    no_backoff: bool,
    /// Stop attempts that take longer than TIME, unless the job sets it [default: --timeout of the worker]
    #[arg(long, value_name = "TIME|none", allow_hyphen_values = true)]
    timeout: Option<Setting<Ttl>>,
    /// Start 95 % of the jobs within TIME; "jobs scaling" says how many workers that takes [default: 1m]
    #[arg(long, value_name = "TIME|none", allow_hyphen_values = true)]
    wait_target: Option<Setting<Ttl>>,
    /// Create the queue if it does not exist
    #[arg(long)]
    create: bool,
}

/// A time for which jobs are kept.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ttl(u64);

impl Typed for Ttl {
    fn typed(text: &str) -> Result<Ttl, String> {
        Ok(Ttl(format::duration::parse(text)?.as_millis() as u64))
    }
}

/// A value as it is typed. What is none gets a sentence that says what to write instead.
pub(super) trait Typed: Sized {
    fn typed(text: &str) -> Result<Self, String>;
}

impl Typed for u64 {
    fn typed(text: &str) -> Result<u64, String> {
        text.parse().map_err(|_| format!("give a whole number from 0 to {}", u64::MAX))
    }
}

impl Typed for u32 {
    fn typed(text: &str) -> Result<u32, String> {
        names::retries(text)
    }
}

/// A value, or that there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Setting<T>(pub(super) Option<T>);

impl<T: Typed> FromStr for Setting<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Setting<T>, String> {
        match text {
            "none" => Ok(Setting(None)),
            text => T::typed(text).map(|value| Setting(Some(value))),
        }
    }
}

/// A rate as it is typed.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Starts(Rate);

impl Typed for Starts {
    fn typed(text: &str) -> Result<Starts, String> {
        let wrong = || "expected N/TIME, such as 10/1s or 300/1m".to_owned();
        let (max, per) = text.split_once('/').ok_or_else(wrong)?;
        let max = max.parse().map_err(|_| wrong())?;
        // "10/s" reads well too.
        let per = if per.starts_with(|c: char| c.is_ascii_digit()) {
            per.to_owned()
        } else {
            format!("1{per}")
        };
        let per_ms = format::duration::parse_positive(&per)?.as_millis() as u64;
        Ok(Starts(Rate { max, per_ms }))
    }
}

fn parse_tenant(text: &str) -> Result<(Tenant, Setting<u64>), String> {
    let (name, limit) = text.rsplit_once('=').ok_or("expected NAME=N or NAME=none")?;
    Ok((names::tenant(name)?, limit.parse()?))
}

/// What is typed about a limit that jobs name.
#[derive(Debug, Clone, Copy, PartialEq)]
enum NamedSetting {
    Concurrency(u64),
    Rate(Rate),
    Lifted,
}

fn parse_named(text: &str) -> Result<(LimitName, NamedSetting), String> {
    let wrong = "expected NAME=N, NAME=N/TIME or NAME=none, such as gpu=2 or api.example.com=10/1s";
    let (name, limit) = text.rsplit_once('=').ok_or(wrong)?;
    let setting = match limit {
        "none" => NamedSetting::Lifted,
        rate if rate.contains('/') => NamedSetting::Rate(Starts::typed(rate)?.0),
        n => NamedSetting::Concurrency(n.parse().map_err(|_| wrong)?),
    };
    Ok((names::limit(name)?, setting))
}

/// A rate for all tenants, or for one.
fn parse_tenant_rate(text: &str) -> Result<(Option<Tenant>, Setting<Starts>), String> {
    match text.rsplit_once('=') {
        Some((name, rate)) => Ok((Some(names::tenant(name)?), rate.parse()?)),
        None => Ok((None, text.parse()?)),
    }
}

/// Shows or sets the limits of a queue.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let hive = open(globals).await?;
    if !args.create {
        hive.check_queue(&args.queue).await?;
    }
    let before = hive.limits(&args.queue).await?;
    let limits = args.applied_to(before.clone());
    if args.create || limits != before {
        hive.set_limits(&args.queue, &limits).await?;
    }
    let limits = hive.limits(&args.queue).await?;
    if globals.json {
        globals.print_json(&limits)?;
        return Ok(Exit::Ok);
    }
    let mut out = globals.out();
    for line in lines(&limits) {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}

impl Args {
    fn applied_to(&self, mut limits: Limits) -> Limits {
        if let Some(Setting(concurrency)) = self.concurrency {
            limits.concurrency = concurrency;
        }
        if let Some(Setting(rate)) = self.rate {
            limits.rate = rate.map(|starts| starts.0);
        }
        if let Some(Setting(concurrency)) = self.tenant_concurrency {
            limits.tenant_concurrency = concurrency;
        }
        if let Some(Setting(most)) = self.keep_completed {
            limits.completed_max = most;
        }
        if let Some(Setting(most)) = self.keep_failed {
            limits.failed_max = most;
        }
        if let Some(Setting(ttl)) = self.failed_ttl {
            limits.failed_ttl_ms = ttl.map(|Ttl(ms)| ms);
        }
        if let Some(Setting(retries)) = self.retries {
            limits.retries = retries;
        }
        limits.backoff =
            if self.no_backoff { None } else { self.backoff.applied_to(limits.backoff) };
        if let Some(Setting(timeout)) = self.timeout {
            limits.timeout_ms = timeout.map(|Ttl(ms)| ms);
        }
        if let Some(Setting(target)) = self.wait_target {
            limits.wait_target_ms = target.map(|Ttl(ms)| ms);
        }
        set_each(&mut limits.tenants, &self.tenants);
        set_each(&mut limits.tenant_weights, &self.tenant_weights);
        for (tenant, Setting(rate)) in &self.tenant_rates {
            let rate = rate.map(|starts| starts.0);
            match tenant {
                None => limits.tenant_rate = rate,
                Some(tenant) => {
                    set_each(&mut limits.tenant_rates, &[(tenant.clone(), Setting(rate))])
                }
            }
        }
        limits.paused_tenants.extend(self.pause_tenants.iter().map(ToString::to_string));
        for tenant in &self.resume_tenants {
            limits.paused_tenants.remove(tenant.as_str());
        }
        for (name, setting) in &self.named {
            let own = limits.named.entry(name.to_string()).or_default();
            match setting {
                NamedSetting::Concurrency(n) => own.concurrency = Some(*n),
                NamedSetting::Rate(rate) => own.rate = Some(*rate),
                NamedSetting::Lifted => *own = NamedLimit::default(),
            }
        }
        limits.named.retain(|_, limit| *limit != NamedLimit::default());
        limits
    }
}

/// Sets what tenants have of their own, or takes it from them.
fn set_each<T: Copy>(own: &mut BTreeMap<String, T>, typed: &[(Tenant, Setting<T>)]) {
    for (tenant, Setting(value)) in typed {
        match value {
            Some(value) => own.insert(tenant.to_string(), *value),
            None => own.remove(tenant.as_str()),
        };
    }
}

fn rate_in_words(rate: Rate) -> String {
    let per = format::duration::typed(Duration::from_millis(rate.per_ms));
    format!("{} starts per {per}", rate.max)
}

/// The limits in words, a line for each.
pub(super) fn lines(limits: &Limits) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(limits.concurrency.map(|n| format!("{n} at once")));
    lines.extend(limits.rate.map(rate_in_words));
    lines.extend(limits.tenant_concurrency.map(|n| format!("{n} at once per tenant")));
    lines.extend(
        limits.tenants.iter().map(|(tenant, n)| format!("{n} at once for tenant \"{tenant}\"")),
    );
    lines.extend(limits.tenant_rate.map(|rate| format!("{} per tenant", rate_in_words(rate))));
    for (tenant, rate) in &limits.tenant_rates {
        lines.push(format!("{} for tenant \"{tenant}\"", rate_in_words(*rate)));
    }
    for (tenant, weight) in &limits.tenant_weights {
        lines.push(format!("{weight} turns for tenant \"{tenant}\" to one of others"));
    }
    lines.extend(limits.paused_tenants.iter().map(|name| format!("tenant \"{name}\" paused")));
    for (name, limit) in &limits.named {
        lines.extend(limit.concurrency.map(|n| format!("{n} at once with the limit \"{name}\"")));
        let rate = limit.rate.map(rate_in_words);
        lines.extend(rate.map(|rate| format!("{rate} with the limit \"{name}\"")));
    }
    lines.extend(limits.completed_max.map(|n| format!("{n} completed jobs kept")));
    lines.extend(limits.failed_max.map(|n| format!("{n} failed jobs kept")));
    lines.extend(limits.failed_ttl_ms.map(|ms| match ms {
        0 => "failed jobs kept as long as completed ones".into(),
        ms => {
            format!("failed jobs kept for {}", format::duration::typed(Duration::from_millis(ms)))
        }
    }));
    lines.extend(limits.retries.map(|n| format!("{n} retries")));
    lines.extend(limits.backoff.as_ref().map(backoff::in_words));
    lines.extend(limits.timeout_ms.map(|ms| {
        format!("{} for an attempt", format::duration::typed(Duration::from_millis(ms)))
    }));
    lines.extend(limits.wait_target_ms.map(|ms| {
        let target = format::duration::typed(Duration::from_millis(ms));
        format!("95 % of jobs to start within {target}")
    }));
    if lines.is_empty() {
        lines.push("no limits".into());
    }
    lines
}

#[cfg(test)]
mod tests {
    use keyrack_jobs::bee::Backoff;

    use super::*;

    #[test]
    fn rates_are_a_number_in_a_time() {
        for (text, max, per_ms) in
            [("10/1s", 10, 1_000), ("300/m", 300, 60_000), ("1/250ms", 1, 250)]
        {
            assert_eq!(text.parse(), Ok(Setting(Some(Starts(Rate { max, per_ms })))), "{text}");
        }
        assert_eq!("none".parse::<Setting<Starts>>(), Ok(Setting(None)));
        for text in ["10", "10/", "x/1s", "10/0s", "10/1y"] {
            assert!(text.parse::<Setting<Starts>>().is_err(), "{text}");
        }
    }

    #[test]
    fn tenants_have_limits_of_their_own() {
        let (tenant, limit) = parse_tenant("a=b=3").expect("a limit");
        assert_eq!((tenant.as_str(), limit), ("a=b", Setting(Some(3))));
        assert!(parse_tenant("acme").is_err());
        let (tenant, rate) = parse_tenant_rate("acme=5/1s").expect("a rate");
        let rate_of_5 = Setting(Some(Starts(Rate { max: 5, per_ms: 1_000 })));
        assert_eq!((tenant.as_ref().map(Tenant::as_str), rate), (Some("acme"), rate_of_5));
        assert_eq!(parse_tenant_rate("5/1s").expect("a rate"), (None, rate_of_5));
        assert!(parse_tenant_rate("acme=5").is_err());
    }

    #[test]
    fn limits_that_jobs_name_are_a_number_or_a_rate() {
        let (name, limit) = parse_named("a=b=3").expect("a limit");
        assert_eq!((name.as_str(), limit), ("a=b", NamedSetting::Concurrency(3)));
        let (_, rate) = parse_named("api.example.com=10/1s").expect("a rate");
        assert_eq!(rate, NamedSetting::Rate(Rate { max: 10, per_ms: 1_000 }));
        assert_eq!(parse_named("gpu=none").expect("a word").1, NamedSetting::Lifted);
        for text in ["gpu", "gpu=", "gpu=x", "gpu=-1", "gpu=1/0s", "=1"] {
            assert!(parse_named(text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_limit_is_told_on_a_line() {
        let limits = Limits {
            concurrency: Some(4),
            rate: Some(Rate { max: 10, per_ms: 1_500 }),
            tenant_concurrency: Some(2),
            tenants: [("acme".to_owned(), 3)].into(),
            tenant_rate: Some(Rate { max: 5, per_ms: 1_000 }),
            tenant_rates: [("acme".to_owned(), Rate { max: 9, per_ms: 60_000 })].into(),
            tenant_weights: [("acme".to_owned(), 3)].into(),
            paused_tenants: ["bob".to_owned()].into(),
            named: [(
                "gpu".to_owned(),
                NamedLimit { concurrency: Some(2), rate: Some(Rate { max: 7, per_ms: 1_000 }) },
            )]
            .into(),
            completed_max: Some(500),
            failed_max: None,
            failed_ttl_ms: Some(86_400_000),
            retries: Some(7),
            backoff: Some(
                Backoff::exponential(Duration::from_secs(1))
                    .longest(Duration::from_secs(60))
                    .jitter(0.5),
            ),
            timeout_ms: Some(5_000),
            wait_target_ms: Some(30_000),
        };
        let expected = [
            "4 at once",
            "10 starts per 1s500ms",
            "2 at once per tenant",
            "3 at once for tenant \"acme\"",
            "5 starts per 1s per tenant",
            "9 starts per 1m for tenant \"acme\"",
            "3 turns for tenant \"acme\" to one of others",
            "tenant \"bob\" paused",
            "2 at once with the limit \"gpu\"",
            "7 starts per 1s with the limit \"gpu\"",
            "500 completed jobs kept",
            "failed jobs kept for 1d",
            "7 retries",
            "exponential waits of 1s before retries, at most 1m, 50% of it random",
            "5s for an attempt",
            "95 % of jobs to start within 30s",
        ];
        assert_eq!(lines(&limits), expected);
        assert_eq!(lines(&Limits::default()), ["no limits"]);
    }
}
