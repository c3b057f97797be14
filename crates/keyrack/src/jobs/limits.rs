//! `keyrack jobs limits`.

use std::{io::Write as _, str::FromStr, time::Duration};

use keyrack_format as format;
use keyrack_jobs::bee::{
    Limits, Rate,
    keys::{QueueName, Tenant},
};

use super::{names, open};
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
#[command(after_help = "Without an option, prints the current limits. \"none\" removes a limit.")]
pub(super) struct Args {
    /// The queue
    #[arg(value_parser = names::queue)]
    queue: QueueName,
    /// Run at most N jobs at once
    #[arg(long, value_name = "N|none")]
    concurrency: Option<Limit<u64>>,
    /// Start at most N jobs per TIME, such as 10/1s
    #[arg(long, value_name = "N/TIME|none")]
    rate: Option<Limit<Starts>>,
    /// Run at most N jobs of one tenant at once
    #[arg(long, value_name = "N|none")]
    tenant_concurrency: Option<Limit<u64>>,
    /// Run at most N jobs of this tenant at once; can be repeated
    #[arg(long = "tenant", value_name = "NAME=N|none", value_parser = parse_tenant)]
    tenants: Vec<(Tenant, Limit<u64>)>,
    /// Keep at most N completed jobs; those that expire first are deleted first [default: 100000]
    #[arg(long, value_name = "N|none")]
    keep_completed: Option<Limit<u64>>,
    /// Keep at most N failed jobs; the oldest are deleted first [default: 100000]
    #[arg(long, value_name = "N|none")]
    keep_failed: Option<Limit<u64>>,
    /// Keep failed jobs for TIME, unless the job sets it; 0s: as long as completed jobs [default: 7d]
    #[arg(long, value_name = "TIME|none")]
    failed_ttl: Option<Limit<Ttl>>,
    /// Create the queue if it does not exist
    #[arg(long)]
    create: bool,
}

/// A time for which jobs are kept.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ttl(u64);

impl FromStr for Ttl {
    type Err = String;

    fn from_str(text: &str) -> Result<Ttl, String> {
        Ok(Ttl(format::duration::parse(text)?.as_millis() as u64))
    }
}

/// A limit, or that there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Limit<T>(Option<T>);

impl<T: FromStr> FromStr for Limit<T>
where
    T::Err: ToString,
{
    type Err = String;

    fn from_str(text: &str) -> Result<Limit<T>, String> {
        match text {
            "none" => Ok(Limit(None)),
            text => text
                .parse()
                .map(|limit| Limit(Some(limit)))
                .map_err(|error: T::Err| error.to_string()),
        }
    }
}

/// A rate as it is typed.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Starts(Rate);

impl FromStr for Starts {
    type Err = String;

    fn from_str(text: &str) -> Result<Starts, String> {
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

fn parse_tenant(text: &str) -> Result<(Tenant, Limit<u64>), String> {
    let (name, limit) = text.rsplit_once('=').ok_or("expected NAME=N or NAME=none")?;
    Ok((names::tenant(name)?, limit.parse()?))
}

/// Shows or sets the limits of a queue.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let hive = open(globals).await?;
    if args.changes_something() {
        if !args.create {
            hive.check_queue(&args.queue).await?;
        }
        let limits = args.applied_to(hive.limits(&args.queue).await?);
        hive.set_limits(&args.queue, &limits).await?;
    } else {
        hive.check_queue(&args.queue).await?;
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
    fn changes_something(&self) -> bool {
        self.concurrency.is_some()
            || self.rate.is_some()
            || self.tenant_concurrency.is_some()
            || !self.tenants.is_empty()
            || self.keep_completed.is_some()
            || self.keep_failed.is_some()
            || self.failed_ttl.is_some()
    }

    fn applied_to(&self, mut limits: Limits) -> Limits {
        if let Some(Limit(concurrency)) = self.concurrency {
            limits.concurrency = concurrency;
        }
        if let Some(Limit(rate)) = self.rate {
            limits.rate = rate.map(|starts| starts.0);
        }
        if let Some(Limit(concurrency)) = self.tenant_concurrency {
            limits.tenant_concurrency = concurrency;
        }
        if let Some(Limit(most)) = self.keep_completed {
            limits.completed_max = most;
        }
        if let Some(Limit(most)) = self.keep_failed {
            limits.failed_max = most;
        }
        if let Some(Limit(ttl)) = self.failed_ttl {
            limits.failed_ttl_ms = ttl.map(|Ttl(ms)| ms);
        }
        for (tenant, Limit(limit)) in &self.tenants {
            match limit {
                Some(limit) => limits.tenants.insert(tenant.to_string(), *limit),
                None => limits.tenants.remove(tenant.as_str()),
            };
        }
        limits
    }
}

/// The limits in words, a line for each.
pub(super) fn lines(limits: &Limits) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(limits.concurrency.map(|n| format!("{n} at once")));
    lines.extend(limits.rate.map(|rate| {
        let per = format::duration::typed(Duration::from_millis(rate.per_ms));
        format!("{} starts per {per}", rate.max)
    }));
    lines.extend(limits.tenant_concurrency.map(|n| format!("{n} at once per tenant")));
    lines.extend(
        limits.tenants.iter().map(|(tenant, n)| format!("{n} at once for tenant \"{tenant}\"")),
    );
    lines.extend(limits.completed_max.map(|n| format!("{n} completed jobs kept")));
    lines.extend(limits.failed_max.map(|n| format!("{n} failed jobs kept")));
    lines.extend(limits.failed_ttl_ms.map(|ms| match ms {
        0 => "failed jobs kept as long as completed ones".into(),
        ms => {
            format!("failed jobs kept for {}", format::duration::typed(Duration::from_millis(ms)))
        }
    }));
    if lines.is_empty() {
        lines.push("no limits".into());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_a_number_in_a_time() {
        for (text, max, per_ms) in
            [("10/1s", 10, 1_000), ("300/m", 300, 60_000), ("1/250ms", 1, 250)]
        {
            assert_eq!(text.parse(), Ok(Limit(Some(Starts(Rate { max, per_ms })))), "{text}");
        }
        assert_eq!("none".parse::<Limit<Starts>>(), Ok(Limit(None)));
        for text in ["10", "10/", "x/1s", "10/0s", "10/1y"] {
            assert!(text.parse::<Limit<Starts>>().is_err(), "{text}");
        }
    }

    #[test]
    fn tenants_have_limits_of_their_own() {
        let (tenant, limit) = parse_tenant("a=b=3").expect("a limit");
        assert_eq!((tenant.as_str(), limit), ("a=b", Limit(Some(3))));
        assert!(parse_tenant("acme").is_err());
    }

    #[test]
    fn every_limit_is_told_on_a_line() {
        let limits = Limits {
            concurrency: Some(4),
            rate: Some(Rate { max: 10, per_ms: 1_500 }),
            tenant_concurrency: Some(2),
            tenants: [("acme".to_owned(), 3)].into(),
            completed_max: Some(500),
            failed_max: None,
            failed_ttl_ms: Some(86_400_000),
        };
        let expected = [
            "4 at once",
            "10 starts per 1s500ms",
            "2 at once per tenant",
            "3 at once for tenant \"acme\"",
            "500 completed jobs kept",
            "failed jobs kept for 1d",
        ];
        assert_eq!(lines(&limits), expected);
        assert_eq!(lines(&Limits::default()), ["no limits"]);
    }
}
