//! An in-process Redis.

mod aof;
mod blocking;
mod commands;
mod config;
mod connection;
mod ctx;
mod db;
mod dict;
mod dump;
mod effects;
mod engine;
mod exec;
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
#[cfg(test)]
mod rig;
mod script;
mod script_control;
mod server;
mod session;
mod state;
mod subscriber;
mod table;
mod types;

pub use self::{
    aof::{Fsync, Recovery},
    connection::Connection,
    engine::{Builder, Engine, NoSuchDatabase, OpenError},
    host::{Host, SimulatedHost, SystemHost},
    reply::{Error, Reply},
    server::Listener,
    subscriber::{Message, Subscriber},
};

/// Looking after the log in a data folder that no engine has open: verify it, repair it.
pub mod log {
    pub use crate::aof::{
        Cut, Damage, Error, FileReport, Repair, Report, Saved, check, check_bytes, repair,
    };
}
