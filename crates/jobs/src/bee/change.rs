//! Changing jobs that wait: their priority, when they run, their arguments and options, and their queue.

use keyrack_store::Script;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::{
    backoff::{Backoff, BackoffKind},
    hive::Hive,
    job::{DEFAULT_RETRIES, Job, Options},
    keys::{Hostname, Jid, QueueName},
    submit::{DELAY_MS_MAX, Submission, checked_priority},
};
use crate::Error;

static CHANGE: Script = bee_script!("change.lua");

/// How often a change is tried again when somebody else has changed the options of the job meanwhile.
const TRIES_MAX: usize = 10;

/// What is to be different about a job that waits; what is not given stays as it is. Times are in milliseconds.
///
/// ```
/// use keyrack_jobs::bee::Change;
///
/// let urgent = Change { priority: Some(10.0), timeout: Some(None), ..Change::default() };
/// urgent.check().expect("this makes sense");
/// assert!(Change { priority: Some(11.0), ..Change::default() }.check().is_err());
/// ```
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Change {
    /// Let it run next, before all that wait in its queue, and without its delay.
    pub run_now: bool,
    /// Let it wait for this time from now.
    pub delay: Option<f64>,
    /// Let it wait until this unix time.
    pub at: Option<u64>,
    /// 10 runs next, 0 in order of submission, negative later.
    pub priority: Option<f64>,
    /// Other arguments for the worker.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<Object>>))]
    pub data: Option<Box<RawValue>>,
    /// Another queue of the same group.
    pub queue: Option<String>,
    /// How often it is tried again after a failure.
    pub retries: Option<u32>,
    /// How long after a failure it is tried again.
    pub retry_delay: Option<f64>,
    /// How the waits grow from try to try.
    pub backoff: Option<BackoffKind>,
    /// The longest wait.
    pub retry_delay_max: Option<f64>,
    /// The share of each wait that is left to chance, from 0 to 1.
    pub retry_jitter: Option<f64>,
    /// How long an attempt may take; null for as long as its queue or its worker says.
    #[serde(deserialize_with = "given")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u64>))]
    pub timeout: Option<Option<u64>>,
    /// Within what time from now it has to start; null for no such time.
    #[serde(deserialize_with = "given")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u64>))]
    pub start_within: Option<Option<u64>>,
    /// For how long its result is kept.
    pub ttl: Option<u64>,
    /// For how long it is kept if it fails; null for as long as its queue says.
    #[serde(deserialize_with = "given")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u64>))]
    pub failed_ttl: Option<Option<u64>>,
    /// The host whose workers hear of it first; null for none.
    #[serde(deserialize_with = "given")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub preferred_hostname: Option<Option<String>>,
}

