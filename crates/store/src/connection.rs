//! A connection for commands and pipelines, through the `redis` crate's traits.

use std::sync::Arc;

use redis::{
    Cmd, Pipeline, RedisFuture, Value, aio::ConnectionLike, aio::ConnectionManager,
    cluster_async::ClusterConnection,
};

use crate::sentinel::Primary;

/// A connection to the store. Cheap to clone; clones share what is behind it.
///
/// It comes back by itself when it was lost. Commands that were under way then fail, because nobody can know whether
/// they were carried out.
#[derive(Clone)]
pub struct Connection {
    pub(crate) backend: Backend,
}

#[derive(Clone)]
pub(crate) enum Backend {
    Embedded(keyrack_engine::Connection),
    Server(ConnectionManager),
    Sentinel(Arc<Primary>),
    Cluster(ClusterConnection),
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        match &mut self.backend {
            Backend::Embedded(connection) => connection.req_packed_command(cmd),
            Backend::Server(connection) => connection.req_packed_command(cmd),
            Backend::Sentinel(primary) => Box::pin(async move {
                let mut connection = primary.connection();
                let result = connection.req_packed_command(cmd).await;
                primary.look_at(&result);
                result
            }),
            Backend::Cluster(connection) => connection.req_packed_command(cmd),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match &mut self.backend {
            Backend::Embedded(connection) => {
                connection.req_packed_commands(pipeline, offset, count)
            }
            Backend::Server(connection) => connection.req_packed_commands(pipeline, offset, count),
            Backend::Sentinel(primary) => Box::pin(async move {
                let mut connection = primary.connection();
                let result = connection.req_packed_commands(pipeline, offset, count).await;
                primary.look_at(&result);
                result
            }),
            Backend::Cluster(connection) => connection.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match &self.backend {
            Backend::Embedded(connection) => connection.get_db(),
            Backend::Server(connection) => connection.get_db(),
            Backend::Sentinel(primary) => primary.db(),
            Backend::Cluster(connection) => connection.get_db(),
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("db", &self.get_db()).finish_non_exhaustive()
    }
}
