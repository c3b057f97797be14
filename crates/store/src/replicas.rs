//! Waiting until replicas have what was written, so that a failover cannot lose it.
//!
//! A primary acknowledges a write before its replicas have it. `WAIT` tells how many have everything that a connection has written; on
//! the connection that all share it would hold up everybody. So one task has a connection of its own: for all who wait at a moment it
//! writes a key once, which comes after everything they have written, and waits for that.
//!
//! A server that restarted or was replaced between the write and the answer may have lost the write and still answer well. So an answer
//! counts only if the connection that carried the write still stands when it comes.

use std::{sync::Arc, time::Duration};

use redis::{RedisError, RedisResult};
use tokio::sync::{mpsc, oneshot};

use crate::{
    blocking::BlockingConnection,
    clock::Clock,
    connection::Connection,
    error::Error,
    keys,
    open::{CONNECT_TIMEOUT, OpenedBackend},
    probe::PROBE_TTL_MS,
    store::Store,
};

/// How many replicas have to have a write before its caller is told of its success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicasAcknowledge {
    /// How many replicas.
    pub replicas: u32,
    /// How long to wait for them.
    pub within: Duration,
}

/// A write under way. Begin it before the first command, and ask whether it is acknowledged after the last.
#[derive(Debug)]
#[must_use = "nobody waits for replicas until asked to"]
pub struct Writing {
    /// Where a store waits for replicas.
    waiting: Option<(Replicas, Option<u64>)>,
}

impl Store {
    /// Begins a write that replicas are to have, if the store was opened so; otherwise it costs nothing.
    pub async fn writing(&self) -> Writing {
        let Some(replicas) = self.replicas() else { return Writing { waiting: None } };
        let number = self.connection().number().await.ok();
        Writing { waiting: Some((replicas.clone(), number)) }
    }
}

impl Writing {
    /// Waits until enough replicas have what was written since.
    ///
    /// # Errors
    /// [`Error::NotReplicated`]: the write is saved on the primary, which may lose it in a failover. Whoever repeats it with the same ids gets
    /// the same answer as before, and waits for the replicas again.
    pub async fn acknowledged(self) -> Result<(), Error> {
        let Some((replicas, number)) = self.waiting else { return Ok(()) };
        let (tell, told) = oneshot::channel();
        let _ = replicas.requests.send(tell);
        // The task ends with the store, and answers nobody then.
        let acknowledged = match told.await {
            Ok(answer) if Some(answer.connection) == number => answer.replicas,
            _ => 0,
        };
        let wanted = replicas.wanted.replicas;
        if acknowledged < wanted {
            return Err(Error::NotReplicated { acknowledged, wanted });
        }
        Ok(())
    }
}

/// The handle to the task that waits for replicas.
#[derive(Debug, Clone)]
pub(crate) struct Replicas {
    wanted: ReplicasAcknowledge,
    requests: mpsc::UnboundedSender<oneshot::Sender<Answer>>,
}

/// How many replicas have what a connection has written.
#[derive(Debug, Clone, Copy)]
struct Answer {
    replicas: u32,
    connection: u64,
}

impl Replicas {
    /// Starts the task, which ends with the last handle.
    pub(crate) fn start(
        wanted: ReplicasAcknowledge,
        opened: OpenedBackend,
        shared: Connection,
        clock: Arc<dyn Clock>,
    ) -> Replicas {
        let (requests, receiver) = mpsc::unbounded_channel();
        tokio::spawn(Waiter { wanted, opened, shared, clock, own: None }.run(receiver));
        Replicas { wanted, requests }
    }

    pub(crate) fn wanted(&self) -> ReplicasAcknowledge {
        self.wanted
    }
}

/// The task: waits for all who have asked so far, then for those who have asked meanwhile.
struct Waiter {
    wanted: ReplicasAcknowledge,
    opened: OpenedBackend,
    /// The connection that carries the writes.
    shared: Connection,
    clock: Arc<dyn Clock>,
    /// A connection to the same server, made while the shared one had this number.
    own: Option<(BlockingConnection, u64)>,
}

impl Waiter {
    async fn run(mut self, mut requests: mpsc::UnboundedReceiver<oneshot::Sender<Answer>>) {
        while let Some(first) = requests.recv().await {
            let mut asked = vec![first];
            while let Ok(next) = requests.try_recv() {
                asked.push(next);
            }
            match self.answer().await {
                Ok(answer) => {
                    for tell in asked {
                        let _ = tell.send(answer);
                    }
                }
                // Whoever is not answered takes it that no replica has the write.
                Err(error) => {
                    self.own = None;
                    tracing::debug!(%error, "could not ask which replicas have a write");
                }
            }
        }
    }

    async fn answer(&mut self) -> RedisResult<Answer> {
        let connection = self.shared.number().await?;
        let replicas = self.wait(connection).await?;
        redis::cmd("PING").exec_async(&mut self.shared).await?;
        if self.shared.number().await? != connection {
            return Err(std::io::Error::from(std::io::ErrorKind::NotConnected).into());
        }
        Ok(Answer { replicas, connection })
    }

    /// How many replicas have what was written until now through the shared connection of this number.
    async fn wait(&mut self, number: u64) -> RedisResult<u32> {
        self.own.take_if(|(_, made_at)| *made_at != number);
        let db = redis::aio::ConnectionLike::get_db(&self.shared);
        let (own, _) = self
            .own
            .get_or_insert_with(|| (BlockingConnection::new(self.opened.clone(), db), number));
        let ReplicasAcknowledge { replicas, within } = self.wanted;
        let mut pipeline = redis::pipe();
        let now_s = self.clock.now_ms() / 1000;
        pipeline.cmd("SET").arg(keys::probe().name()).arg(now_s).arg("PX").arg(PROBE_TTL_MS);
        pipeline.ignore().cmd("WAIT").arg(replicas).arg(within.as_millis() as u64);
        let asking = pipeline.query_async::<(u32,)>(own);
        let answered = tokio::time::timeout(within + CONNECT_TIMEOUT, asking).await;
        let (acknowledged,) = answered
            .map_err(|_| RedisError::from(std::io::Error::from(std::io::ErrorKind::TimedOut)))??;
        Ok(acknowledged)
    }
}
