//! Making the connections that a URL asks for, and looking whether what answers will do.

use std::{sync::Arc, time::Duration};

use keyrack_engine::{Engine, log};
use redis::{
    Client, ConnectionInfo, InfoDict, ProtocolVersion, RedisError,
    aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig},
    cluster::{ClusterClient, ClusterClientBuilder},
    cluster_async::ClusterConnection,
};

use crate::{
    error::{Error, text},
    sentinel::Primary,
    store::Options,
    url::{StoreUrl, Target},
};

/// What is behind a store.
#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "a process has a handful of these")]
pub(crate) enum Opened {
    Embedded(Engine),
    Server { client: Client, connection: ConnectionManager },
    Sentinel(Arc<Primary>),
    Cluster { nodes: Vec<ConnectionInfo>, connection: ClusterConnection },
}

impl Opened {
    /// Changes each time another server becomes the primary; `None` where that cannot be.
    pub(crate) fn switches(&self) -> Option<tokio::sync::watch::Receiver<u64>> {
        match self {
            Opened::Sentinel(primary) => Some(primary.switches()),
            _ => None,
        }
    }
}

/// How long a connection may take to open.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a command may take; the longest scripts take milliseconds.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest pause between two attempts to come back.
pub(crate) const RETRY_DELAY_MAX: Duration = Duration::from_millis(500);
pub(crate) const RETRY_DELAY_MIN: Duration = Duration::from_millis(20);

/// Comes back with growing pauses that stay short, so that a server's return is noticed within a second.
pub(crate) fn manager_config() -> ConnectionManagerConfig {
    ConnectionManagerConfig::new()
        .set_min_delay(RETRY_DELAY_MIN)
        .set_max_delay(RETRY_DELAY_MAX)
        .set_exponent_base(2.0)
        .set_number_of_retries(4)
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(RESPONSE_TIMEOUT))
}

pub(crate) async fn open(url: &StoreUrl, options: &mut Options) -> Result<Opened, Error> {
    match &url.target {
        Target::Memory => Ok(Opened::Embedded(engine_builder(options).open_in_memory())),
        Target::Folder { dir, fsync } => {
            let opened = engine_builder(options).fsync(*fsync).open(dir);
            Ok(Opened::Embedded(opened.map_err(|error| folder_error(&error))?))
        }
        Target::Server(info) => open_server(url, info.clone()).await,
        Target::Sentinel { sentinels, master, node } => {
            let primary = Primary::find(sentinels.clone(), master.clone(), node.clone())
                .await
                .map_err(|error| opening(url, node.db, &error))?;
            look_over(url, node.db, &mut primary.connection()).await?;
            Ok(Opened::Sentinel(primary))
        }
        Target::Cluster { nodes } => {
            let connection = cluster_client(nodes, None)
                .map_err(|error| opening(url, 0, &error))?
                .get_async_connection()
                .await
                .map_err(|error| opening(url, 0, &error))?;
            Ok(Opened::Cluster { nodes: nodes.clone(), connection })
        }
    }
}

fn engine_builder(options: &mut Options) -> keyrack_engine::Builder {
    let mut builder = Engine::builder();
    if let Some(host) = options.host.take() {
        builder = builder.host(host);
    }
    builder
}

fn folder_error(error: &keyrack_engine::OpenError) -> Error {
    use std::error::Error as _;

    let reason = match error.reason() {
        log::Error::InUse { pid, .. } => {
            let pid = pid.as_ref().map(|pid| format!(" (pid {pid})")).unwrap_or_default();
            format!("another process{pid} is using it; stop that first or use another folder")
        }
        reason => {
            // The system's own word, such as "permission denied", is the cause behind the reason.
            let cause = reason.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            format!("{reason}{cause}")
        }
    };
    Error::Folder { dir: error.dir().display().to_string(), reason, in_use: error.is_in_use() }
}

async fn open_server(url: &StoreUrl, info: ConnectionInfo) -> Result<Opened, Error> {
    // Without this, rustls would not know which of its cryptographic back-ends to use; a second call changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let db = info.redis_settings().db();
    let client = Client::open(info).map_err(|error| opening(url, db, &error))?;
    // A plain connection first: the manager would go on trying where a clear answer is wanted.
    let attempt = client.get_multiplexed_async_connection();
    let mut probe = tokio::time::timeout(CONNECT_TIMEOUT, attempt)
        .await
        .map_err(|_| Error::Unreachable {
            target: url.to_string(),
            reason: format!("no answer within {} s", CONNECT_TIMEOUT.as_secs()),
        })?
        .map_err(|error| opening(url, db, &error))?;
    look_over(url, db, &mut probe).await?;
    let connection = client
        .get_connection_manager_with_config(manager_config())
        .await
        .map_err(|error| opening(url, db, &error))?;
    Ok(Opened::Server { client, connection })
}

/// A client for a cluster; with a sender, connections speak RESP3 and deliver pushes to it.
pub(crate) fn cluster_client(
    nodes: &[ConnectionInfo],
    pushes: Option<tokio::sync::mpsc::UnboundedSender<redis::PushInfo>>,
) -> Result<ClusterClient, RedisError> {
    let mut builder = ClusterClientBuilder::new(nodes.to_vec())
        .connection_timeout(CONNECT_TIMEOUT)
        .min_retry_wait(20)
        .max_retry_wait(500)
        .retries(10);
    builder = match pushes {
        Some(sender) => builder.use_protocol(ProtocolVersion::RESP3).push_sender(sender),
        None => builder.response_timeout(RESPONSE_TIMEOUT),
    };
    builder.build()
}

/// Refuses servers that are too old or that cannot be written to.
async fn look_over(
    url: &StoreUrl,
    db: i64,
    connection: &mut impl ConnectionLike,
) -> Result<(), Error> {
    let info: InfoDict = redis::cmd("INFO")
        .query_async(connection)
        .await
        .map_err(|error| opening(url, db, &error))?;
    let target = url.to_string();
    let version: String = info.get("redis_version").unwrap_or_default();
    if is_older(&version, Error::VERSION_MIN) {
        return Err(Error::TooOld { target, version });
    }
    let role: String = info.get("role").unwrap_or_default();
    let read_only: String = info.get("slave_read_only").unwrap_or_default();
    if role == "slave" && read_only == "1" {
        let host: String = info.get("master_host").unwrap_or_default();
        let port: String = info.get("master_port").unwrap_or_default();
        let reason =
            format!("it is a replica; connect to its primary {host}:{port}, or through Sentinel");
        return Err(Error::ReadOnly { target, reason });
    }
    Ok(())
}

fn is_older(version: &str, than: &str) -> bool {
    let numbers =
        |text: &str| -> Vec<u32> { text.split('.').map_while(|n| n.parse().ok()).collect() };
    let version = numbers(version);
    !version.is_empty() && version < numbers(than)
}

fn opening(url: &StoreUrl, db: i64, error: &RedisError) -> Error {
    let reason = text(error);
    if reason.contains("DB index") || error.to_string().contains("switch database") {
        return Error::NoSuchDatabase { target: url.to_string(), db, reason };
    }
    Error::opening(&url.to_string(), error)
}

#[cfg(test)]
mod tests {
    use super::is_older;

    #[test]
    fn versions_compare_by_number() {
        assert!(is_older("6.0.16", "6.2"));
        assert!(is_older("5.0", "6.2"));
        assert!(!is_older("6.2.0", "6.2"));
        assert!(!is_older("7.0.15", "6.2"));
        assert!(!is_older("10.0", "6.2"));
    }
}
