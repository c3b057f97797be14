//! The store itself.

use std::{borrow::Cow, sync::Arc};

use keyrack_engine::{Engine, Host, SteadyClock, SystemHost, SystemTimeSource, TimeSource};
use keyrack_keys::{Key, Layout};
use redis::aio::ConnectionLike;

use crate::{
    blocking::BlockingConnection,
    clock::{self, Clock, EngineClock},
    connection::{Backend, Connection},
    error::Error,
    open::{self, Opened},
    subscription::{Hub, Subscription},
    url::StoreUrl,
};

/// A store of keys. Cheap to clone; all clones are the same store.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    url: StoreUrl,
    opened: Opened,
    connection: Connection,
    hub: Hub,
    clock: Arc<dyn Clock>,
    layout: Layout,
}

/// What kind of store is open, for people; code must not need to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The engine in this process.
    Embedded,
    /// One server.
    Server,
    /// A primary that Sentinels name.
    Sentinel,
    /// A cluster.
    Cluster,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kind::Embedded => "embedded",
            Kind::Server => "server",
            Kind::Sentinel => "sentinel",
            Kind::Cluster => "cluster",
        })
    }
}

/// What a store can be given beside its URL.
#[derive(Default)]
pub struct Options {
    /// Where the time comes from; the store's own clock unless set.
    pub clock: Option<Arc<dyn Clock>>,
    /// Where the embedded engine has its own time and chance from.
    pub host: Option<Box<dyn Host>>,
    /// The clocks of this machine; a test can set them.
    pub time_source: Option<Arc<dyn TimeSource>>,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("clock", &self.clock).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens a store; see [`StoreUrl`] for what a URL can say.
    ///
    /// # Errors
    /// One clear reason: a bad URL, nothing at the address, a refused password, a missing database, a server that is
    /// too old or read-only, a folder that is damaged or in use.
    pub async fn open(url: &str) -> Result<Store, Error> {
        Store::open_with(url.parse()?, Options::default()).await
    }

