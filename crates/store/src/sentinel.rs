//! Following the primary that a group of Sentinels names.
//!
//! After a failover an open connection can go on talking to the old primary, which may even answer OK for a while. So
//! the store listens for the Sentinels' `+switch-master`, drops the old connection at once and asks again; a refused
//! write and a slow poll make up for announcements that were missed.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use futures_util::StreamExt;
use parking_lot::RwLock;
use redis::{
    Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo, RedisError,
    RedisResult,
};
use tokio::{
    sync::{Notify, watch},
    time::timeout,
};

use crate::{
    address::Address,
    link::{Link, ServerLink},
    url::NodeLogin,
};

/// The primary of a Sentinel group, whichever server that is right now.
pub(crate) struct Primary {
    sentinels: Vec<ConnectionInfo>,
    master: String,
    login: NodeLogin,
    current: RwLock<CurrentMaster>,
    /// Rung when a command's fate suggests that the primary has moved.
    doubt: Notify,
    /// Counts switches, for those who hold connections of their own.
    switched: watch::Sender<u64>,
}

#[derive(Clone)]
struct CurrentMaster {
    address: (String, u16),
    link: ServerLink,
}

const ASK_TIMEOUT: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_secs(1);

impl Primary {
    /// Finds the primary and goes on following it until the last handle is dropped.
    pub(crate) async fn find(
        sentinels: Vec<ConnectionInfo>,
        master: String,
        login: NodeLogin,
    ) -> RedisResult<Arc<Primary>> {
        let address = resolve(&sentinels, &master).await?;
        let link = Link::open(node_address(&address, &login)?).await?;
        let current = RwLock::new(CurrentMaster { address, link });
        let (switched, _) = watch::channel(0);
        let doubt = Notify::new();
        let primary = Arc::new(Primary { sentinels, master, login, current, doubt, switched });
        tokio::spawn(follow(Arc::downgrade(&primary)));
        Ok(primary)
    }

    /// The same group seen through another database.
    pub(crate) async fn database(&self, db: i64) -> RedisResult<Arc<Primary>> {
        let login = NodeLogin { db, ..self.login.clone() };
        Primary::find(self.sentinels.clone(), self.master.clone(), login).await
    }

    pub(crate) fn connection(&self) -> ServerLink {
        self.current.read().link.clone()
    }

    /// A client for connections of one's own to the server that is primary now.
    pub(crate) fn client(&self) -> RedisResult<Client> {
        let address = self.current.read().address.clone();
        node_address(&address, &self.login)?.client()
    }

    pub(crate) fn db(&self) -> i64 {
        self.login.db
    }

    /// Changes each time the primary does.
    pub(crate) fn switches(&self) -> watch::Receiver<u64> {
        self.switched.subscribe()
    }

    /// Asks the Sentinels again if this result looks like the primary has moved.
    pub(crate) fn look_at<T>(&self, result: &RedisResult<T>) {
        let moved = |error: &RedisError| {
            error.is_io_error() || error.is_connection_dropped() || error.code() == Some("READONLY")
        };
        if result.as_ref().is_err_and(moved) {
            self.doubt.notify_one();
        }
    }

    async fn ask_again(&self) -> RedisResult<()> {
        let address = resolve(&self.sentinels, &self.master).await?;
        if self.current.read().address == address {
            return Ok(());
        }
        let link = Link::open(node_address(&address, &self.login)?).await?;
        tracing::info!(host = address.0, port = address.1, "following the new primary");
        *self.current.write() = CurrentMaster { address, link };
        self.switched.send_modify(|n| *n += 1);
        Ok(())
    }
}

/// Listens to one Sentinel after the other for as long as somebody uses the primary.
async fn follow(primary: Weak<Primary>) {
    let mut next = 0;
    while let Some(strong) = primary.upgrade() {
        let sentinel = strong.sentinels[next % strong.sentinels.len()].clone();
        drop(strong);
        next += 1;
        if let Err(error) = listen(&primary, sentinel).await {
            tracing::debug!(%error, "lost a Sentinel, trying the next");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

async fn listen(primary: &Weak<Primary>, sentinel: ConnectionInfo) -> RedisResult<()> {
    let client = Client::open(sentinel)?;
    let mut pubsub =
        timeout(ASK_TIMEOUT, client.get_async_pubsub()).await.map_err(|_| timed_out())??;
    pubsub.subscribe("+switch-master").await?;
    let mut announcements = pubsub.into_on_message();
    loop {
        let Some(strong) = primary.upgrade() else { return Ok(()) };
        let announced = tokio::select! {
            announced = announcements.next() => announced.is_some(),
            () = strong.doubt.notified() => true,
            () = tokio::time::sleep(POLL_INTERVAL) => true,
        };
        // A Sentinel that cannot be asked right now is asked again at the next poll.
        let _ = strong.ask_again().await;
        if !announced {
            return Err(timed_out());
        }
    }
}

async fn resolve(sentinels: &[ConnectionInfo], master: &str) -> RedisResult<(String, u16)> {
    let mut last_error = timed_out();
    for sentinel in sentinels {
        match timeout(ASK_TIMEOUT, ask(sentinel, master)).await {
            Ok(Ok(Some(address))) => return Ok(address),
            Ok(Ok(None)) => {
                last_error = RedisError::from((
                    redis::ErrorKind::InvalidClientConfig,
                    "the Sentinels know no such primary",
                    format!("the Sentinels know no primary called \"{master}\""),
                ));
            }
            Ok(Err(error)) => last_error = error,
            Err(_) => {}
        }
    }
    Err(last_error)
}

async fn ask(sentinel: &ConnectionInfo, master: &str) -> RedisResult<Option<(String, u16)>> {
    let mut connection = Client::open(sentinel.clone())?.get_multiplexed_async_connection().await?;
    redis::cmd("SENTINEL")
        .arg("get-master-addr-by-name")
        .arg(master)
        .query_async(&mut connection)
        .await
}

fn node_address(address: &(String, u16), login: &NodeLogin) -> RedisResult<Address> {
    let mut settings = RedisConnectionInfo::default().set_db(login.db);
    if let Some(username) = &login.username {
        settings = settings.set_username(username);
    }
    if let Some(password) = &login.password {
        settings = settings.set_password(password);
    }
    let info = ConnectionAddr::Tcp(address.0.clone(), address.1).into_connection_info()?;
    Ok(Address::new(info.set_redis_settings(settings), login.password_file.clone()))
}

fn timed_out() -> RedisError {
    std::io::Error::new(std::io::ErrorKind::TimedOut, "no Sentinel answers").into()
}
