//! An in-process Redis: data types, Lua scripts, pub/sub, transactions, blocking pops, expiry, numbered databases and an
//! append-only log in Redis' own format, as a library.
//!
//! Three doors lead to it: [`Engine::connection`] for everything written for the [`redis`] crate, without sockets or
//! serialisation; [`Engine::subscribe`] for messages as a stream; [`Engine::listen`] for every Redis client there is.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use keyrack_engine::Engine;
//! use redis::AsyncCommands;
//!
//! let engine = Engine::in_memory(); // or Engine::open("folder")?, where every acknowledged write is on disk
//! let mut connection = engine.connection(0)?;
//! connection.set::<_, _, ()>("greeting", "hello").await?;
//! let script = redis::Script::new("return redis.call('GET', KEYS[1]) .. ARGV[1]");
//! let text: String = script.key("greeting").arg("!").invoke_async(&mut connection).await?;
//! assert_eq!(text, "hello!");
//! # Ok(())
//! # }
//! ```
//!
//! # How it works
//! All state is one value behind one lock: a script needs the whole keyspace to stand still anyway, and a command takes
//! about a microsecond. It is a deterministic machine: time and chance come from a [`Host`], so a test can move the clock by
//! hand and repeat a run from its seed. What a command did goes to the log as effects, never as scripts, and a
//! reply is sent once the log has them as safely as [`Fsync`] asks for; writers that come together share a sync.
//!
//! In reading order: `types`, `dict` and `db` hold the data; `table`, `exec` and `ctx` take a command to its handler in
//! `commands`; `script` runs Lua; `state` is the machine and `blocking`, `pubsub`, `effects` and `rewrite` its parts; `aof`
//! is the log; `engine`, `connection`, `subscriber` and `server` are the doors.
//!
#![doc = include_str!("docs/differences.md")]

mod allocator;
mod aof;
mod blocking;
mod commands;
mod config;
mod connection;
mod ctx;
mod db;
mod deferred;
mod dict;
mod dump;
mod effects;
mod engine;
mod exec;
mod fault;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod glob;
mod host;
mod housekeeping;
mod longdouble;
mod num;
mod packed;
mod pubsub;
mod reply;
mod resp;
mod rewrite;
mod script;
mod script_control;
mod server;
mod session;
mod state;
mod steady_clock;
mod subscriber;
mod table;
#[cfg(test)]
mod test_engine;
mod types;
mod unwinding;

pub use self::{
    allocator::{Allocator, CountingAllocator, counted_bytes, set_allocator},
    aof::{Fsync, Loading, Recovery},
    connection::Connection,
    engine::{Builder, Engine, NoSuchDatabase, OpenError},
    host::{Host, SimulatedHost, SystemHost},
    reply::{Error, Reply},
    server::Listener,
    steady_clock::{SimulatedTimeSource, SteadyClock, SystemTimeSource, TimeSource},
    subscriber::{Message, Subscriber},
};

/// Looking after the log in a data folder that no engine has open: verify it, repair it.
pub mod log {
    pub use crate::aof::{
        Damage, Error, FileReport, RemovedBytes, Repair, Report, TruncatedTail, check, check_bytes,
        repair,
    };
}
