//! The original's calls, made with our verbs.

use std::{collections::HashMap, time::Duration};

use keyrack_jobs::{
    Error,
    bee::{
        Checked, DEFAULT_RETRIES, DEFAULT_RETRY_DELAY_MS, End, Failure, Hive, Job, Outcome,
        Progress, Submission, Verdict, WorkerTimeouts,
        keys::{Group, Hostname, Jid, JobHash, QueueName, Tag, WorkerId},
    },
};
use serde::Deserialize;
use serde_json::{Value as Json, json, value::RawValue};

use super::recording::Call;

/// The original locks for so long.
const LOCK: Duration = WorkerTimeouts::BEE.lock;

/// What a verb answered, in the words of the original.
#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    Value(Json),
    /// The original fails too, with this in its message.
    Refused(&'static str),
    /// The original does not fail.
    Invalid(String),
}

/// The verbs of one scenario and the jobs claimed in it.
#[derive(Default)]
pub(super) struct Verbs {
    claimed: HashMap<String, Job>,
}

/// The arguments of all calls. What is kept as text keeps its digits.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args {
    jid: Option<String>,
    queue: Option<String>,
    worker: Option<String>,
    max: Option<usize>,
    hash: Option<Json>,
    tags: Option<Vec<String>>,
    parent: Option<String>,
    data: Option<Box<RawValue>>,
    options: Option<Box<RawValue>>,
    result: Option<Box<RawValue>>,
    exception: Option<Exception>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Exception {
    message: Json,
    retry: Json,
    retry_delay: f64,
    progressive_delay: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Options {
    priority: Json,
    delay: f64,
    dependencies: Vec<String>,
    dependencies_on_tags: bool,
    preferred_hostname: Json,
    retries: u32,
    retry_delay: f64,
    progressive_delay: bool,
    ttl: u64,
}

impl Args {
    fn jid(&self) -> Jid {
        Jid::new(self.jid.clone().expect("a jid")).expect("a good jid")
    }

    fn queue(&self) -> QueueName {
        QueueName::new(self.queue.clone().expect("a queue")).expect("a good queue")
    }

    fn worker(&self) -> WorkerId {
        WorkerId::new(self.worker.clone().expect("a worker")).expect("a good worker")
    }

    fn tags(&self) -> Vec<Tag> {
        tags(self.tags.iter().flatten().map(String::as_str))
    }
}

fn tags<'t>(names: impl Iterator<Item = &'t str>) -> Vec<Tag> {
    names.map(|name| Tag::new(name).expect("a good tag")).collect()
}

impl Verbs {
    pub(super) async fn call(&mut self, hive: &Hive, call: &Call) -> Result<Reply, Error> {
        // Half a surrogate pair is all that can be wrong with what Node sends.
        let Ok(args) = serde_json::from_str::<Args>(&call.args) else {
            return Ok(Reply::Refused("invalid unicode escape"));
        };
        match call.call.as_str() {
            "job/put" => submit(hive, &args).await,
            "job/pop" => self.claim(hive, &args).await,
            "job/hash" => self.check_duplicate(hive, &args).await,
            "job/done" => {
                let result = args.result.as_ref().map_or("null", |result| result.get()).to_owned();
                self.settle(hive, &args, End::Completed { result, ttl_ms: None }).await
            }
            "job/failed" => self.settle(hive, &args, End::Failed(failure(&args))).await,
            "job/cancel" => match hive.cancel_even_completed(&args.jid()).await {
                Ok(_) => Ok(Reply::Value(json!(1))),
                Err(error) => nothing_if_missing(error),
            },
            "job/load" => match hive.job(&args.jid()).await {
                Ok(job) => Ok(Reply::Value(snapshot(hive, &job).await?)),
                Err(error) => nothing_if_missing(error),
            },
            "job/setTags" => match hive.set_tags(&args.jid(), &args.tags()).await {
                Ok(()) => Ok(Reply::Value(Json::Null)),
                Err(error @ Error::NoSuchJob { .. }) => Ok(Reply::Invalid(error.to_string())),
                Err(error) => Err(error),
            },
            "bee/heartbeat" => {
                hive.heartbeat(&args.queue(), &args.worker(), LOCK, None).await?;
                Ok(Reply::Value(Json::Null))
            }
            "bee/expired" => {
                hive.sweep(&args.queue(), &WorkerTimeouts::BEE, "", &[]).await?;
                Ok(Reply::Value(Json::Null))
            }
            other => panic!("no such call: {other}"),
        }
    }

