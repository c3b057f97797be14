//! The services, opened once.

use std::sync::{Arc, OnceLock};

use keyrack_calculations::Accounts;
use keyrack_entitlements::{Checkout, Entitlements, LIMITS_QUOTA, NoSource};
use keyrack_files::Buckets;
use keyrack_identity::Identity;
use keyrack_jobs::{
    Error,
    bee::{Hive, Waiters},
    hot,
    recurring::{self, Definition, Recurring},
};
use keyrack_journeys::{Journeys, Live, SESSIONS_QUOTA, Tickets};
use keyrack_progress::Progress;
use keyrack_recommender::{self as recommender, Recommender};
use keyrack_store::Store;
use keyrack_updates::{Secret, keys::Repo};
use keyrack_webhooks::Webhooks;
use tokio::sync::OnceCell;

use crate::{
    LintWatch, Recommendations, alerts::AlertReader, census::Census, queue_list::QueueList,
};

/// Where recurring jobs come from that are not defined at run time.
pub const RECURRING_ORIGIN: &str = "the server's settings ([[recurring]] in keyrack.toml)";

/// Every service, over one store.
#[derive(Debug)]
pub struct Services {
    /// Where everything is stored.
    pub store: Store,
    /// Users, tokens and the audit log.
    pub identity: Identity,
    /// Progress bars and traces.
    pub progress: Progress,
    /// Rollups over event values.
    pub calculations: Accounts,
    /// What people do together, live.
    pub journeys: Journeys,
    /// The journeys that are watched.
    pub live: Live,
    /// Who may take part in journeys, if anybody.
    pub tickets: Option<Tickets>,
    /// Who may announce updates, if anybody.
    pub deploys: Option<Deploys>,
    /// What users have paid for, if anybody knows.
    pub billing: Option<Billing>,
    /// How many limits a user may keep.
    pub limits_max: u64,
    /// Where files are, if this process knows.
    pub buckets: Option<Buckets>,
    /// What to show to whom.
    pub recommendations: Recommendations,
    /// Where events are sent.
    pub webhooks: Webhooks,
    /// How many keys of each family there are.
    pub census: Census,
    /// Whether they are as declared, if somebody looks.
    pub lint: LintWatch,
    pub(crate) alerts: AlertReader,
    pub(crate) queue_list: Arc<QueueList>,
    definitions: Vec<Definition>,
    jobs: OnceCell<Jobs>,
    stored_entitlements: OnceLock<Entitlements>,
}

/// What the settings say about the services. The default is what works without any settings.
#[derive(Debug, Default)]
pub struct Options {
    /// Who is known; users are known by user tokens unless given.
    pub identity: Option<Identity>,
    /// Recurring jobs.
    pub recurring: Vec<Definition>,
    /// How much one user may have.
    pub quotas: Quotas,
    /// Who may take part in journeys, if anybody.
    pub tickets: Option<Tickets>,
    /// Who may announce updates, if anybody.
    pub deploys: Option<Deploys>,
    /// What users have paid for, if anybody knows.
    pub billing: Option<Billing>,
    /// Where files are, if this process knows.
    pub buckets: Option<Buckets>,
    /// A recommender with settings or tables of its own.
    pub recommendations: Option<Recommendations>,
    /// How webhooks are delivered.
    pub webhooks: keyrack_webhooks::Settings,
}

/// The job queues.
#[derive(Debug)]
pub struct Jobs {
    /// The queues themselves.
    pub hive: Hive,
    /// Who waits for the end of a job.
    pub waiters: Waiters,
}

/// What is sold, and how it is paid for.
#[derive(Debug, Clone)]
pub struct Billing {
    /// What users have paid for.
    pub entitlements: Entitlements,
    /// How they pay, if that goes through this server.
    pub checkout: Option<Checkout>,
}

/// Who may announce, and what.
#[derive(Debug)]
pub struct Deploys {
    /// What they have to know.
    pub secret: Secret,
    /// The repositories there are.
    pub repos: Vec<Repo>,
}

/// How much one user may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    /// Limits kept at a time.
    pub limits: u64,
    /// Progress bars and traces.
    pub progress: keyrack_progress::Quotas,
    /// Sessions on journeys within a day.
    pub sessions: u64,
}

impl Default for Quotas {
    fn default() -> Quotas {
        let progress = keyrack_progress::Quotas::default();
        Quotas { limits: LIMITS_QUOTA, progress, sessions: SESSIONS_QUOTA }
    }
}

impl Services {
    /// The services over a store. Nothing is read or written yet: a server starts while its store is away.
    pub fn new(store: Store, options: Options) -> Services {
        let Options {
            identity,
            recurring,
            quotas,
            tickets,
            deploys,
            billing,
            buckets,
            recommendations,
            webhooks,
        } = options;
        let journeys = Journeys::new(store.clone()).with_sessions_quota(quotas.sessions);
        let progress = Progress::open(store.clone(), hot::keys::hot());
        Services {
            identity: identity.unwrap_or_else(|| Identity::new(store.clone())),
            progress: progress.with_quotas(quotas.progress),
            calculations: Accounts::open(store.clone()),
            live: Live::new(journeys.clone()),
            journeys,
            tickets,
            deploys,
            billing,
            limits_max: quotas.limits,
            buckets,
            recommendations: recommendations.unwrap_or_else(|| {
                let settings = recommender::Settings::default();
                Recommendations::new(Recommender::new(store.clone(), settings))
            }),
            webhooks: Webhooks::new(store.clone(), webhooks),
            census: Census::new(store.clone()),
            lint: LintWatch::default(),
            alerts: AlertReader::default(),
            queue_list: Arc::default(),
            definitions: recurring,
            jobs: OnceCell::new(),
            stored_entitlements: OnceLock::new(),
            store,
        }
    }

    /// The job queues, opened when they are first asked for: the server runs while its store is away.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn jobs(&self) -> Result<&Jobs, Error> {
        let open = async || {
            let hive = Hive::open(self.store.clone()).await?;
            let waiters = Waiters::new(&hive);
            Ok(Jobs { hive, waiters })
        };
        self.jobs.get_or_try_init(open).await
    }

    /// The entitlements of this process, or those that the store knows if it has no billing provider.
    ///
    /// # Errors
    /// When they cannot be opened.
    pub fn entitlements(&self) -> Result<&Entitlements, keyrack_entitlements::Error> {
        if let Some(billing) = &self.billing {
            return Ok(&billing.entitlements);
        }
        if let Some(opened) = self.stored_entitlements.get() {
            return Ok(opened);
        }
        let settings = keyrack_entitlements::Settings::default();
        let opened = Entitlements::open(self.store.clone(), Arc::new(NoSource), settings)?;
        Ok(self.stored_entitlements.get_or_init(|| opened))
    }

    /// The list of recurring jobs.
    ///
    /// # Errors
    /// When the store cannot be reached, or a definition is wrong.
    pub async fn recurring(&self) -> Result<Recurring, recurring::Error> {
        let jobs = self.jobs().await.map_err(|error| match error {
            Error::Store(error) => recurring::Error::Store(error),
            source => recurring::Error::Bee { queue: String::new(), source },
        })?;
        let recurring = Recurring::new(jobs.hive.clone(), self.definitions.clone())?;
        Ok(recurring.with_origin(RECURRING_ORIGIN))
    }
}
