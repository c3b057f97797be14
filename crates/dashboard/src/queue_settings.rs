//! The settings of a queue: its limits, and the defaults of its jobs.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::{Path, State},
    response::Response,
};
use keyrack_jobs::bee::{Backoff, BackoffKind, Limits, Rate};
use keyrack_web::Problem;
use serde::Deserialize;

use super::{
    field::Field,
    form,
    queue::{answer, queue_name},
    queue_limits::rate,
};
use crate::Site;

/// The settings as the form has them. What a form does not name stays as it is.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct SettingsForm {
    concurrency: Option<String>,
    tenant_concurrency: Option<String>,
    rate_max: Option<String>,
    rate_s: Option<String>,
    tenant_rate_max: Option<String>,
    tenant_rate_s: Option<String>,
    completed_max: Option<String>,
    failed_max: Option<String>,
    retries: Option<String>,
    backoff: Option<String>,
    retry_delay_s: Option<String>,
    retry_delay_max_s: Option<String>,
    retry_jitter: Option<String>,
    timeout_s: Option<String>,
    failed_ttl_s: Option<String>,
    wait_target_s: Option<String>,
}

/// How the waits of jobs grow that do not say so themselves.
const BACKOFFS: &[(&str, &str)] = &[
    ("", "fixed, 30 s"),
    ("fixed", "fixed: the same each time"),
    ("linear", "linear: one more each time"),
    ("exponential", "exponential: twice as long each time"),
];

/// `POST /queues/{queue}/limits`
pub(crate) async fn limits(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    body: Bytes,
) -> Response {
    let done = async {
        let queue = queue_name(name.clone())?;
        let wanted: SettingsForm = form::read(&body)?;
        let hive = &site.services.jobs().await?.hive;
        hive.check_queue(&queue).await?;
        let present = hive.limits(&queue).await?;
        Ok(hive.set_limits(&queue, &wanted.into_limits(present)?).await?)
    };
    answer(&name, done.await, "The settings are in force.")
}

impl SettingsForm {
    /// What is set now.
    pub(super) fn of(limits: &Limits) -> SettingsForm {
        let number = |n: Option<u64>| Some(n.map(|n| n.to_string()).unwrap_or_default());
        let time =
            |ms: Option<u64>| Some(ms.map(|ms| form::in_seconds(ms as f64)).unwrap_or_default());
        let max = |rate: Option<Rate>| number(rate.map(|rate| rate.max));
        let per = |rate: Option<Rate>| time(rate.map(|rate| rate.per_ms));
        let backoff = limits.backoff;
        let wait = |ms: Option<f64>| Some(ms.map(form::in_seconds).unwrap_or_default());
        SettingsForm {
            concurrency: number(limits.concurrency),
            tenant_concurrency: number(limits.tenant_concurrency),
            rate_max: max(limits.rate),
            rate_s: per(limits.rate),
            tenant_rate_max: max(limits.tenant_rate),
            tenant_rate_s: per(limits.tenant_rate),
            completed_max: number(limits.completed_max),
            failed_max: number(limits.failed_max),
            retries: number(limits.retries.map(u64::from)),
            backoff: Some(backoff.map(|own| own.kind.to_string()).unwrap_or_default()),
            retry_delay_s: wait(backoff.map(|own| own.delay_ms)),
            retry_delay_max_s: wait(backoff.and_then(|own| own.max_ms)),
            retry_jitter: Some(
                backoff.and_then(|own| own.jitter).map(|n| n.to_string()).unwrap_or_default(),
            ),
            timeout_s: time(limits.timeout_ms),
            failed_ttl_s: time(limits.failed_ttl_ms),
            wait_target_s: time(limits.wait_target_ms),
        }
    }

    /// The settings of the form.
    fn into_limits(self, present: Limits) -> Result<Limits, Problem> {
        let before = SettingsForm::of(&present);
        let number = |name, text: &Option<String>, present: Option<u64>| match text {
            Some(text) => form::number(name, text),
            None => Ok(present),
        };
        let time = |name, text: &Option<String>, present: Option<u64>| match text {
            Some(text) => form::seconds_as_ms(name, text),
            None => Ok(present),
        };
        // The two numbers of a rate go together.
        let rate_of =
            |max: &Option<String>, per: &Option<String>, present: Option<Rate>| match (max, per) {
                (None, None) => Ok(present),
                (max, per) => {
                    rate(max.as_deref().unwrap_or_default(), per.as_deref().unwrap_or_default())
                }
            };
        Ok(Limits {
            concurrency: number("jobs at once", &self.concurrency, present.concurrency)?,
            rate: rate_of(&self.rate_max, &self.rate_s, present.rate)?,
            tenant_concurrency: number(
                "jobs at once for one tenant",
                &self.tenant_concurrency,
                present.tenant_concurrency,
            )?,
            tenant_rate: rate_of(&self.tenant_rate_max, &self.tenant_rate_s, present.tenant_rate)?,
            completed_max: number(
                "completed jobs kept",
                &self.completed_max,
                present.completed_max,
            )?,
            failed_max: number("failed jobs kept", &self.failed_max, present.failed_max)?,
            retries: match &self.retries {
                Some(text) => form::number("retries", text)?,
                None => present.retries,
            },
            backoff: self.backoff(&before)?,
            timeout_ms: time("time limit", &self.timeout_s, present.timeout_ms)?,
            failed_ttl_ms: time("failed jobs kept for", &self.failed_ttl_s, present.failed_ttl_ms)?,
            wait_target_ms: time("wait target", &self.wait_target_s, present.wait_target_ms)?,
            ..present
        })
    }