    async fn claim(&mut self, hive: &Hive, args: &Args) -> Result<Reply, Error> {
        let max = args.max.expect("a number of jobs");
        let claimed = hive.claim(&args.queue(), &args.worker(), max, LOCK).await?;
        let mut snapshots = Vec::new();
        for job in claimed.jobs {
            snapshots.push(snapshot(hive, &job).await?);
            self.claimed.insert(job.jid().to_owned(), job);
        }
        Ok(Reply::Value(snapshots.into()))
    }

    async fn check_duplicate(&mut self, hive: &Hive, args: &Args) -> Result<Reply, Error> {
        let job = match self.claimed.get(args.jid().as_str()) {
            Some(job) => job.clone(),
            // Claimed by the original, or by nobody.
            None => match hive.job(&args.jid()).await {
                Err(Error::NoSuchJob { .. }) => return Ok(Reply::Refused("doesn't exist")),
                job => job?,
            },
        };
        let hash = JobHash::new(text(args.hash.as_ref().expect("a hash"))).expect("a good hash");
        let checked = hive.check_duplicates(&args.queue(), &args.worker(), &[(&job, hash)]).await?;
        Ok(match &checked[0] {
            Checked::Original => Reply::Value(json!(false)),
            Checked::DuplicateOf(original) => Reply::Value(json!(original)),
            Checked::NotOurs(verdict) => verdict_reply(*verdict, args),
        })
    }

    /// The hash that we find for the job of a call, where the original sent the one that it found.
    pub(super) fn data_hash(&self, call: &Call) -> Option<String> {
        let args = call.args();
        let is_digest = args["hash"].as_str()?.len() == 40;
        let job = self.claimed.get(args["jid"].as_str()?)?;
        is_digest.then(|| job.data_hash().expect("stored JSON"))
    }

    async fn settle(&mut self, hive: &Hive, args: &Args, end: End) -> Result<Reply, Error> {
        let outcome = Outcome {
            jid: args.jid().to_string(),
            attempt: self.claimed.get(args.jid().as_str()).map(Job::attempts),
            options: args.options.as_ref().map(|options| options.get().to_owned()),
            end,
            told: None,
        };
        let settled = hive.settle(&args.queue(), &args.worker(), &[outcome], 0, LOCK).await?;
        Ok(verdict_reply(settled.verdicts[0], args))
    }

    /// A plain command of the original's client.
    pub(super) async fn command(&mut self, hive: &Hive, command: &[String]) -> Result<Json, Error> {
        let names = || command[1..].iter().map(|key| key.rsplit(':').next().unwrap_or_default());
        match command[0].as_str() {
            "PUBLISH" => {
                let message: Json = serde_json::from_str(&command[2]).expect("a message");
                let jid = Jid::new(text(&message["jid"]))?;
                let job = hive.job(&jid).await?;
                let value = message["progress"].clone();
                let progress = Progress::of(&job, value, None, hive.now_ms())?;
                hive.publish_progress(&job, &progress).await?;
                Ok(Json::Null)
            }
            "SINTER" => {
                let group = Group::new("bee").expect("a good group");
                let mut found = hive.search(&group, &tags(names())).await?;
                found.sort();
                Ok(json!(found))
            }
            // Numbers that clients read from the keys themselves.
            "ZCARD" | "ZRANK" => {
                let mut read = redis::cmd(&command[0]);
                read.arg(&command[1..]);
                let number: Option<u64> = read.query_async(&mut hive.store().connection()).await?;
                Ok(json!(number))
            }
            other => panic!("no such command: {other}"),
        }
    }
}

