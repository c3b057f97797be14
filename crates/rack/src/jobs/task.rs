//! A type whose values are jobs.

use serde::{Serialize, de::DeserializeOwned};

use super::submit::{Submit, Submitter};

/// A kind of job: its value is what a handler needs to know, and it is stored as JSON.
///
/// ```
/// use keyrack::prelude::*;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Charge {
///     card: String,
///     cents: u64,
/// }
///
/// impl Task for Charge {
///     const QUEUE: &str = "charges";
///     type Output = String;
///
///     fn options(submit: Submit<Self>) -> Submit<Self> {
///         submit.retries(3).timeout(secs(30))
///     }
/// }
/// # use keyrack::jobs::Submit;
/// ```
pub trait Task: Serialize + DeserializeOwned + Send + 'static {
    /// The queue of these jobs. Queues whose names begin with the same `NAME/` can depend on each other on a cluster.
    const QUEUE: &'static str;

    /// What a handler returns, stored as JSON.
    type Output: Serialize + DeserializeOwned + Send + 'static;

    /// What all jobs of this kind are submitted with, unless one says otherwise.
    fn options(submit: Submit<Self>) -> Submit<Self> {
        submit
    }

    /// Submits the task when the answer is awaited; before that, its options can be set. Takes [`Jobs`](super::Jobs), or the
    /// [`Context`](super::Context) of a handler, whose job then is the parent: they are canceled together.
    fn submit(&self, to: impl Into<Submitter>) -> Submit<Self> {
        Self::options(Submit::new(self, to.into()))
    }
}
