//! Connections of one's own for commands that wait: on a shared one they would hold up everybody else.

use redis::{
    AsyncConnectionConfig, Cmd, Pipeline, RedisFuture, RedisResult, Value,
    aio::{ConnectionLike, MultiplexedConnection},
    cluster_async::ClusterConnection,
};

use crate::open::{CONNECT_TIMEOUT, OpenedBackend, cluster_client};

/// A connection for BLPOP and its like. Opens at its first use, and again after it was lost.
pub struct BlockingConnection {
    opened: OpenedBackend,
    db: i64,
    own: Option<Own>,
}

enum Own {
    Embedded(keyrack_engine::Connection),
    Server(MultiplexedConnection),
    Cluster(ClusterConnection),
}

impl BlockingConnection {
    pub(crate) fn new(opened: OpenedBackend, db: i64) -> BlockingConnection {
        BlockingConnection { opened, db, own: None }
    }

    async fn connect(&self) -> RedisResult<Own> {
        // No response timeout: waiting is what this connection is for.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(None);
        Ok(match &self.opened {
            OpenedBackend::Embedded(engine) => {
                let db = usize::try_from(self.db).unwrap_or(0);
                Own::Embedded(engine.connection(db).map_err(std::io::Error::other)?)
            }
            OpenedBackend::Server(link) => {
                let client = link.address().client()?;
                Own::Server(client.get_multiplexed_async_connection_with_config(&config).await?)
            }
            OpenedBackend::Sentinel(primary) => {
                let client = primary.client()?;
                Own::Server(client.get_multiplexed_async_connection_with_config(&config).await?)
            }
            OpenedBackend::Cluster(cluster) => {
                let (sender, _) = tokio::sync::mpsc::unbounded_channel();
                let client = cluster_client(&cluster.address().logins()?, Some(sender))?;
                Own::Cluster(client.get_async_connection().await?)
            }
        })
    }

    /// The connection, opened if need be.
    async fn ready(&mut self) -> RedisResult<&mut Own> {
        let own = match self.own.take() {
            Some(own) => own,
            None => self.connect().await?,
        };
        Ok(self.own.insert(own))
    }

    /// Drops the connection after an error that it will not recover from.
    fn after<T>(&mut self, result: RedisResult<T>) -> RedisResult<T> {
        if let Err(error) = &result
            && (error.is_io_error() || error.is_unrecoverable_error())
        {
            self.own = None;
        }
        result
    }
}

impl ConnectionLike for BlockingConnection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let result = match self.ready().await? {
                Own::Embedded(own) => own.req_packed_command(cmd).await,
                Own::Server(own) => own.req_packed_command(cmd).await,
                Own::Cluster(own) => own.req_packed_command(cmd).await,
            };
            self.after(result)
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let result = match self.ready().await? {
                Own::Embedded(own) => own.req_packed_commands(pipeline, offset, count).await,
                Own::Server(own) => own.req_packed_commands(pipeline, offset, count).await,
                Own::Cluster(own) => own.req_packed_commands(pipeline, offset, count).await,
            };
            self.after(result)
        })
    }

    fn get_db(&self) -> i64 {
        self.db
    }
}

impl std::fmt::Debug for BlockingConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockingConnection")
            .field("open", &self.own.is_some())
            .finish_non_exhaustive()
    }
}
