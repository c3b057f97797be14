//! A connection that comes back by itself, also after the server has refused the login.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use redis::{Cmd, Pipeline, RedisError, RedisFuture, RedisResult, Value, aio::ConnectionLike};
use tokio::{sync::watch, time::Instant};

use crate::{
    address::{Address, ClusterNodes},
    open::{RETRY_DELAY_MAX, RETRY_DELAY_MIN},
};

/// What connections are made to.
pub(crate) trait Connect: Send + Sync + 'static {
    type Connection: ConnectionLike + Clone + Send + Sync + 'static;

    /// Makes a connection, with the password of this moment.
    fn connect(&self) -> impl Future<Output = RedisResult<Self::Connection>> + Send;

    /// Whether a connection that gave this error is of no use any more.
    fn is_lost(error: &RedisError) -> bool;
}

/// A connection that many share. Cheap to clone.
pub(crate) struct Link<A: Connect> {
    inner: Arc<Inner<A>>,
}

/// To one server.
pub(crate) type ServerLink = Link<Address>;
/// To a cluster.
pub(crate) type ClusterLink = Link<ClusterNodes>;

struct Inner<A: Connect> {
    address: A,
    state: watch::Sender<State<A::Connection>>,
}

#[derive(Clone)]
enum State<C> {
    /// The number tells this connection from all others of the process.
    Up(C, u64),
    /// Lost a moment ago; calls wait for the first tries to come back.
    Connecting,
    /// What the last try to come back met with. Tries go on.
    Down(RedisError),
}

/// For how long calls wait for a connection that was lost before they are told so.
const COMING_BACK: Duration = Duration::from_millis(500);

impl<A: Connect> Link<A> {
    /// Connects, once.
    pub(crate) async fn open(address: A) -> RedisResult<Link<A>> {
        let connection = address.connect().await?;
        let (state, _) = watch::channel(up(connection));
        Ok(Link { inner: Arc::new(Inner { address, state }) })
    }

    /// Where it leads to.
    pub(crate) fn address(&self) -> &A {
        &self.inner.address
    }

    /// The connection with its number, or what the newest try to have one met with.
    pub(crate) async fn connection(&self) -> RedisResult<(A::Connection, u64)> {
        let mut state = self.inner.state.subscribe();
        let was_down = matches!(*state.borrow_and_update(), State::Down(_));
        if was_down {
            // Whoever asks again at once is held up until there is something new to tell.
            let _ = state.changed().await;
        }
        let settled = state.wait_for(|state| !matches!(state, State::Connecting)).await;
        match settled.map(|state| state.clone()) {
            Ok(State::Up(connection, number)) => Ok((connection, number)),
            Ok(State::Down(error)) => Err(error),
            // The sender lives as long as this link.
            Ok(State::Connecting) | Err(_) => {
                Err(std::io::Error::from(std::io::ErrorKind::NotConnected).into())
            }
        }
    }

    /// Begins to come back if a result shows that the connection is lost.
    fn look_at<T>(&self, result: &RedisResult<T>, number: u64) {
        if !result.as_ref().is_err_and(A::is_lost) {
            return;
        }
        let began = self.inner.state.send_if_modified(|state| match state {
            State::Up(_, current) if *current == number => {
                *state = State::Connecting;
                true
            }
            _ => false,
        });
        if began {
            tokio::spawn(come_back(Arc::downgrade(&self.inner)));
        }
    }
}

fn up<C>(connection: C) -> State<C> {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    State::Up(connection, NUMBERS.fetch_add(1, Ordering::Relaxed))
}

/// Connects again, for as long as it takes and anybody is interested.
async fn come_back<A: Connect>(link: Weak<Inner<A>>) {
    let (began, mut pause) = (Instant::now(), Duration::ZERO);
    loop {
        tokio::time::sleep(pause).await;
        let Some(inner) = link.upgrade() else { return };
        match inner.address.connect().await {
            Ok(connection) => {
                inner.state.send_replace(up(connection));
                return;
            }
            Err(error) if began.elapsed() > COMING_BACK => {
                inner.state.send_replace(State::Down(error));
            }
            Err(_) => {}
        }
        pause = (pause * 2).clamp(RETRY_DELAY_MIN, RETRY_DELAY_MAX);
    }
}

impl<A: Connect> Clone for Link<A> {
    fn clone(&self) -> Link<A> {
        Link { inner: self.inner.clone() }
    }
}

impl<A: Connect> Link<A> {
    pub(crate) async fn command(&self, cmd: &Cmd) -> RedisResult<Value> {
        let (mut connection, number) = self.connection().await?;
        let result = connection.req_packed_command(cmd).await;
        self.look_at(&result, number);
        result
    }

    pub(crate) async fn pipeline(
        &self,
        pipeline: &Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisResult<Vec<Value>> {
        let (mut connection, number) = self.connection().await?;
        let result = connection.req_packed_commands(pipeline, offset, count).await;
        self.look_at(&result, number);
        result
    }
}

impl ConnectionLike for ServerLink {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(self.command(cmd))
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(self.pipeline(pipeline, offset, count))
    }

    fn get_db(&self) -> i64 {
        self.inner.address.db()
    }
}
