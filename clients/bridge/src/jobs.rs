//! Calls about jobs.

use keyrack_jobs::{
    Error,
    bee::{
        Hive, Limits, StoredJob, Submission, SubmissionBody, SubmitOutcome,
        keys::{Jid, QueueName},
        logs::LOG_LINES_MAX,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    error::Failure,
    parts::{milliseconds, to_json},
};

/// Jobs to be submitted: a list of arguments for each, and options for all, in the words of a stored job.
#[derive(Deserialize)]
pub(crate) struct Submit<'a> {
    #[serde(borrow)]
    queue: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    jobs: Vec<&'a RawValue>,
    options: &'a RawValue,
    /// A job that was submitted under the same key is as good as new.
    key: Option<String>,
}

impl Submit<'_> {
    /// Submits the jobs, and returns the id of each; with the word for what has become of it unless it is a new job.
    pub(crate) async fn run(self, hive: &Hive) -> Result<String, Failure> {
        let queue = QueueName::new(self.queue.as_ref())?;
        let body: SubmissionBody = serde_json::from_str(self.options.get())
            .map_err(|error| Failure::invalid(format!("options: {error}")))?;
        let pattern = body.to_queue(queue.clone())?;
        let n = self.jobs.len();
        let mut submissions = Vec::with_capacity(n);
        for (place, arguments) in self.jobs.iter().enumerate() {
            let mut job = pattern.clone().args_json(arguments.get())?;
            if let Some(key) = &self.key {
                let name = if n > 1 { format!("{key}\n{place}") } else { key.clone() };
                job = job.id(Jid::derived(&queue, &name)).remembered();
            }
            submissions.push(job);
        }
        let asked = if self.key.is_some() { submissions.clone() } else { Vec::new() };
        let mut told = Vec::with_capacity(n);
        for (place, answer) in hive.submit_each(submissions).await?.into_iter().enumerate() {
            told.push(match answer {
                Ok(stored) => SubmitReply::new(stored),
                Err(Error::Exists { jid }) if self.key.is_some() => {
                    repeated(hive, jid, &asked[place]).await?
                }
                Err(error @ Error::Invalid { .. }) if n > 1 => {
                    return Err(Failure::invalid(format!("job {} of {n}: {error}", place + 1)));
                }
                Err(error) => return Err(error.into()),
            });
        }
        Ok(to_json(&told))
    }
}

/// What a submission is answered with. Most are new jobs, of which the id is enough.
#[derive(Serialize)]
#[serde(untagged)]
enum SubmitReply {
    Created(String),
    Other(String, SubmitOutcome),
}

impl SubmitReply {
    fn new(StoredJob { jid, outcome }: StoredJob) -> SubmitReply {
        match outcome {
            SubmitOutcome::Created => SubmitReply::Created(jid.to_string()),
            outcome => SubmitReply::Other(jid.to_string(), outcome),
        }
    }
}

/// The job that was submitted under this key before.
async fn repeated(hive: &Hive, jid: String, asked: &Submission) -> Result<SubmitReply, Failure> {
    if hive.is_repeat(&Jid::new(jid.as_str())?, asked).await? {
        return Ok(SubmitReply::Other(jid, SubmitOutcome::Existing));
    }
    let message = format!(
        "the job \"{jid}\" was submitted with this idempotency key and other arguments or options; use a new key"
    );
    Err(Failure::new("conflict", message))
}

/// Lines of a job's log, from a number on.
#[derive(Deserialize)]
pub(crate) struct Logs<'a> {
    id: std::borrow::Cow<'a, str>,
    from: u64,
}

impl Logs<'_> {
    /// The lines that are there.
    pub(crate) async fn read(self, hive: &Hive) -> Result<String, Failure> {
        let jid = Jid::new(self.id.as_ref())?;
        let page = hive.log(&jid, self.from, LOG_LINES_MAX).await?;
        if page.next == 0 && page.dropped == 0 {
            // A job without a log, or no job.
            hive.job(&jid).await?;
        }
        Ok(to_json(&page))
    }

    /// Waits for lines; null once the job has ended and there are no more.
    pub(crate) async fn follow(self, hive: &Hive) -> Result<String, Failure> {
        let jid = Jid::new(self.id.as_ref())?;
        hive.job(&jid).await?;
        Ok(to_json(&hive.follow_log(&jid, self.from).await?.next().await?))
    }
}