/// Tells null from nothing.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl Change {
    /// The same with other arguments for the worker.
    ///
    /// # Errors
    /// When one of them cannot be JSON.
    pub fn with_args(self, args: &[impl Serialize]) -> Result<Change, Error> {
        let data = to_raw_value(args).map_err(|error| Error::invalid("data", error.to_string()))?;
        Ok(Change { data: Some(data), ..self })
    }

    /// The same with other arguments for the worker, as a JSON list whose numbers keep all their digits.
    ///
    /// # Errors
    /// When the text is not JSON.
    pub fn with_args_json(self, list: &str) -> Result<Change, Error> {
        let data = RawValue::from_string(list.to_owned());
        let data = data.map_err(|error| Error::invalid("data", format!("not JSON: {error}")))?;
        Ok(Change { data: Some(data), ..self })
    }

    /// The same with a time in place of a delay, so that jobs that are changed one after the other are due together.
    pub fn pinned(&self, now_ms: u64) -> Change {
        let at = self.delay.filter(|delay| delay.is_finite()).map(|delay| now_ms + delay as u64);
        Change { delay: self.delay.filter(|_| at.is_none()), at: at.or(self.at), ..self.clone() }
    }

    /// Fails unless it makes sense for some job.
    ///
    /// # Errors
    /// What is wrong with it, by the name of the field.
    pub fn check(&self) -> Result<(), Error> {
        let whens = [self.run_now, self.delay.is_some(), self.at.is_some()];
        if whens.iter().filter(|is_given| **is_given).count() > 1 {
            return Err(Error::invalid("delay", "runNow, delay and at are three; give one"));
        }
        if let Some(delay) = self.delay
            && !(0.0..=DELAY_MS_MAX).contains(&delay)
        {
            let reason = format!("{delay} ms; give 0 to {DELAY_MS_MAX} milliseconds");
            return Err(Error::invalid("delay", reason));
        }
        if let Some(queue) = &self.queue {
            Error::named("queue", QueueName::new(queue.as_str()))?;
        }
        if let Some(Some(host)) = &self.preferred_hostname {
            Error::named("preferredHostname", Hostname::new(host.as_str()))?;
        }
        self.new_data()?;
        // A job that is to be changed may have a shorter first wait than most.
        let shortest = Options { retry_delay: 0.0, ..Options::default() };
        self.new_options(&shortest, 0).map(drop)
    }

    /// Whether its time is near enough. One that is over is now.
    fn check_at(&self, now_ms: u64) -> Result<(), Error> {
        let latest = now_ms.saturating_add(DELAY_MS_MAX as u64);
        match self.at {
            Some(at) if at > latest => {
                let reason = format!(
                    "{at}, in unix milliseconds; give at most {latest}, {DELAY_MS_MAX} ms from now"
                );
                Err(Error::invalid("at", reason))
            }
            _ => Ok(()),
        }
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        let says_when = self.run_now || self.delay.is_some() || self.at.is_some();
        let says_more = self.queue.is_some() || self.data.is_some() || self.start_within.is_some();
        let sets = self.priority.is_some()
            || self.retries.is_some()
            || self.timeout.is_some()
            || self.ttl.is_some()
            || self.failed_ttl.is_some()
            || self.preferred_hostname.is_some();
        !(says_when || says_more || sets || self.sets_backoff())
    }

    fn sets_backoff(&self) -> bool {
        self.retry_delay.is_some()
            || self.backoff.is_some()
            || self.retry_delay_max.is_some()
            || self.retry_jitter.is_some()
    }

    /// What is to be different, by the names of the fields, for the history.
    pub fn names(&self) -> Vec<&'static str> {
        let is_given = [
            ("runNow", self.run_now),
            ("delay", self.delay.is_some() || self.at.is_some()),
            ("priority", self.priority.is_some()),
            ("data", self.data.is_some()),
            ("queue", self.queue.is_some()),
            ("retries", self.retries.is_some()),
            ("backoff", self.sets_backoff()),
            ("timeout", self.timeout.is_some()),
            ("startWithin", self.start_within.is_some()),
            ("ttl", self.ttl.is_some()),
            ("failedTtl", self.failed_ttl.is_some()),
            ("preferredHostname", self.preferred_hostname.is_some()),
        ];
        is_given.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
    }

    /// The new arguments as they are stored.
    fn new_data(&self) -> Result<Option<String>, Error> {
        let Some(data) = &self.data else { return Ok(None) };
        let any = QueueName::new("any").expect("a good name");
        Ok(Some(Submission::to(any).args_json(data.get())?.stored_data()?))
    }

    /// The options that a job has with the change, if they make sense.
    fn new_options(&self, before: &Options, now_ms: u64) -> Result<Options, Error> {
        let mut options = before.clone();
        if let Some(priority) = self.priority {
            options.priority = checked_priority(priority)?;
        }
        if let Some(retries) = self.retries {
            options.retries = retries;
            options.own_retries = retries == DEFAULT_RETRIES;
        }
        if self.sets_backoff() {
            let own = before.own_backoff();
            let own = own.unwrap_or(Backoff { delay_ms: before.retry_delay, ..Backoff::default() });
            options.choose_backoff(Backoff {
                kind: self.backoff.unwrap_or(own.kind),
                delay_ms: self.retry_delay.unwrap_or(own.delay_ms),
                max_ms: self.retry_delay_max.or(own.max_ms),
                jitter: self.retry_jitter.or(own.jitter),
            });
        }
        options.timeout = self.timeout.unwrap_or(options.timeout);
        options.ttl = self.ttl.unwrap_or(options.ttl);
        options.failed_ttl = self.failed_ttl.unwrap_or(options.failed_ttl);
        if let Some(host) = &self.preferred_hostname {
            options.preferred_hostname = host.clone();
        }
        if let Some(within) = self.start_within {
            super::submit::check_time("startWithin", within)?;
            options.start_by = within.map(|within| now_ms + within);
        }
        Submission::check_options(&options)?;
        Ok(options)
    }

    /// When the job is to run, as the script takes it.
    fn due(&self, now_ms: u64) -> String {
        match (self.run_now, self.delay, self.at) {
            (true, ..) => "now".into(),
            (_, Some(delay), _) => (now_ms as f64 + delay).to_string(),
            (.., Some(at)) => at.max(now_ms).to_string(),
            _ => String::new(),
        }
    }
}