    /// The backoff of the form; none if nothing is said about it.
    fn backoff(&self, before: &SettingsForm) -> Result<Option<Backoff>, Problem> {
        let said = |own: fn(&SettingsForm) -> &Option<String>| {
            own(self).as_deref().or(own(before).as_deref()).unwrap_or_default().to_owned()
        };
        let kind = form::word("backoff", &said(|form| &form.backoff))?;
        let ms = |name, text: &str| {
            Ok::<_, Problem>(form::seconds_as_ms(name, text)?.map(|ms| ms as f64))
        };
        let delay = ms("first wait", &said(|form| &form.retry_delay_s))?;
        let max_ms = ms("longest wait", &said(|form| &form.retry_delay_max_s))?;
        let jitter = form::number("random share", &said(|form| &form.retry_jitter))?;
        let is_said = kind.is_some() || delay.is_some() || max_ms.is_some() || jitter.is_some();
        let default = Backoff::default();
        Ok(is_said.then(|| Backoff {
            kind: kind.unwrap_or(BackoffKind::Fixed),
            delay_ms: delay.unwrap_or(default.delay_ms),
            max_ms,
            jitter,
        }))
    }

    /// The fields, in groups.
    pub(super) fn fields(&self) -> Vec<(&'static str, Vec<Field>)> {
        vec![
            ("Limits", self.limit_fields()),
            ("Defaults of its jobs", self.default_fields()),
            ("How much is kept, and how long", self.kept_fields()),
        ]
    }

    fn limit_fields(&self) -> Vec<Field> {
        let number = |name, label, value: &Option<String>, min| {
            Field::number(name, label, value.as_deref().unwrap_or_default(), min).or("no limit")
        };
        vec![
            number("concurrency", "Jobs at once", &self.concurrency, "1")
                .hint("At most this many run at once, over all workers."),
            number(
                "tenant_concurrency",
                "Jobs at once for one tenant",
                &self.tenant_concurrency,
                "1",
            )
            .hint("At most this many run at once for each tenant, over all workers."),
            number("rate_max", "Starts", &self.rate_max, "1")
                .hint("At most this many jobs start in the time beside it."),
            number("rate_s", "per (seconds)", &self.rate_s, "0.001")
                .hint("The limit holds in every window of this length."),
            number("tenant_rate_max", "Starts of one tenant", &self.tenant_rate_max, "1")
                .hint("The same for the jobs of each tenant."),
            number("tenant_rate_s", "per (seconds)", &self.tenant_rate_s, "0.001")
                .hint("The window for each tenant."),
        ]
    }

    fn default_fields(&self) -> Vec<Field> {
        let number = |name, label, value: &Option<String>, min| {
            Field::number(name, label, value.as_deref().unwrap_or_default(), min)
        };
        vec![
            number("retries", "Retries", &self.retries, "0")
                .or("5")
                .hint("How often a job is tried again after a failure, if it does not say so."),
            Field::choice("backoff", "Backoff", self.backoff.as_deref().unwrap_or_default(), BACKOFFS)
                .hint("How the waits before retries grow, for jobs that do not say so."),
            number("retry_delay_s", "First wait in seconds", &self.retry_delay_s, "0.0")
                .or("30")
                .hint("The wait before the first retry."),
            number("retry_delay_max_s", "Longest wait in seconds", &self.retry_delay_max_s, "0.0")
                .or("no limit")
                .hint("No wait before a retry is longer than this."),
            number("retry_jitter", "Random share of waits", &self.retry_jitter, "0.0")
                .at_most("1")
                .or("0")
                .hint("From 0 to 1. Jobs that failed together then come back apart."),
            number("timeout_s", "Time limit in seconds", &self.timeout_s, "0.001")
                .or("as the worker says")
                .hint("How long an attempt may take; then it fails and its worker is told to stop it."),
            number("wait_target_s", "Wait target in seconds", &self.wait_target_s, "0.001")
                .or("60")
                .hint("95 % of the jobs should start within this time; the advised number of workers follows."),
        ]
    }

    fn kept_fields(&self) -> Vec<Field> {
        let number = |name, label, value: &Option<String>, min| {
            Field::number(name, label, value.as_deref().unwrap_or_default(), min)
        };
        vec![
            number("completed_max", "Completed jobs kept", &self.completed_max, "1")
                .or("100000")
                .hint("Beyond this number, those that would expire first are deleted."),
            number("failed_max", "Failed jobs kept", &self.failed_max, "1")
                .or("100000")
                .hint("Beyond this number, those that failed first are deleted."),
            number("failed_ttl_s", "Failed jobs kept for seconds", &self.failed_ttl_s, "0.0")
                .or("604800, 7 days")
                .hint("How long a failed job can be looked at and retried; 0 for as long as a result."),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_form_shows_comes_back_as_it_is_set() {
        let limits = Limits {
            concurrency: Some(3),
            rate: Some(Rate { max: 10, per_ms: 1_500 }),
            tenant_rate: Some(Rate { max: 2, per_ms: 1_000 }),
            retries: Some(0),
            backoff: Some(Backoff {
                jitter: Some(0.5),
                max_ms: Some(60_000.0),
                ..Backoff::default()
            }),
            timeout_ms: Some(2_500),
            failed_ttl_ms: Some(0),
            wait_target_ms: Some(5_000),
            ..Limits::default()
        };
        let again = SettingsForm::of(&limits).into_limits(limits.clone()).expect("good");
        assert_eq!(again, limits);
        let none = SettingsForm::of(&Limits::default()).into_limits(limits.clone()).expect("good");
        assert_eq!(none, Limits::default());
        let unnamed = SettingsForm::default().into_limits(limits.clone()).expect("good");
        assert_eq!(unnamed, limits);
    }
}