    /// Opens a store with a clock of one's own.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub async fn open_with(url: StoreUrl, mut options: Options) -> Result<Store, Error> {
        let steady = match &options.time_source {
            Some(source) => Arc::new(SteadyClock::new(source.clone())),
            None => SteadyClock::system(),
        };
        if options.host.is_none() {
            options.host = Some(Box::new(SystemHost::with_clock(steady.clone())));
        }
        let opened = open::open(&url, &mut options).await?;
        let backend = backend(&opened, 0)?;
        let clock: Arc<dyn Clock> = match (options.clock, &opened) {
            (Some(clock), _) => clock,
            (None, Opened::Embedded(_)) => Arc::new(EngineClock(steady)),
            (None, opened) => {
                let source = options.time_source.unwrap_or_else(|| Arc::new(SystemTimeSource));
                let connection = Connection { backend: backend.clone() };
                clock::of_server(&connection, source, opened.switches()).await?
            }
        };
        let layout = native_layout(&opened);
        Ok(Store::new(url, opened, backend, clock, layout))
    }

    fn new(
        url: StoreUrl,
        opened: Opened,
        backend: Backend,
        clock: Arc<dyn Clock>,
        layout: Layout,
    ) -> Store {
        let hub = Hub::new(opened.clone());
        let connection = Connection { backend };
        Store { inner: Arc::new(Inner { url, opened, connection, hub, clock, layout }) }
    }

    /// A connection for commands and pipelines.
    pub fn connection(&self) -> Connection {
        self.inner.connection.clone()
    }

    /// A connection of one's own, for commands that wait.
    pub fn blocking(&self) -> BlockingConnection {
        BlockingConnection::new(self.inner.opened.clone(), self.db())
    }

    /// Listens to channels. Resolves once the subscription stands: what is published after that arrives.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn subscribe(&self, channels: &[Key]) -> Result<Subscription, Error> {
        let layout = self.layout();
        let names =
            channels.iter().map(|key| (key.placed(layout).into_owned(), key.name().to_owned()));
        self.inner.hub.subscribe(names.collect()).await
    }

    /// Publishes a message; returns how many received it, as far as the server that took it knows.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn publish(&self, channel: &Key, message: impl AsRef<[u8]>) -> Result<u64, Error> {
        let mut cmd = redis::cmd(self.publish_command());
        cmd.arg(&*self.place(channel)).arg(message.as_ref());
        Ok(cmd.query_async(&mut self.connection()).await?)
    }

    /// The same store seen through another numbered database.
    ///
    /// # Errors
    /// When there is no such database, which on a cluster is any but 0.
    pub async fn database(&self, db: i64) -> Result<Store, Error> {
        let no_such =
            |reason: String| Error::NoSuchDatabase { target: self.to_string(), db, reason };
        let opened = match &self.inner.opened {
            Opened::Embedded(engine) => Opened::Embedded(engine.clone()),
            Opened::Server { client, .. } => {
                let info = client.get_connection_info().clone();
                let settings = info.redis_settings().clone().set_db(db);
                let client = redis::Client::open(info.set_redis_settings(settings))?;
                // Ask once plainly: a manager would retry a refusal.
                let refused = |error: redis::RedisError| no_such(crate::error::text(&error));
                client.get_multiplexed_async_connection().await.map_err(refused)?;
                let connection =
                    client.get_connection_manager_with_config(open::manager_config()).await?;
                Opened::Server { client, connection }
            }
            Opened::Sentinel(primary) => Opened::Sentinel(primary.database(db).await?),
            Opened::Cluster { .. } if db == 0 => self.inner.opened.clone(),
            Opened::Cluster { .. } => return Err(no_such("a cluster has only database 0".into())),
        };
        let backend = backend(&opened, db)?;
        let layout = native_layout(&opened);
        Ok(Store::new(self.inner.url.clone(), opened, backend, self.inner.clock.clone(), layout))
    }

    /// The same store with keys named as on a cluster: hash tags keep owners apart who share a database.
    pub fn tagged(&self) -> Store {
        let inner = &self.inner;
        let backend = inner.connection.backend.clone();
        let (url, opened, clock) = (inner.url.clone(), inner.opened.clone(), inner.clock.clone());
        Store::new(url, opened, backend, clock, Layout::Cluster)
    }

    /// The number of the database this store looks at.
    pub fn db(&self) -> i64 {
        self.inner.connection.get_db()
    }

    /// The time by the store's own clock: all who share the store agree on it, whatever their machines are set to.
    pub fn now_ms(&self) -> u64 {
        self.inner.clock.now_ms()
    }

    /// Where the time comes from.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.inner.clock
    }

    /// The name under which a key is stored here.
    pub fn place<'a>(&self, key: &'a Key) -> Cow<'a, str> {
        key.placed(self.layout())
    }

    /// How keys are named here.
    pub fn layout(&self) -> Layout {
        self.inner.layout
    }

    /// Whose commands scripts publish with: a cluster's, however keys are named here.
    pub(crate) fn native_layout(&self) -> Layout {
        native_layout(&self.inner.opened)
    }

    /// What kind of store this is.
    pub fn kind(&self) -> Kind {
        match self.inner.opened {
            Opened::Embedded(_) => Kind::Embedded,
            Opened::Server { .. } => Kind::Server,
            Opened::Sentinel(_) => Kind::Sentinel,
            Opened::Cluster { .. } => Kind::Cluster,
        }
    }

    /// The embedded engine, to listen for Redis clients on it; other stores have their own port.
    pub fn engine(&self) -> Option<&Engine> {
        match &self.inner.opened {
            Opened::Embedded(engine) => Some(engine),
            _ => None,
        }
    }

    /// The store's URL, which shows no password.
    pub fn url(&self) -> &StoreUrl {
        &self.inner.url
    }

    /// On a cluster messages go through the sharded commands, so that they stay on the nodes that own the channel.
    pub(crate) fn publish_command(&self) -> &'static str {
        match self.native_layout() {
            Layout::Documented => "PUBLISH",
            Layout::Cluster => "SPUBLISH",
        }
    }
}

fn native_layout(opened: &Opened) -> Layout {
    match opened {
        Opened::Cluster { .. } => Layout::Cluster,
        Opened::Embedded(_) | Opened::Server { .. } | Opened::Sentinel(_) => Layout::Documented,
    }
}

fn backend(opened: &Opened, db: i64) -> Result<Backend, Error> {
    Ok(match opened {
        Opened::Embedded(engine) => {
            let number = usize::try_from(db).unwrap_or(usize::MAX);
            let connection = engine.connection(number).map_err(|error| Error::NoSuchDatabase {
                target: "the embedded engine".into(),
                db,
                reason: error.to_string(),
            })?;
            Backend::Embedded(connection)
        }
        Opened::Server { connection, .. } => Backend::Server(connection.clone()),
        Opened::Sentinel(primary) => Backend::Sentinel(primary.clone()),
        Opened::Cluster { connection, .. } => Backend::Cluster(connection.clone()),
    })
}

impl std::fmt::Display for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.url.fmt(f)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store({self})")
    }
}