impl Hive {
    /// Changes a job that waits. Returns whether anything is different now.
    ///
    /// # Errors
    /// When the change makes no sense for this job, [`Error::NoSuchJob`], [`Error::NoSuchQueue`], [`Error::Conflict`] when the
    /// job runs, was just taken or has ended, or when the store fails. Nothing was changed then.
    pub async fn change_job(&self, jid: &Jid, change: &Change) -> Result<bool, Error> {
        let to = self.target_of(change).await?;
        self.change_read_job(self.job(jid).await?, jid, change, to.as_ref()).await
    }

    /// The queue that jobs are to be moved to, if they are. It has to be there: a misspelt name would hide them.
    pub(super) async fn target_of(&self, change: &Change) -> Result<Option<QueueName>, Error> {
        change.check()?;
        change.check_at(self.now_ms())?;
        let Some(queue) = &change.queue else { return Ok(None) };
        let queue = QueueName::new(queue.as_str())?;
        self.check_queue(&queue).await?;
        Ok(Some(queue))
    }

    /// The same for a job that was just read.
    pub(super) async fn change_read_job(
        &self,
        mut job: Job,
        jid: &Jid,
        change: &Change,
        to: Option<&QueueName>,
    ) -> Result<bool, Error> {
        for _ in 0..TRIES_MAX {
            let word = self.try_change(&job, jid, change, to).await?;
            match word.as_str() {
                "ok" => return Ok(true),
                "SAME" => return Ok(false),
                "GONE" => return Err(Error::NoSuchJob { jid: jid.to_string() }),
                "CHANGED" => job = self.job(jid).await?,
                word => return Err(refused(jid, &job, word)),
            }
        }
        Err(conflict(jid, "being changed by others", "try again"))
    }

