//! The native module of the Node package `keyrack`: the same crates that Rust programs use.
//!
//! TypeScript decides what a queue is and how values are written as JSON; see `ts/`. This side has
//! everything that waits: calls to the store, leases, claims and settles.
//!
//! In reading order: `rack` is an opened store with its runtime, whose calls are those of
//! `keyrack_bridge`. `port` is how the event loop hears of calls that have ended, by a `wake`. `work` runs
//! a worker, `lane` hands its jobs to JavaScript and takes the results.
//!
//! No thread of the runtime ever waits for JavaScript, so a handler that blocks the event loop delays no
//! heartbeat. Everything crosses as JSON text, many values at once: one text costs less than the objects
//! of one job.

#![allow(unsafe_code, reason = "the macros of napi register functions with Node in unsafe code")]
#![allow(missing_docs, reason = "ts/native.ts describes what JavaScript sees")]
#![allow(unreachable_pub, reason = "what JavaScript sees is public to the macros of napi")]

mod lane;
mod port;
mod rack;
mod wake;
mod work;
