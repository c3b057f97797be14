//! Connections: accepting them, how many there may be, and how long each may take.
//!
//! `accept` is the loop, `table` counts connections and knows which of them wait for a request, `io` is the socket as the
//! loop sees it, `body` times the body of a request, and `tls` is for those who want that.
//!
//! A connection that waits for a request costs a descriptor and does nothing. When there are as many as there may be, the
//! one that has waited longest is closed for a new one. Only when all of them are at work is a new one refused, and even
//! then health checks are answered.

mod accept;
mod body;
mod io;
mod table;
mod tls;

use std::time::Duration;

pub use self::accept::serve;
pub use self::tls::Tls;

/// How many connections there may be, and how long a client may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// The most connections at once, WebSockets and streams included. A few more are taken for health checks.
    pub connections: usize,
    /// How long a client may take to send the head of a request, and to agree on TLS.
    pub head: Duration,
    /// How long a client may take to send the body of a request, more for what it has sent, and how long it may read nothing of a
    /// response.
    pub body: Duration,
    /// How long a connection is kept open between two requests.
    pub idle: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> ConnectionLimits {
        ConnectionLimits {
            // Those who may watch and wait, and as many again who do neither.
            connections: 50_000,
            head: Duration::from_secs(10),
            // A body has a megabyte at most, which a line of 150 kbit/s sends in this time.
            body: Duration::from_secs(60),
            // Proxies and browsers keep theirs for about a minute; the server should not be the first to close.
            idle: Duration::from_secs(75),
        }
    }
}
