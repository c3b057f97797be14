//! The engine as a server: RESP over TCP, for redis-cli and every Redis client there is.
//!
//! One task listens ([`accept`]) and one task per client reads, runs and answers ([`connection`]). Whatever has
//! arrived is run under one lock ([`peer`]) and answered with one write. Buffers are borrowed from a pool while there
//! is something in them ([`pool`]), so an idle client costs little more than its socket. While many clients send, the
//! thread does not sleep between two requests ([`lookout`]). What is said about a socket holds for TLS too ([`stream`]).

mod accept;
mod auth_throttle;
mod bind;
mod busy;
mod connection;
mod files;
mod input;
mod lookout;
mod output;
mod peer;
mod pool;
mod registration;
mod stream;
#[cfg(feature = "tls")]
mod tls;

use std::{io, net::SocketAddr};

use tokio::{net::ToSocketAddrs, sync::watch};

use self::accept::{Acceptor, Phase, Security};
use crate::engine::Engine;

impl Engine {
    /// Listens for Redis clients, on the tokio runtime this is called on.
    ///
    /// While a script runs too long, other clients are told so and can send SCRIPT KILL, except on a runtime that has
    /// the current thread only. There are never more clients than the system has files for, less a few for the rest of
    /// the process.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub async fn listen(&self, address: impl ToSocketAddrs) -> io::Result<Listener> {
        self.listen_with(address, Security::Plain).await
    }

    /// The same for clients that speak TLS. Those who do not are told so and hung up on.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    #[cfg(feature = "tls")]
    pub async fn listen_tls(
        &self,
        address: impl ToSocketAddrs,
        config: std::sync::Arc<tokio_rustls::rustls::ServerConfig>,
    ) -> io::Result<Listener> {
        self.listen_with(address, Security::Tls(config.into())).await
    }

    async fn listen_with(
        &self,
        address: impl ToSocketAddrs,
        security: Security,
    ) -> io::Result<Listener> {
        let listener = bind::bind(address).await?;
        let local_addr = listener.local_addr()?;
        let (phase, phases) = watch::channel(Phase::Running);
        let (ended, has_ended) = watch::channel(());
        let config = loop {
            if let Ok(state) = self.shared().lock_briefly() {
                break state.config.clone();
            }
            self.shared().until_free().await;
        };
        let acceptor = Acceptor::new(self.shared().clone(), config, listener, security, phases);
        tokio::spawn(async move {
            acceptor.run().await;
            drop(ended);
        });
        Ok(Listener { local_addr, phase, ended: has_ended })
    }
}

/// An engine's open TCP port. Dropping it closes the port and hangs up on everybody.
#[derive(Debug)]
#[must_use = "dropping a listener closes its port"]
pub struct Listener {
    local_addr: SocketAddr,
    phase: watch::Sender<Phase>,
    /// Closed once every connection has ended.
    ended: watch::Receiver<()>,
}

impl Listener {
    /// Where it listens, with the port that was chosen if none was given.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Stops listening, lets clients have the answers to commands that have run, hangs up, and waits for all that.
    ///
    /// A client that does not read its answers can hold this up; calling it again hangs up on everybody at once.
    /// Neither call ends a script that is running.
    pub async fn stop(&self) {
        self.phase.send_modify(|phase| *phase = phase.next());
        let mut ended = self.ended.clone();
        // An error says that the other end is gone, which is what this waits for.
        while ended.changed().await.is_ok() {}
    }
}

#[cfg(test)]
mod tests;
