//! Webhooks: events that are sent to other servers, signed, in order, and at least once.
//!
//! [`Webhooks`] is the service. It knows nothing of jobs, rules and alerts: whoever does hands it
//! an [`Event`].
//!
//! In reading order: `hook` is where events go, `event` what goes, `body` in which form,
//! `signature` how a receiver knows who sent it. `address` decides which addresses may be called,
//! and `send` calls them. `enqueue` stores what has to be delivered, `deliver` delivers it,
//! `deliveries` lists and replays it. `run` is what a server does every second, and `sources` is
//! where it remembers how far it has read.
//!
//! # What is guaranteed
//!
//! An event that [`Webhooks::enqueue`] has taken is delivered at least once to each hook that asks
//! for it, unless the receiver refuses it for 24 hours. Then it is kept as failed, for replay.
//! Events of one subject, such as a job, are delivered in the order in which they were taken: the
//! next one waits until the receiver has answered 2xx to the one before, or that one has failed.
//! One delivery is made by one server at a time, unless that server is held up for longer than its
//! lease.
//!
//! # How
//!
//! Each subject is a *lane* of a hook: a list of deliveries, of which only the first may be made.
//! `due` holds the lanes by when the first is to be tried. A claim moves a lane 30 s into the
//! future, which is the lease, and counts an attempt, which is the fence: whoever reports an older
//! attempt changes nothing. A hook that fails five times in a row is asked with one delivery at a
//! time, after pauses that grow to five minutes. Each hook is delivered by itself, so none waits
//! for another.
//!
//! Alternatives considered: publishing events loses them while servers restart. A cursor over ended
//! jobs misses canceled and short-lived ones. So the scripts that end jobs write an outbox (see
//! `bee/outbox.rs` in `jobs`), and servers move it here.

mod address;
mod body;
mod deliver;
mod deliveries;
mod duty;
mod enqueue;
mod error;
mod event;
mod hook;
pub mod keys;
mod run;
mod send;
mod signature;
mod sources;
mod webhooks;

pub use self::{
    address::AllowedPrivate,
    body::Format,
    deliveries::{DELIVERIES_MAX, Delivery, DeliveryState},
    error::Error,
    event::{Event, KINDS},
    hook::{Change, CreatedHook, Draft, HOOKS_MAX, Health, Hook, HookSettings},
    keys::{FAMILIES, HookId},
    run::Deliverer,
    signature::sign,
    webhooks::{Settings, Webhooks},
};
