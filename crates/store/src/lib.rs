//! Access to the data: the only crate that opens a connection.
//!
//! [`Store::open`] takes a URL and returns a store: the embedded engine, a Redis server, a Sentinel group or a
//! cluster. Services use all of them alike; [`Store::layout`] tells a cluster from the rest, and [`Store::kind`]
//! and [`Store::engine`] are for the program's edges. Commands go through the `redis` crate's traits on a
//! [`Connection`]; changes to more than one key are [`Script`]s; [`Store::subscribe`] gives messages that survive
//! reconnects; time comes from the store's [`Clock`].
//!
//! In reading order: `url`, `error`, `class` and `reply` are what opening deals in; `open` makes the connections; `store` is the
//! door; `connection`, `script`, `subscription` and `blocking` are the ways through it;
//! `info` tells how it is doing, `keyspace` walks through all it holds, and `acl` is the user that may do all this
//! on a server.

mod acl;
mod address;
mod blocking;
mod class;
mod clock;
mod connection;
mod error;
mod info;
mod joined;
mod keys;
mod keyspace;
mod link;
mod open;
mod probe;
mod replicas;
mod reply;
mod script;
mod sentinel;
mod store;
mod subscription;
mod traced;
mod url;

pub use keyrack_engine::Loading;

pub use self::{
    acl::{AclProjects, AclUser, acl_password, acl_user},
    blocking::BlockingConnection,
    class::{Class, ErrorInfo, ServiceError},
    clock::{Clock, SystemClock},
    connection::Connection,
    error::Error,
    info::{DatabaseInfo, Info},
    joined::joined,
    keys::FAMILIES,
    keyspace::Keyspace,
    replicas::{ReplicasAcknowledge, Writing},
    script::{Call, Script},
    store::{Kind, Options, Store},
    subscription::{Event, Message, Subscription},
    url::{StoreUrl, UrlError},
};
#[doc(hidden)]
pub use script::Source;
