//! Files: making sure that what was uploaded for nothing gets deleted, and that nothing else does.
//!
//! [`Files`] is the service. In reading order: [`file`](File) says what stands in `files:purgatory`; `files` enters it there and
//! takes it out; `upload` is the way to store a file so that no crash leaves one that nobody knows; `sweep` deletes what is due, out of
//! the [`Buckets`] that `buckets` reaches.

#[cfg(feature = "buckets")]
mod buckets;
mod error;
mod file;
mod files;
pub mod keys;
#[cfg(feature = "buckets")]
mod sweep;
mod upload;

#[cfg(feature = "buckets")]
pub use self::{
    buckets::{Buckets, Credentials, Deleted},
    sweep::{FileOutcome, Records, SWEEP_JOB, Sweep, SweepAction, Swept},
};
pub use self::{
    error::{Error, SaveError},
    file::File,
    files::{Entry, Failure, Files},
    keys::FAMILIES,
    upload::Upload,
};
