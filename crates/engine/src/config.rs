//! The settings that CONFIG shows and changes.

use std::collections::BTreeMap;

use crate::{aof::Fsync, script::Limits};

/// Settings, most of which CONFIG SET can change while running.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) databases: usize,
    pub(crate) password: Option<String>,
    pub(crate) clients_max: usize,
    /// A script that runs longer makes other clients get BUSY, and may be killed.
    pub(crate) busy_reply_ms: u64,
    pub(crate) script_memory_max: usize,
    /// Bytes one argument may have.
    pub(crate) bulk_len_max: usize,
    /// Bytes of pub/sub messages a slow reader may leave lying.
    pub(crate) pending_output_max: usize,
    /// Bytes a client may send before its command is complete.
    pub(crate) query_buffer_max: usize,
    /// When a write counts as done, once CONFIG SET has said so; until then only the log knows.
    pub(crate) fsync: Option<Fsync>,
    /// Rewrite the log by itself once it has grown by this much over the last rewrite; 0 for never.
    pub(crate) rewrite_percentage: u64,
    pub(crate) rewrite_size_min: u64,
    /// Close connections idle for this long; 0 for never.
    pub(crate) timeout_s: u64,
    /// Settings without an effect that differ from their defaults.
    pub(crate) remembered: BTreeMap<&'static str, String>,
    /// Close connections that have not given the password after this long; 0 for never.
    pub(crate) auth_timeout_s: u64,
    /// The longest that an address which gave wrong passwords waits for its next try; 0 for never.
    pub(crate) auth_delay_max_ms: u64,
    /// Close connections that have begun a command and do not go on with it for this long; 0 for never.
    pub(crate) request_timeout_s: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            databases: 1024,
            password: None,
            clients_max: 20_000,
            busy_reply_ms: 5000,
            script_memory_max: 256 << 20,
            bulk_len_max: 512 << 20,
            pending_output_max: 32 << 20,
            query_buffer_max: 1 << 30,
            fsync: None,
            rewrite_percentage: 100,
            rewrite_size_min: 64 << 20,
            timeout_s: 0,
            remembered: BTreeMap::new(),
            auth_timeout_s: 30,
            auth_delay_max_ms: 1000,
            request_timeout_s: 60,
        }
    }
}

impl Config {
    pub(crate) fn script_limits(&self) -> Limits {
        Limits { memory: self.script_memory_max, ..Limits::default() }
    }
}
