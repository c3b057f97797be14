//! A connection for commands and pipelines, through the `redis` crate's traits.

use std::{sync::Arc, time::Duration};

use redis::{Cmd, Pipeline, RedisFuture, RedisResult, Value, aio::ConnectionLike};
use tokio::time::Instant;

use crate::{
    link::{ClusterLink, ServerLink},
    open::{RETRY_DELAY_MAX, RETRY_DELAY_MIN},
    reply,
    sentinel::Primary,
    traced,
};

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
    Server(ServerLink),
    Sentinel(Arc<Primary>),
    Cluster(ClusterLink),
}

impl Connection {
    /// Tells what the connection is right now from what it was before it was lost and from any other.
    ///
    /// The engine in this process and a cluster have none: nobody waits for replicas there.
    pub(crate) async fn number(&self) -> RedisResult<u64> {
        let link = match &self.backend {
            Backend::Server(link) => link.clone(),
            Backend::Sentinel(primary) => primary.connection(),
            Backend::Embedded(_) | Backend::Cluster(_) => return Ok(0),
        };
        link.connection().await.map(|(_, number)| number)
    }
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        traced::command(cmd, || match &mut self.backend {
            Backend::Embedded(connection) => connection.req_packed_command(cmd),
            Backend::Server(connection) => connection.req_packed_command(cmd),
            Backend::Sentinel(primary) => Box::pin(async move {
                let mut connection = primary.connection();
                let result = connection.req_packed_command(cmd).await;
                primary.look_at(&result);
                result
            }),
            Backend::Cluster(cluster) => Box::pin(async move {
                let mut wait = SlotWait::within(cluster.address().slot_wait());
                loop {
                    let result = cluster.command(cmd).await;
                    if !(is_slot_moving(&result) && wait.again().await) {
                        return result;
                    }
                }
            }),
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        let replies = traced::pipeline(pipeline, || match &mut self.backend {
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
            Backend::Cluster(cluster) => Box::pin(async move {
                let mut wait = SlotWait::within(cluster.address().slot_wait());
                loop {
                    let result = cluster.pipeline(pipeline, offset, count).await;
                    if !(is_every_slot_moving(&result) && wait.again().await) {
                        return result;
                    }
                }
            }),
        });
        // Of a transaction only the reply to EXEC is wanted, which is not the first.
        let is_transaction = offset > 0 && count == 1;
        Box::pin(async move {
            let replies = replies.await?;
            if is_transaction { exec_error(replies) } else { Ok(replies) }
        })
    }

    fn get_db(&self) -> i64 {
        match &self.backend {
            Backend::Embedded(connection) => connection.get_db(),
            Backend::Server(connection) => connection.get_db(),
            Backend::Sentinel(primary) => primary.db(),
            Backend::Cluster(_) => 0,
        }
    }
}

/// The error with which a server refused EXEC; the crate takes nothing but a list for an answer to a transaction.
fn exec_error(mut replies: Vec<Value>) -> RedisResult<Vec<Value>> {
    match replies.pop() {
        Some(Value::ServerError(error)) if replies.is_empty() => Err(error.into()),
        last => {
            replies.extend(last);
            Ok(replies)
        }
    }
}

/// Waits until a slot may have come to rest.
struct SlotWait {
    deadline: Instant,
    pause: Duration,
}

impl SlotWait {
    fn within(bound: Duration) -> SlotWait {
        SlotWait { deadline: Instant::now() + bound, pause: RETRY_DELAY_MIN }
    }

    /// Waits for a while; `false` when there was enough of it.
    async fn again(&mut self) -> bool {
        if Instant::now() + self.pause > self.deadline {
            return false;
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(RETRY_DELAY_MAX);
        true
    }
}

fn is_slot_moving(result: &RedisResult<Value>) -> bool {
    match result {
        Ok(Value::ServerError(reply)) => reply::is_slot_moving_reply(reply),
        Ok(_) => false,
        Err(error) => reply::is_slot_moving(error),
    }
}

/// Whether no command of a pipeline was carried out, each because of its slot: what was carried out is not repeated.
fn is_every_slot_moving(result: &RedisResult<Vec<Value>>) -> bool {
    match result {
        Ok(values) => {
            let moving = |value: &Value| match value {
                Value::ServerError(reply) => reply::is_slot_moving_reply(reply),
                _ => false,
            };
            !values.is_empty() && values.iter().all(moving)
        }
        Err(error) => reply::is_slot_moving(error),
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("db", &self.get_db()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::SLOT_WAIT_DEFAULT;

    #[tokio::test(start_paused = true)]
    async fn a_slot_that_does_not_come_to_rest_is_waited_for_within_the_bound() {
        let (start, mut wait) = (Instant::now(), SlotWait::within(SLOT_WAIT_DEFAULT));
        while wait.again().await {}
        let waited = start.elapsed();
        assert!(waited <= SLOT_WAIT_DEFAULT, "{waited:?}");
        assert!(waited > SLOT_WAIT_DEFAULT - RETRY_DELAY_MAX, "{waited:?}");
    }
}
