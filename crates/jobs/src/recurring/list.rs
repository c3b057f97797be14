//! Looking at the list: which jobs there are and when each runs next.

use jiff::Timestamp;

use super::{
    definition::Definition,
    error::Error,
    keys,
    plan::Digests,
    service::{InForce, Recurring, from_score},
};

/// All recurring jobs as they stand in the store.
#[derive(Debug)]
pub struct Listing {
    /// Whether the list of this program is the one that runs.
    pub state: ListState,
    /// The jobs of the list in its order, then those that were defined at run time, by name.
    pub jobs: Vec<Listed>,
    /// Names of jobs whose definitions in the store cannot be read, and why.
    pub unreadable: Vec<(String, Error)>,
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

/// One recurring job.
#[derive(Debug)]
pub struct Listed {
    /// Its definition.
    pub definition: Definition,
    /// Where it is defined.
    pub source: Source,
    /// When it is due next; in the past if it is due now. While the list is not in force, when it would be.
    pub next_run: Option<Timestamp>,
    /// Whether it is paused.
    pub paused: bool,
}

/// Where a recurring job is defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// In the list of this program.
    List {
        /// The digest by which the store knows it.
        digest: String,
    },
    /// In the store, at run time.
    Store {
        /// The version of the definition.
        version: u64,
        /// When it was created, in unix milliseconds.
        created_at: u64,
        /// When it was last changed, in unix milliseconds.
        changed_at: u64,
    },
}

impl Listed {
    /// The digest of a job of the list.
    pub fn digest(&self) -> Option<&str> {
        match &self.source {
            Source::List { digest } => Some(digest),
            Source::Store { .. } => None,
        }
    }

    /// The version of a job that was defined at run time.
    pub fn version(&self) -> Option<u64> {
        match self.source {
            Source::List { .. } => None,
            Source::Store { version, .. } => Some(version),
        }
    }
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
            source: Source::List { digest: digest.clone() },
            paused: paused[place],
        });
        let mut listing = Listing { state, jobs: jobs.collect(), unreadable: Vec::new() };
        for scheduled in self.all_defined().await? {
            match scheduled.defined {
                Ok(defined) => listing.jobs.push(Listed {
                    source: Source::Store {
                        version: defined.version,
                        created_at: defined.created_at,
                        changed_at: defined.changed_at,
                    },
                    definition: defined.definition,
                    next_run: scheduled.next_run,
                    paused: defined.paused,
                }),
                Err(error) => listing.unreadable.push((scheduled.name, error)),
            }
        }
        Ok(listing)
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
