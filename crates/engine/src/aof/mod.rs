//! The append-only log: every change to the keyspace, on disk, in Redis' own multi-part format.
//!
//! A data folder holds `appendonlydir/` with a manifest, a base file (the keyspace at the last
//! rewrite) and one or more incr files (every change since), all of them plain RESP commands, so
//! that `redis-server --appendonly yes` opens the folder as it is, and the engine opens one that
//! Redis wrote. What Redis does not have travels where Redis looks away: a checksum line in front
//! of each batch is an annotation ([`frame`]), and the manifest carries lengths and a checksum of
//! its own in places Redis skips ([`manifest`]).
//!
//! The log knows nothing about commands. It stores *units*, the encoded effects of one command,
//! transaction or script, and gives them back whole or not at all.
//!
//! In reading order: what the bytes mean ([`frame`], [`resp`], [`scan`]), the folder round them
//! ([`manifest`], [`folder`]), starting ([`load`]), running ([`log`], [`commit`], [`writer`],
//! [`background`], [`rewrite`]), and looking after it ([`mod@check`], [`mod@repair`]).

mod background;
mod check;
mod commit;
mod disk;
mod error;
mod folder;
mod frame;
#[cfg(feature = "fuzzing")]
mod fuzzing;
mod load;
mod log;
mod manifest;
mod repair;
mod resp;
mod rewrite;
mod scan;
mod writer;

#[cfg(test)]
mod tests;

pub use check::{Damage, FileReport, Report, check, check_bytes};
pub use error::Error;
pub use load::{Loading, Recovery, TruncatedTail};
pub use log::Fsync;
pub use repair::{RemovedBytes, Repair, repair};

#[cfg(feature = "fuzzing")]
pub(crate) use fuzzing::{read_and_write_manifest, replay_bytes, sealed};
pub(crate) use load::open;
pub(crate) use log::{Log, Options};
pub(crate) use resp::Unit;
pub(crate) use rewrite::Rewrite;