async fn submit(hive: &Hive, args: &Args) -> Result<Reply, Error> {
    let options: Options =
        serde_json::from_str(args.options.as_ref().expect("options").get()).expect("all options");
    let jid = |text: &String| Jid::new(text.clone()).expect("a good jid");
    let mut job = Submission::to(args.queue())
        .id(args.jid())
        .args_json(args.data.as_ref().expect("arguments").get())?
        .priority(number(&options.priority))
        .delay_ms(options.delay)
        .ttl_ms(options.ttl);
    // The original's submissions cannot choose these, and whoever does is remembered for it.
    if options.retries != DEFAULT_RETRIES {
        job = job.retries(options.retries);
    }
    if options.progressive_delay || options.retry_delay != DEFAULT_RETRY_DELAY_MS {
        job = job.retry_delay_ms(options.retry_delay, options.progressive_delay);
    }
    job = options.dependencies.iter().map(jid).fold(job, Submission::after);
    job = args.tags().into_iter().fold(job, Submission::tag);
    job = args.parent.iter().map(jid).fold(job, Submission::parent);
    if options.dependencies_on_tags {
        job = job.after_tags();
    }
    if let Some(host) = options.preferred_hostname.as_str() {
        job = job.preferred_host(&Hostname::new(host).expect("a good host name"));
    }
    Ok(match hive.submit(job).await {
        Ok(jid) => Reply::Value(json!(jid.as_str())),
        Err(Error::ParentCanceled { .. }) => Reply::Value(Json::Null),
        Err(Error::Exists { .. }) => Reply::Refused("already exists"),
        Err(error @ Error::Invalid { .. }) => Reply::Invalid(error.to_string()),
        Err(error) => return Err(error),
    })
}

/// A number, also as text.
fn number(value: &Json) -> f64 {
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).unwrap_or(f64::NAN)
}

/// A text, or the text of what is none.
fn text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn failure(args: &Args) -> Failure {
    let Some(exception) = &args.exception else { return Failure::new("null") };
    Failure {
        message: text(&exception.message),
        retry: exception.retry != json!(false),
        retry_delay: Some(exception.retry_delay),
        progressive_delay: Some(exception.progressive_delay),
        snooze_ms: None,
    }
}

fn verdict_reply(verdict: Verdict, args: &Args) -> Reply {
    match verdict {
        Verdict::Ok | Verdict::Canceled => Reply::Value(json!(args.jid().as_str())),
        Verdict::Gone => Reply::Refused("doesn't exist"),
        Verdict::Lost => Reply::Refused("Not your job"),
    }
}

fn nothing_if_missing(error: Error) -> Result<Reply, Error> {
    match error {
        Error::NoSuchJob { .. } => Ok(Reply::Value(Json::Null)),
        error => Err(error),
    }
}

/// A job as the original hands it out.
async fn snapshot(hive: &Hive, job: &Job) -> Result<Json, Error> {
    let parsed = |text: Option<&str>| {
        text.map_or(json!({}), |text| serde_json::from_str(text).expect("stored JSON"))
    };
    let or_false = |text: Option<&str>| text.map_or(json!(false), Json::from);
    let duplicate = match job.duplicate_of() {
        None => json!(false),
        Some(jid) => {
            let original = hive.job(&Jid::new(jid)?).await?;
            json!({
                "jid": jid,
                "status": original.status().as_str(),
                "result": parsed(original.result()),
                "failedReason": or_false(original.failed_reason()),
            })
        }
    };
    Ok(json!({
        "jid": job.jid(),
        "parent": or_false(job.parent()),
        "data": parsed(Some(job.data())),
        "queue": job.queue(),
        "worker": job.worker(),
        "hash": or_false(job.hash()),
        "status": job.status().as_str(),
        "options": parsed(Some(job.options_json())),
        "submitted": job.submitted(),
        "retries": job.retries(),
        "tags": job.tags(),
        "result": parsed(job.result()),
        "failedReason": or_false(job.failed_reason()),
        "duplicate": duplicate,
        "history": job.history(),
        "dependants": job.dependants(),
    }))
}
