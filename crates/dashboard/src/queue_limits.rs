//! Limits of one tenant of a queue, and of the jobs that name a limit.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::{Path, State},
    response::Response,
};
use keyrack_format as format;
use keyrack_jobs::bee::{Limits, NamedLimit, Rate};
use keyrack_web::Problem;
use serde::Deserialize;

use super::{
    form,
    queue::{answer, queue_name},
};
use crate::Site;

/// What one tenant, or the jobs with one name, may do. Empty fields are no limit.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct LimitForm {
    name: String,
    concurrency: String,
    rate_max: String,
    rate_s: String,
    /// Of tenants only.
    weight: String,
    /// Of tenants only.
    paused: Option<String>,
}

/// A rate as forms have it: a number and a time, or neither.
pub(super) fn rate(max: &str, seconds: &str) -> Result<Option<Rate>, Problem> {
    match (form::number("rate", max)?, form::number::<f64>("rate", seconds)?) {
        (None, None) => Ok(None),
        (Some(max), Some(s)) => Ok(Some(Rate { max, per_ms: (s * 1000.0).round() as u64 })),
        _ => Err(form::wrong("rate", "give both numbers, or none for no limit")),
    }
}

/// A rate in words.
pub(super) fn in_words(rate: &Rate) -> String {
    format!("{} starts per {}", format::count(rate.max), format::duration_ms(rate.per_ms))
}

/// The limits that jobs name, in words.
pub(super) fn named_in_words(limits: &Limits) -> Vec<String> {
    let lines = limits.named.iter().flat_map(|(name, limit)| {
        let at_once = limit.concurrency.map(|n| format!("{name}: {n} at once"));
        at_once.into_iter().chain(limit.rate.map(|rate| format!("{name}: {}", in_words(&rate))))
    });
    lines.collect()
}

/// `POST /queues/{queue}/tenant`
pub(crate) async fn tenant(
    State(site): State<Arc<Site>>,
    Path(queue): Path<String>,
    body: Bytes,
) -> Response {
    let done = change(&site, &queue, &body, LimitForm::set_tenant).await;
    answer(&queue, done, "The limits of the tenant are in force.")
}

/// `POST /queues/{queue}/named-limit`
pub(crate) async fn named(
    State(site): State<Arc<Site>>,
    Path(queue): Path<String>,
    body: Bytes,
) -> Response {
    let done = change(&site, &queue, &body, LimitForm::set_named).await;
    answer(&queue, done, "The limit is in force.")
}

async fn change(
    site: &Site,
    queue: &str,
    body: &[u8],
    set: fn(&LimitForm, &mut Limits) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let queue = queue_name(queue)?;
    let wanted: LimitForm = form::read(body)?;
    let hive = &site.services.jobs().await?.hive;
    hive.check_queue(&queue).await?;
    let mut limits = hive.limits(&queue).await?;
    set(&wanted, &mut limits)?;
    Ok(hive.set_limits(&queue, &limits).await?)
}

impl LimitForm {
    fn set_tenant(&self, limits: &mut Limits) -> Result<(), Problem> {
        let name = self.name.trim().to_owned();
        let put = |n: Option<u64>, own: &mut std::collections::BTreeMap<String, u64>| match n {
            Some(n) => own.insert(name.clone(), n),
            None => own.remove(&name),
        };
        put(form::number("jobs at once", &self.concurrency)?, &mut limits.tenants);
        put(form::number("turns", &self.weight)?, &mut limits.tenant_weights);
        match rate(&self.rate_max, &self.rate_s)? {
            Some(rate) => limits.tenant_rates.insert(name.clone(), rate),
            None => limits.tenant_rates.remove(&name),
        };
        match self.paused {
            Some(_) => limits.paused_tenants.insert(name.clone()),
            None => limits.paused_tenants.remove(&name),
        };
        named_something(&name)
    }

    fn set_named(&self, limits: &mut Limits) -> Result<(), Problem> {
        let limit = NamedLimit {
            concurrency: form::number("jobs at once", &self.concurrency)?,
            rate: rate(&self.rate_max, &self.rate_s)?,
        };
        let name = self.name.trim();
        if limit == NamedLimit::default() {
            limits.named.remove(name);
        } else {
            limits.named.insert(name.to_owned(), limit);
        }
        named_something(name)
    }
}

fn named_something(name: &str) -> Result<(), Problem> {
    match name {
        "" => Err(form::wrong("name", "it is empty; say whose limit it is")),
        _ => Ok(()),
    }
}
