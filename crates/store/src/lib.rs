//! The one door to data.
//!
//! [`Store::open`] takes a URL and gives a store; nobody above this crate can tell whether an embedded engine, a
//! Redis server, a Sentinel group or a cluster is behind it. Commands go through the `redis` crate's traits on a
//! [`Connection`]; changes to more than one key are [`Script`]s; [`Store::subscribe`] gives messages that survive
//! reconnects; time comes from the store's [`Clock`].
//!
//! In reading order: `url`, `error` and `reply` are what opening deals in; `open` makes the connections; `store` is the
//! door; `connection`, `script`, `subscription` and `blocking` are the ways through it;
//! `info` tells how it is doing, `keyspace` walks through all it holds, and `acl` is the user that may do all this
//! on a server.

mod acl;
mod address;
mod blocking;
mod clock;
mod connection;
mod error;
mod info;
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
mod url;

pub use keyrack_engine::Loading;

pub use self::{
    acl::{AclProjects, AclUser, acl_user},
    blocking::BlockingConnection,
    clock::{Clock, SystemClock},
    connection::Connection,
    error::Error,
    info::{DatabaseInfo, Info},
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
