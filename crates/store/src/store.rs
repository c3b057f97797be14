//! The store itself.

use std::{borrow::Cow, path::PathBuf, sync::Arc, time::Duration};

use keyrack_engine::{
    Engine, Host, Loading, SteadyClock, SystemHost, SystemTimeSource, TimeSource,
};
use keyrack_keys::{Key, Layout};
use redis::aio::ConnectionLike;

use crate::{
    blocking::BlockingConnection,
    clock::{self, Clock, EngineClock},
    connection::{Backend, Connection},
    error::Error,
    link::Link,
    open::{self, OpenedBackend},
    replicas::{Replicas, ReplicasAcknowledge},
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
    opened: OpenedBackend,
    connection: Connection,
    hub: Hub,
    clock: Arc<dyn Clock>,
    layout: Layout,
    /// Where writes wait for replicas.
    replicas: Option<Replicas>,
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
    /// Told how much of a data folder's log has been replayed, for whoever waits for it.
    pub loading: Option<Arc<Loading>>,
    /// A file whose first line is the server's password, in place of one in the URL. It is read for every connection.
    pub password_file: Option<PathBuf>,
    /// How many replicas have to have a [`Writing`](crate::Writing) before it succeeds.
    pub replicas_acknowledge: Option<ReplicasAcknowledge>,
    /// How long a call waits for a slot of a cluster that moves or fails over before it ends as
    /// [`Error::Unavailable`]; 10 s unless set.
    pub slot_wait: Option<Duration>,
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
        let connection = Connection { backend: backend(&opened, 0)? };
        let clock: Arc<dyn Clock> = match (options.clock, &opened) {
            (Some(clock), _) => clock,
            (None, OpenedBackend::Embedded(_)) => Arc::new(EngineClock(steady)),
            (None, opened) => {
                let source = options.time_source.unwrap_or_else(|| Arc::new(SystemTimeSource));
                clock::of_server(&connection, source, opened.switches()).await?
            }
        };
        if options.replicas_acknowledge.is_some() {
            must_have_replicas(&url, &opened)?;
        }
        let replicas = options.replicas_acknowledge.map(|wanted| {
            Replicas::start(wanted, opened.clone(), connection.clone(), clock.clone())
        });
        let (hub, layout) = (Hub::new(opened.clone()), native_layout(&opened));
        let inner = Inner { url, opened, connection, hub, clock, layout, replicas };
        Ok(Store { inner: Arc::new(inner) })
    }

    pub(crate) fn replicas(&self) -> Option<&Replicas> {
        self.inner.replicas.as_ref()
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
            OpenedBackend::Embedded(engine) => OpenedBackend::Embedded(engine.clone()),
            OpenedBackend::Server(link) => {
                let address = link.address().database(db);
                let refused = |error: redis::RedisError| {
                    let reason = crate::error::text(&error);
                    match Error::from(error) {
                        error if error.is_transient() => error,
                        _ => no_such(reason),
                    }
                };
                OpenedBackend::Server(Link::open(address).await.map_err(refused)?)
            }
            OpenedBackend::Sentinel(primary) => {
                OpenedBackend::Sentinel(primary.database(db).await?)
            }
            OpenedBackend::Cluster(_) if db == 0 => self.inner.opened.clone(),
            OpenedBackend::Cluster(_) => {
                return Err(no_such("a cluster has only database 0".into()));
            }
        };
        let connection = Connection { backend: backend(&opened, db)? };
        let clock = self.inner.clock.clone();
        // Whose writes go through another connection, that one has to stand.
        let replicas = self.inner.replicas.as_ref().map(|replicas| {
            Replicas::start(replicas.wanted(), opened.clone(), connection.clone(), clock.clone())
        });
        let (hub, layout) = (Hub::new(opened.clone()), native_layout(&opened));
        let url = self.inner.url.clone();
        let inner = Inner { url, opened, connection, hub, clock, layout, replicas };
        Ok(Store { inner: Arc::new(inner) })
    }

    /// The same store with keys named as on a cluster: hash tags keep owners apart who share a database.
    pub fn tagged(&self) -> Store {
        let Inner { url, opened, connection, clock, replicas, .. } = &*self.inner;
        let inner = Inner {
            url: url.clone(),
            opened: opened.clone(),
            connection: connection.clone(),
            hub: Hub::new(opened.clone()),
            clock: clock.clone(),
            layout: Layout::Cluster,
            replicas: replicas.clone(),
        };
        Store { inner: Arc::new(inner) }
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
            OpenedBackend::Embedded(_) => Kind::Embedded,
            OpenedBackend::Server(_) => Kind::Server,
            OpenedBackend::Sentinel(_) => Kind::Sentinel,
            OpenedBackend::Cluster(_) => Kind::Cluster,
        }
    }

    /// The embedded engine, to listen for Redis clients on it; other stores have their own port.
    pub fn engine(&self) -> Option<&Engine> {
        match &self.inner.opened {
            OpenedBackend::Embedded(engine) => Some(engine),
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

/// Refuses to wait for replicas where there is no way to do so.
fn must_have_replicas(url: &StoreUrl, opened: &OpenedBackend) -> Result<(), Error> {
    let reason = match opened {
        OpenedBackend::Server(_) | OpenedBackend::Sentinel(_) => return Ok(()),
        OpenedBackend::Embedded(_) => {
            "the embedded engine has none; leave replicas-acknowledge out"
        }
        OpenedBackend::Cluster(_) => {
            "on a cluster this is not supported; set min-replicas-to-write on its nodes instead"
        }
    };
    Err(Error::NoReplicas { target: url.to_string(), reason })
}

fn native_layout(opened: &OpenedBackend) -> Layout {
    match opened {
        OpenedBackend::Cluster(_) => Layout::Cluster,
        OpenedBackend::Embedded(_) | OpenedBackend::Server(_) | OpenedBackend::Sentinel(_) => {
            Layout::Documented
        }
    }
}

fn backend(opened: &OpenedBackend, db: i64) -> Result<Backend, Error> {
    Ok(match opened {
        OpenedBackend::Embedded(engine) => {
            let number = usize::try_from(db).unwrap_or(usize::MAX);
            let connection = engine.connection(number).map_err(|error| Error::NoSuchDatabase {
                target: "the embedded engine".into(),
                db,
                reason: error.to_string(),
            })?;
            Backend::Embedded(connection)
        }
        OpenedBackend::Server(link) => Backend::Server(link.clone()),
        OpenedBackend::Sentinel(primary) => Backend::Sentinel(primary.clone()),
        OpenedBackend::Cluster(cluster) => Backend::Cluster(cluster.clone()),
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
