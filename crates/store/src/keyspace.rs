//! Walking everything that a store holds: each numbered database of a server, each primary of a cluster.
//!
//! For tools that look over whole databases. Services never need this: they know their keys.

use redis::{
    Cmd, Pipeline, RedisResult, Value,
    aio::ConnectionLike,
    cluster_async::ClusterConnection,
    cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo, SingleNodeRoutingInfo},
};

use crate::{
    connection::{Backend, Connection},
    error::Error,
    info::{self, DatabaseInfo},
    store::Store,
};

/// A part of the store that one SCAN walks through: a numbered database, or what one primary of a cluster holds.
#[derive(Clone)]
pub struct Keyspace {
    db: i64,
    keys: u64,
    way: Way,
}

#[derive(Clone)]
enum Way {
    Database(Connection),
    Primary { cluster: ClusterConnection, host: String, port: u16 },
}

impl Store {
    /// Every part of the store that holds keys, in a stable order.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn keyspaces(&self) -> Result<Vec<Keyspace>, Error> {
        self.keyspaces_of(|_| true).await
    }

    /// The parts of the store that hold keys of its own database, in a stable order.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn own_keyspaces(&self) -> Result<Vec<Keyspace>, Error> {
        self.keyspaces_of(|db| db == self.db()).await
    }

    async fn keyspaces_of(&self, wanted: impl Fn(i64) -> bool) -> Result<Vec<Keyspace>, Error> {
        let mut sizes = redis::cmd("INFO");
        sizes.arg("keyspace");
        let mut connection = self.connection();
        if let Backend::Cluster(cluster) = &connection.backend {
            let (cluster, _) = cluster.connection().await?;
            return primaries(cluster, sizes).await;
        }
        let text: String = sizes.query_async(&mut connection).await?;
        let mut keyspaces = Vec::new();
        for DatabaseInfo { db, keys, .. } in text.lines().filter_map(info::database) {
            if !wanted(db) {
                continue;
            }
            let connection = if db == self.db() {
                connection.clone()
            } else {
                self.database(db).await?.connection()
            };
            keyspaces.push(Keyspace { db, keys, way: Way::Database(connection) });
        }
        Ok(keyspaces)
    }
}

/// Asks all primaries at once; the answer comes with their addresses.
async fn primaries(mut cluster: ClusterConnection, sizes: Cmd) -> Result<Vec<Keyspace>, Error> {
    let everywhere = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
    let answers = cluster.route_command(sizes, everywhere).await?;
    let answers: Vec<(String, String)> =
        redis::from_redis_value(answers).map_err(redis::RedisError::from)?;
    let mut keyspaces = Vec::new();
    for (address, text) in answers {
        let Some((host, port)) = address.rsplit_once(':') else { continue };
        let (Ok(port), host) = (port.parse(), host.to_owned()) else { continue };
        let way = Way::Primary { cluster: cluster.clone(), host, port };
        let databases = text.lines().filter_map(info::database);
        keyspaces.extend(databases.map(|database| Keyspace {
            db: database.db,
            keys: database.keys,
            way: way.clone(),
        }));
    }
    keyspaces.sort_by_key(|keyspace| match &keyspace.way {
        Way::Primary { host, port, .. } => (host.clone(), *port),
        Way::Database(_) => (String::new(), 0),
    });
    Ok(keyspaces)
}

impl Keyspace {
    /// The number of the database.
    pub fn db(&self) -> i64 {
        self.db
    }

    /// What tells it from the other parts of the store: the database, or the primary's address.
    pub fn name(&self) -> String {
        match &self.way {
            Way::Database(_) => format!("db {}", self.db),
            Way::Primary { host, port, .. } => format!("{host}:{port}"),
        }
    }

    /// How many keys it held when it was listed.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// One step of SCAN: the next cursor, which is 0 at the end, and some keys.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn scan(
        &self,
        cursor: u64,
        pattern: Option<&str>,
        count: usize,
    ) -> Result<(u64, Vec<Vec<u8>>), Error> {
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor);
        if let Some(pattern) = pattern {
            scan.arg("MATCH").arg(pattern);
        }
        scan.arg("COUNT").arg(count);
        let mut step = Pipeline::with_capacity(1);
        step.add_command(scan);
        let reply = self.pipeline(&step).await?.pop().unwrap_or(Value::Nil);
        let reply = reply.extract_error().map_err(Error::from)?;
        Ok(redis::from_redis_value(reply).map_err(redis::RedisError::from)?)
    }

    /// Sends commands on keys of this keyspace; the errors of single commands are among the replies.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn pipeline(&self, pipeline: &Pipeline) -> Result<Vec<Value>, Error> {
        if pipeline.is_empty() {
            return Ok(Vec::new());
        }
        match &self.way {
            Way::Database(connection) => {
                let mut connection = connection.clone();
                Ok(connection.req_packed_commands(pipeline, 0, pipeline.len()).await?)
            }
            Way::Primary { cluster, host, port } => {
                let mut cluster = cluster.clone();
                let here = SingleNodeRoutingInfo::ByAddress { host: host.clone(), port: *port };
                match cluster.route_pipeline(pipeline.clone(), 0, pipeline.len(), here).await {
                    // Some of the keys have moved since they were listed.
                    Err(error) if error.is_cluster_error() => one_by_one(cluster, pipeline).await,
                    replies => Ok(replies?),
                }
            }
        }
    }
}

/// Sends each command to wherever its key is now.
async fn one_by_one(
    mut cluster: ClusterConnection,
    pipeline: &Pipeline,
) -> Result<Vec<Value>, Error> {
    let mut replies = Vec::with_capacity(pipeline.len());
    for cmd in pipeline.cmd_iter() {
        let reply: RedisResult<Value> = cluster.req_packed_command(cmd).await;
        replies.push(match reply {
            Ok(reply) => reply,
            Err(error) => Value::ServerError(redis::ServerError::try_from(error)?),
        });
    }
    Ok(replies)
}

impl std::fmt::Debug for Keyspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keyspace")
            .field("db", &self.db)
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}
