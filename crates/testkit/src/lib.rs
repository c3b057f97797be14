//! Throw-away Redis servers, clusters, Sentinel groups and a bad network, for tests.
//!
//! Everything here belongs to one test: it has its own port and folder, and is gone when the value
//! is dropped, when the test panics and when the test process is killed. A broken set-up is a
//! failed test, so the functions panic with a message that says what to do instead of returning
//! errors or skipping.
//!
//! In reading order: [`RedisServer`] is one server; [`RedisCluster`] and [`Sentinel`] are made of
//! several; [`FaultProxy`] stands between a client and any of them, and so does [`ReplyProxy`], which answers with errors; [`old_server`] is one nobody should use; [`S3Server`] keeps files; [`Process`], [`Port`] and the
//! `wait_*` functions are what these are built from; [`on_every_store`] runs a test on each kind of store, and [`keyspace`] tells all that one holds; [`Browser`] looks at pages; [`Exchange`] holds an answer against the description of the API.
//!
//! ```
//! let server = keyrack_testkit::RedisServer::start();
//! let mut connection = server.connection();
//! let reply: String = redis::cmd("PING").query(&mut connection).unwrap();
//! assert_eq!(reply, "PONG");
//! ```

mod server;

mod cluster;

mod sentinel;

mod proxy;

mod replies;

mod old_redis;

mod s3;

mod stores;

mod keyspace;

pub mod clients;

mod browser;

mod conforms;

mod process;

mod port;

mod wait;

pub use browser::{Browser, Element};
pub use cluster::{RedisCluster, SlotMove};
pub use conforms::Exchange;
pub use keyspace::keyspace;
pub use old_redis::{OLD_VERSION, old_server};
pub use port::Port;
pub use process::Process;
pub use proxy::FaultProxy;
pub use replies::ReplyProxy;
pub use s3::S3Server;
pub use sentinel::Sentinel;
pub use server::{RedisServer, RedisServerBuilder};
pub use stores::{
    SetClock, on_every_store, on_every_store_at, on_every_store_unrestricted,
    on_every_store_with_set_clock, on_store, simulated_store,
};
pub use wait::{wait_for, wait_until, wait_until_async};
