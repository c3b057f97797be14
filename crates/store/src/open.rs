//! Making the connections that a URL asks for, and looking whether what answers will do.

use std::{sync::Arc, time::Duration};

use keyrack_engine::{Engine, log};
use redis::{
    ConnectionInfo, InfoDict, ProtocolVersion, RedisError,
    aio::ConnectionLike,
    cluster::{ClusterClient, ClusterClientBuilder},
};

use crate::{
    address::{Address, ClusterNodes},
    error::{Error, text},
    joined::joined,
    link::{ClusterLink, Link, ServerLink},
    sentinel::Primary,
    store::Options,
    url::{NodeLogin, StoreUrl, Target},
};

/// What is behind a store.
#[derive(Clone)]
pub(crate) enum OpenedBackend {
    Embedded(Engine),
    Server(ServerLink),
    Sentinel(Arc<Primary>),
    Cluster(ClusterLink),
}

impl OpenedBackend {
    /// Changes each time another server becomes the primary; `None` where that cannot be.
    pub(crate) fn switches(&self) -> Option<tokio::sync::watch::Receiver<u64>> {
        match self {
            OpenedBackend::Sentinel(primary) => Some(primary.switches()),
            _ => None,
        }
    }
}

/// How long a connection may take to open.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a command may take; the longest scripts take milliseconds.
pub(crate) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest pause between two attempts to come back.
pub(crate) const RETRY_DELAY_MAX: Duration = Duration::from_millis(500);
pub(crate) const RETRY_DELAY_MIN: Duration = Duration::from_millis(20);

pub(crate) async fn open(url: &StoreUrl, options: &mut Options) -> Result<OpenedBackend, Error> {
    match &url.target {
        Target::Memory => Ok(OpenedBackend::Embedded(engine_builder(options).open_in_memory())),
        Target::Folder { dir, fsync } => {
            let (builder, dir) = (engine_builder(options).fsync(*fsync), dir.clone());
            // A long log takes minutes, in which the program has other things to do.
            let opened = tokio::task::spawn_blocking(move || builder.open(dir)).await;
            let opened = joined(opened).await;
            Ok(OpenedBackend::Embedded(opened.map_err(|error| folder_error(&error))?))
        }
        Target::Server(info) => {
            open_server(url, Address::new(info.clone(), options.password_file.clone())).await
        }
        Target::Sentinel { sentinels, master, node } => {
            let primary = Primary::find(sentinels.clone(), master.clone(), login(node, options))
                .await
                .map_err(|error| opening(url, node.db, &error))?;
            look_over(url, node.db, &mut primary.connection()).await?;
            Ok(OpenedBackend::Sentinel(primary))
        }
        Target::Cluster { nodes } => {
            let nodes = ClusterNodes::new(nodes.clone(), options);
            let cluster = Link::open(nodes).await.map_err(|error| opening(url, 0, &error))?;
            Ok(OpenedBackend::Cluster(cluster))
        }
    }
}

fn login(node: &NodeLogin, options: &Options) -> NodeLogin {
    NodeLogin { password_file: options.password_file.clone(), ..node.clone() }
}

fn engine_builder(options: &mut Options) -> keyrack_engine::Builder {
    let mut builder = Engine::builder();
    if let Some(host) = options.host.take() {
        builder = builder.host(host);
    }
    if let Some(loading) = options.loading.take() {
        builder = builder.loading(loading);
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

async fn open_server(url: &StoreUrl, address: Address) -> Result<OpenedBackend, Error> {
    // Without this, rustls would not know which of its cryptographic back-ends to use; a second call changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let db = address.db();
    let mut link = tokio::time::timeout(CONNECT_TIMEOUT, Link::open(address))
        .await
        .map_err(|_| Error::Unreachable {
            target: url.to_string(),
            reason: format!("no answer within {} s", CONNECT_TIMEOUT.as_secs()),
        })?
        .map_err(|error| opening(url, db, &error))?;
    look_over(url, db, &mut link).await?;
    Ok(OpenedBackend::Server(link))
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
    let is_cluster: String = info.get("cluster_enabled").unwrap_or_default();
    if is_cluster == "1" {
        return Err(Error::IsCluster { target });
    }
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
