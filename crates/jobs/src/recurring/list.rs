//! Looking at the list: which jobs there are and when each runs next.

use jiff::Timestamp;

use super::{
    definition::Definition,
    error::Error,
    keys,
    plan::Digests,
    service::{InForce, Recurring, from_score},
};

/// The list as it stands in the store.
#[derive(Debug)]
pub struct Listing {
    /// Whether this list is the one that runs.
    pub state: ListState,
    /// The jobs, in the order of their definitions.
    pub jobs: Vec<Listed>,
}

/// Whether a list is the one that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListState {
    /// It is in force.
    InForce,
    /// No scheduler has put any list in force yet.
    NoList,
    /// Another list is in force, of this digest.
    OtherList(String),
}

/// One job of the list.
#[derive(Debug)]
pub struct Listed {
    /// Its definition.
    pub definition: Definition,
    /// The digest by which the store knows it.
    pub digest: String,
    /// When it is due next; in the past if it is due now. While the list is not in force, when it would be.
    pub next_run: Option<Timestamp>,
    /// Whether it is paused.
    pub paused: bool,
}

impl Recurring {
    /// All jobs with their next runs.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn list(&self) -> Result<Listing, Error> {
        let now = self.now();
        let (state, digests) = match self.in_force().await? {
            InForce::Ours(digests) => (ListState::InForce, digests),
            InForce::Nobodys => (ListState::NoList, self.plan.digests(now).into()),
            InForce::Others(list) => (ListState::OtherList(list), self.plan.digests(now).into()),
        };
        let (scores, paused) = self.look_up(&digests).await?;
        let jobs = self.definitions().iter().zip(&digests.jobs).enumerate();
        let jobs = jobs.map(|(place, (definition, digest))| Listed {
            next_run: from_score(scores[place].as_deref().unwrap_or_default())
                .or_else(|| definition.schedule().next_after(now)),
            definition: definition.clone(),
            digest: digest.clone(),
            paused: paused[place],
        });
        Ok(Listing { state, jobs: jobs.collect() })
    }

    /// Score and pause of each job.
    async fn look_up(&self, digests: &Digests) -> Result<(Vec<Option<String>>, Vec<bool>), Error> {
        if digests.jobs.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let store = self.store();
        let mut pipeline = redis::pipe();
        pipeline.cmd("ZMSCORE").arg(&*store.place(&keys::rjobs())).arg(&digests.jobs);
        pipeline.cmd("SMISMEMBER").arg(&*store.place(&keys::paused())).arg(&digests.jobs);
        Ok(pipeline.query_async(&mut store.connection()).await?)
    }
}
