//! The jobs of the hot queue that are about progress bars, for whoever runs a worker.

use std::time::Duration;

use keyrack_keys::UserSub;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{error::Error, example::ExampleJob, service::Progress};

/// Counts a completed trace.
pub const HANDLE_COMPLETED_TRACE: &str = "runners.handle_completed_trace";
/// Works out how long a new trace will take; the answer is announced.
pub const CALC_PBAR_ETA: &str = "runners.calc_pbar_eta";
/// Takes its time to find a number, and reports a trace meanwhile.
pub const HANDLE_EXAMPLE_JOB: &str = "runners.handle_example_job";
/// The names of all jobs that [`Progress::handle`] knows.
pub const JOBS: [&str; 3] = [HANDLE_COMPLETED_TRACE, CALC_PBAR_ETA, HANDLE_EXAMPLE_JOB];

/// The first pause before a job is tried again, which then doubles.
const PAUSE_MIN: Duration = Duration::from_millis(100);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// How often a job is tried: for about two minutes, in which a server restarts or another takes over.
const ATTEMPTS_MAX: usize = 30;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CompletedTrace {
    user_sub: String,
    pbar_name: String,
    trace_uid: String,
    #[serde(default)]
    expected_pbar_version: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CalcEta {
    user_sub: String,
    pbar_name: String,
    // The worker announces the answer under this id.
    #[serde(rename = "job_uid")]
    _job_uid: String,
}

impl Progress {
    /// Does a job of the hot queue; what it returns is to be announced on `ps:job:<job_uid>`.
    ///
    /// A worker drops a job that failed, so while the store cannot be reached the job waits and tries again. It may be run any number of
    /// times.
    ///
    /// # Errors
    /// When the job is not one of [`JOBS`], its arguments do not fit, or the store failed for two minutes.
    pub async fn handle(
        &self,
        name: &str,
        kwargs: &Map<String, Value>,
    ) -> Result<Option<Value>, Error> {
        let mut pause = PAUSE_MIN;
        for _ in 1..ATTEMPTS_MAX {
            match self.handle_once(name, kwargs).await {
                Err(error) if error.is_transient() => {
                    tracing::warn!(job = name, %error, "the job is tried again");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                outcome => return outcome,
            }
        }
        self.handle_once(name, kwargs).await
    }

    async fn handle_once(
        &self,
        name: &str,
        kwargs: &Map<String, Value>,
    ) -> Result<Option<Value>, Error> {
        match name {
            HANDLE_COMPLETED_TRACE => {
                let job: CompletedTrace = read(name, kwargs)?;
                let user = UserSub::new(job.user_sub)?;
                let (bar, trace, version) =
                    (&job.pbar_name, &job.trace_uid, job.expected_pbar_version);
                let handled = self.handle_completed(&user, bar, trace, version).await?;
                tracing::debug!(bar, trace, ?handled, "a completed trace");
                Ok(None)
            }
            CALC_PBAR_ETA => {
                let job: CalcEta = read(name, kwargs)?;
                let eta = self.fresh_eta(&UserSub::new(job.user_sub)?, &job.pbar_name).await?;
                Ok(Some(serde_json::to_value(eta).expect("plain values become JSON")))
            }
            HANDLE_EXAMPLE_JOB => {
                let job: ExampleJob = read(name, kwargs)?;
                self.run_example(&UserSub::new(&*job.sub)?, &job).await?;
                Ok(None)
            }
            _ => {
                let reason = "nobody taught it here".to_owned();
                Err(Error::BadJob { name: name.to_owned(), reason })
            }
        }
    }
}

fn read<T: DeserializeOwned>(name: &str, kwargs: &Map<String, Value>) -> Result<T, Error> {
    T::deserialize(Value::Object(kwargs.clone()))
        .map_err(|error| Error::BadJob { name: name.to_owned(), reason: error.to_string() })
}
