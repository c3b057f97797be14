//! Where servers are and how to log in there.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use redis::{
    AsyncConnectionConfig, Client, ConnectionInfo, ErrorKind, RedisError, RedisResult,
    aio::MultiplexedConnection, cluster_async::ClusterConnection,
};

use crate::{
    error::text,
    link::Connect,
    open::{CONNECT_TIMEOUT, RESPONSE_TIMEOUT, cluster_client},
    reply::{self, ErrorMeaning},
    store::Options,
};

/// One server.
#[derive(Clone)]
pub(crate) struct Address {
    info: ConnectionInfo,
    /// Holds the password, and is read for every connection: a password can be changed while the program runs.
    password_file: Option<PathBuf>,
}

impl Address {
    pub(crate) fn new(info: ConnectionInfo, password_file: Option<PathBuf>) -> Address {
        Address { info, password_file }
    }

    /// The same server, seen through another database.
    pub(crate) fn database(&self, db: i64) -> Address {
        let settings = self.info.redis_settings().clone().set_db(db);
        Address { info: self.info.clone().set_redis_settings(settings), ..self.clone() }
    }

    pub(crate) fn db(&self) -> i64 {
        self.info.redis_settings().db()
    }

    /// A client for a new connection, with the password of this moment.
    pub(crate) fn client(&self) -> RedisResult<Client> {
        Client::open(with_password(&self.info, self.password_file.as_deref())?)
    }
}

impl Connect for Address {
    type Connection = MultiplexedConnection;

    async fn connect(&self) -> RedisResult<MultiplexedConnection> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(RESPONSE_TIMEOUT));
        self.client()?.get_multiplexed_async_connection_with_config(&config).await
    }

    fn is_lost(error: &RedisError) -> bool {
        error.is_unrecoverable_error() || error.is_timeout()
    }
}

/// A slot with 100,000 keys moves in about this time, and a failover takes half of it. It is as long as any reply may take.
pub(crate) const SLOT_WAIT_DEFAULT: Duration = Duration::from_secs(10);

/// Some nodes of a cluster, which know the others.
#[derive(Clone)]
pub(crate) struct ClusterNodes {
    nodes: Vec<ConnectionInfo>,
    password_file: Option<PathBuf>,
    slot_wait: Duration,
}

impl ClusterNodes {
    pub(crate) fn new(nodes: Vec<ConnectionInfo>, options: &Options) -> ClusterNodes {
        let slot_wait = options.slot_wait.unwrap_or(SLOT_WAIT_DEFAULT);
        ClusterNodes { nodes, password_file: options.password_file.clone(), slot_wait }
    }

    /// How long a call waits for a slot that moves.
    pub(crate) fn slot_wait(&self) -> Duration {
        self.slot_wait
    }

    /// The nodes with the password of this moment.
    pub(crate) fn logins(&self) -> RedisResult<Vec<ConnectionInfo>> {
        let file = self.password_file.as_deref();
        self.nodes.iter().map(|node| with_password(node, file)).collect()
    }
}

impl Connect for ClusterNodes {
    type Connection = ClusterConnection;

    async fn connect(&self) -> RedisResult<ClusterConnection> {
        let client = cluster_client(&self.logins()?, None)?;
        client.get_async_connection().await.map_err(told_login_refusal)
    }

    /// The crate follows nodes and slots by itself. It does not log in anew once no node is left that accepts its login.
    fn is_lost(error: &RedisError) -> bool {
        error.kind() == ErrorKind::ClusterConnectionNotFound
            || reply::meaning(error) == Some(ErrorMeaning::Login)
    }
}

/// A refused login as such: the crate tells it as a failure to connect, with the refusal somewhere in the text.
fn told_login_refusal(error: RedisError) -> RedisError {
    let detail = text(&error);
    let is_refusal = ["AuthenticationFailed", "WRONGPASS", "NOAUTH"];
    if is_refusal.iter().any(|word| detail.contains(word)) {
        (ErrorKind::AuthenticationFailed, "the nodes refuse the login", detail).into()
    } else {
        error
    }
}

fn with_password(
    info: &ConnectionInfo,
    password_file: Option<&Path>,
) -> RedisResult<ConnectionInfo> {
    let Some(file) = password_file else { return Ok(info.clone()) };
    let settings = info.redis_settings().clone().set_password(read_password(file)?);
    Ok(info.clone().set_redis_settings(settings))
}

/// The first line of a password file.
fn read_password(file: &Path) -> RedisResult<String> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        let detail = format!("cannot read the password file \"{}\": {error}", file.display());
        RedisError::from((ErrorKind::AuthenticationFailed, "no password", detail))
    })?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