#[derive(Deserialize)]
pub(crate) struct ById<'a> {
    id: std::borrow::Cow<'a, str>,
    /// Milliseconds; for calls that wait.
    #[serde(default)]
    timeout: f64,
}

impl ById<'_> {
    fn jid(&self) -> Result<Jid, Failure> {
        Ok(Jid::new(self.id.as_ref())?)
    }

    /// The job.
    pub(crate) async fn job(self, hive: &Hive) -> Result<String, Failure> {
        Ok(to_json(&hive.job(&self.jid()?).await?))
    }

    /// The job at its end, or null if that has not come in time.
    pub(crate) async fn outcome(self, hive: &Hive) -> Result<String, Failure> {
        let ended = hive.outcome(&self.jid()?, milliseconds(self.timeout)).await?;
        Ok(to_json(&ended))
    }

    /// Cancels the job and its children, and returns their ids.
    pub(crate) async fn cancel(self, hive: &Hive) -> Result<String, Failure> {
        Ok(to_json(&hive.cancel(&self.jid()?).await?))
    }

    /// Lets a job that has failed or was canceled run again.
    pub(crate) async fn retry(self, hive: &Hive) -> Result<String, Failure> {
        hive.retry(&self.jid()?).await?;
        Ok("null".to_owned())
    }

    /// Why a job does not run, in sentences.
    pub(crate) async fn why(self, hive: &Hive) -> Result<String, Failure> {
        Ok(to_json(&hive.why(&self.jid()?).await?))
    }
}

#[derive(Deserialize)]
pub(crate) struct ByIds<'a> {
    #[serde(borrow)]
    ids: Vec<std::borrow::Cow<'a, str>>,
    /// Milliseconds.
    timeout: f64,
}

impl ByIds<'_> {
    /// The jobs at their ends: each as a list of it, or of null and the failure of that one. A job that has not ended in time is
    /// null.
    pub(crate) async fn outcomes(self, hive: &Hive) -> Result<String, Failure> {
        let jids: Result<Vec<Jid>, _> = self.ids.iter().map(|id| Jid::new(id.as_ref())).collect();
        let outcomes = hive.outcomes(jids?, milliseconds(self.timeout)).await;
        let told = outcomes.into_iter().map(|outcome| match outcome {
            Ok(job) => format!("[{}]", to_json(&job)),
            Err(error) => format!("[null,{}]", to_json(&Failure::from(error))),
        });
        Ok(format!("[{}]", told.collect::<Vec<_>>().join(",")))
    }
}

#[derive(Deserialize)]
pub(crate) struct ByQueue<'a> {
    queue: std::borrow::Cow<'a, str>,
}

impl ByQueue<'_> {
    fn name(&self) -> Result<QueueName, Failure> {
        Ok(QueueName::new(self.queue.as_ref())?)
    }

    /// Lets no more jobs of the queue start.
    pub(crate) async fn pause(self, hive: &Hive) -> Result<String, Failure> {
        hive.pause(&self.name()?).await?;
        Ok("null".to_owned())
    }

    /// Lets jobs of the queue start again.
    pub(crate) async fn resume(self, hive: &Hive) -> Result<String, Failure> {
        hive.resume(&self.name()?).await?;
        Ok("null".to_owned())
    }

    /// How many jobs the queue has in which state, and who works on them.
    pub(crate) async fn stats(self, hive: &Hive) -> Result<String, Failure> {
        Ok(to_json(&hive.stats(&self.name()?).await?))
    }

    /// What limits the queue.
    pub(crate) async fn limits(self, hive: &Hive) -> Result<String, Failure> {
        Ok(to_json(&hive.limits(&self.name()?).await?))
    }
}

/// Limits of a queue, in the words of HTTP. They replace all that it has.
#[derive(Deserialize)]
pub(crate) struct SetLimits<'a> {
    queue: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    limits: &'a RawValue,
}

impl SetLimits<'_> {
    pub(crate) async fn run(self, hive: &Hive) -> Result<String, Failure> {
        let queue = QueueName::new(self.queue.as_ref())?;
        let limits: Limits = serde_json::from_str(self.limits.get())
            .map_err(|error| Failure::invalid(format!("limits: {error}")))?;
        hive.set_limits(&queue, &limits).await?;
        Ok("null".to_owned())
    }
}