    async fn try_change(
        &self,
        job: &Job,
        jid: &Jid,
        change: &Change,
        to: Option<&QueueName>,
    ) -> Result<String, Error> {
        let now_ms = self.now_ms();
        let from = QueueName::new(job.queue())?;
        let to = to.filter(|to| **to != from);
        if let Some(to) = to {
            check_group(&from, to)?;
        }
        let before = job.options();
        let mut options = change.new_options(&before, now_ms)?;
        let data = change.new_data()?.filter(|data| data != job.data()).unwrap_or_default();
        if !data.is_empty() {
            // It no longer stands for submissions with its old arguments.
            options.unique = options.unique.filter(|unique| !unique.is_by_args());
        }
        let options = if options == before { String::new() } else { options.to_json() };
        let due = change.due(now_ms);
        let start_by = match change.start_within {
            None => String::new(),
            Some(None) => "none".into(),
            Some(Some(within)) => (now_ms + within).to_string(),
        };
        let to = to.map(QueueName::as_str).unwrap_or_default();
        let what = format!(r#","fields":{}"#, serde_json::json!(change.names()));
        let call = self
            .call_on_job(&CHANGE, jid)
            .arg("now", now_ms)
            .arg("known", if options.is_empty() { "" } else { job.options_json() })
            .arg("options", options)
            .arg("args_field", Submission::args_field(job))
            .arg("data", data)
            .arg("due", due)
            .arg("start_by", start_by)
            .arg("to", to)
            .arg("what", what);
        Ok(call.run().await?)
    }
}

/// A job knows others of its group, and its id says which that is.
fn check_group(from: &QueueName, to: &QueueName) -> Result<(), Error> {
    let (ours, theirs) = (from.group(), to.group());
    if ours == theirs {
        return Ok(());
    }
    let reason = format!(
        "\"{to}\" belongs to the group \"{theirs}\", \"{from}\" to \"{ours}\"; a job can only move within its group, so \
         submit it there and cancel this one"
    );
    Err(Error::invalid("queue", reason))
}

fn conflict(jid: &Jid, status: &str, hint: &'static str) -> Error {
    Error::Conflict { jid: jid.to_string(), status: status.to_owned(), hint }
}

fn refused(jid: &Jid, job: &Job, word: &str) -> Error {
    match word {
        "TAKEN" => {
            conflict(jid, "taken", "a worker has it, and only a job that waits can be changed")
        }
        "AWAITS" => conflict(
            jid,
            "waiting for other jobs",
            "it starts when they have ended, so it cannot be told when",
        ),
        "STARTED" => conflict(
            jid,
            "not new",
            "it has started before, so it cannot be told by when it has to start",
        ),
        "DUPLICATES" => conflict(
            jid,
            "the original of others",
            "its arguments and its queue stay, because its duplicates wait for its result",
        ),
        "NOWHERE" => conflict(
            jid,
            job.status().as_str(),
            "but nothing lists it; \"keyrack serve\" puts it back within minutes",
        ),
        status => conflict(jid, status, "only a job that waits can be changed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(text: &str) -> Result<Change, String> {
        let change: Change = serde_json::from_str(text).map_err(|error| error.to_string())?;
        change.check().map(|()| change).map_err(|error| error.to_string())
    }

    #[test]
    fn null_takes_an_option_away_and_nothing_leaves_it() {
        let before = Options { timeout: Some(5), failed_ttl: Some(7), ..Options::default() };
        let asked = change(r#"{"timeout": null, "priority": 3}"#).expect("a change");
        let after = asked.new_options(&before, 0).expect("options");
        assert_eq!((after.timeout, after.failed_ttl, after.priority), (None, Some(7), 3.0));
        assert_eq!(asked.names(), ["priority", "timeout"]);
        assert!(change("{}").expect("a change").is_empty() && !asked.is_empty());
    }

    #[test]
    fn a_part_of_a_backoff_leaves_the_others() {
        let mut before = Options::default();
        before.choose_backoff(Backoff {
            delay_ms: 1_000.0,
            jitter: Some(0.5),
            ..Backoff::default()
        });
        let asked =
            change(r#"{"backoff": "exponential", "retryDelayMax": 9000}"#).expect("a change");
        let after = asked.new_options(&before, 0).expect("options").own_backoff();
        let kind = BackoffKind::Exponential;
        let (max_ms, jitter) = (Some(9_000.0), Some(0.5));
        assert_eq!(after, Some(Backoff { kind, delay_ms: 1_000.0, max_ms, jitter }));
        let refused =
            asked.new_options(&Options::default(), 0).expect_err("30 s is the first wait");
        assert!(refused.to_string().starts_with("retryDelayMax: 9000 ms"), "{refused}");
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        for (text, starts) in [
            (r#"{"priority": 11}"#, "priority: 11; give at most 10"),
            (r#"{"delay": -1}"#, "delay: -1 ms; give 0 to"),
            (r#"{"delay": 1e300}"#, "delay: 1"),
            (r#"{"delay": 1, "runNow": true}"#, "delay: runNow, delay and at are three"),
            (r#"{"timeout": 0}"#, "timeout: 0 ms; give 1 to"),
            (r#"{"startWithin": 0}"#, "startWithin: 0 ms; give 1 to"),
            (r#"{"retryJitter": 2}"#, "retryJitter: 2; give"),
            (r#"{"data": {"a": 1}}"#, "data: not a JSON list"),
            (r#"{"ttl": 99999999999999}"#, "ttl: 99999999999999 ms; give 0 to"),
            (r#"{"tenant": "acme"}"#, "unknown field `tenant`"),
        ] {
            let refused = change(text).expect_err(text);
            assert!(refused.starts_with(starts), "{text}: {refused}");
        }
    }

    #[test]
    fn a_delay_of_many_is_a_time() {
        let pinned = change(r#"{"delay": 500}"#).expect("a change").pinned(1_000);
        assert_eq!((pinned.at, pinned.delay, pinned.due(0)), (Some(1_500), None, "1500".into()));
    }
}
