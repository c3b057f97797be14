//! Settings that Redis needs and the engine does not: checked and remembered, as whoever sets them reads them again.
//!
//! Only what nobody relies on stands here, such as how hard to try to save memory. A setting that promises something, as
//! `maxmemory` and `notify-keyspace-events` do, is refused instead.

use std::ops::RangeInclusive;

use super::values::{memory, one_of, signed, yes_or_no};
use crate::config::Config;

/// A setting without an effect.
pub(super) struct IgnoredSetting {
    pub(super) name: &'static str,
    /// The older name of the same setting, or the newer one.
    pub(super) alias: Option<&'static str>,
    kind: Kind,
    default: &'static str,
}

enum Kind {
    YesNo,
    Integer(RangeInclusive<i64>),
    Memory(RangeInclusive<u64>),
    OneOf(&'static [&'static str]),
}

impl IgnoredSetting {
    pub(super) fn get(&self, config: &Config) -> String {
        let value = config.remembered.get(self.name);
        value.map_or(self.default, String::as_str).to_owned()
    }

    pub(super) fn set(&self, config: &mut Config, value: &str) -> Result<(), String> {
        let value = match &self.kind {
            Kind::YesNo => yes_or_no(value)?.to_owned(),
            Kind::Integer(range) => signed(value, range.clone())?.to_string(),
            Kind::Memory(range) => memory(value, range.clone())?.to_string(),
            Kind::OneOf(words) => one_of(value, words)?.to_owned(),
        };
        config.remembered.insert(self.name, value);
        Ok(())
    }
}

const fn yes(name: &'static str) -> IgnoredSetting {
    IgnoredSetting { name, alias: None, kind: Kind::YesNo, default: "yes" }
}

const fn no(name: &'static str) -> IgnoredSetting {
    IgnoredSetting { name, alias: None, kind: Kind::YesNo, default: "no" }
}

const fn integer(
    name: &'static str,
    range: RangeInclusive<i64>,
    default: &'static str,
) -> IgnoredSetting {
    IgnoredSetting { name, alias: None, kind: Kind::Integer(range), default }
}

const fn bytes(
    name: &'static str,
    range: RangeInclusive<u64>,
    default: &'static str,
) -> IgnoredSetting {
    IgnoredSetting { name, alias: None, kind: Kind::Memory(range), default }
}

impl IgnoredSetting {
    const fn or(mut self, alias: &'static str) -> IgnoredSetting {
        self.alias = Some(alias);
        self
    }
}

const INT_MIN: i64 = i32::MIN as i64;
const INT_MAX: i64 = i32::MAX as i64;
const LONG_MAX: i64 = i64::MAX;
const SIZE_MAX: u64 = i64::MAX as u64;

#[rustfmt::skip]
pub(super) static IGNORED_SETTINGS: &[IgnoredSetting] = &[
    // How values are laid out: the engine keeps to the defaults.
    integer("hash-max-listpack-entries", 0..=LONG_MAX, "512").or("hash-max-ziplist-entries"),
    bytes("hash-max-listpack-value", 0..=SIZE_MAX, "64").or("hash-max-ziplist-value"),
    integer("zset-max-listpack-entries", 0..=LONG_MAX, "128").or("zset-max-ziplist-entries"),
    bytes("zset-max-listpack-value", 0..=SIZE_MAX, "64").or("zset-max-ziplist-value"),
    integer("set-max-intset-entries", 0..=LONG_MAX, "512"),
    integer("list-max-listpack-size", INT_MIN..=INT_MAX, "-2").or("list-max-ziplist-size"),
    integer("list-compress-depth", 0..=INT_MAX, "0"),
    integer("stream-node-max-entries", 0..=LONG_MAX, "100"),
    bytes("stream-node-max-bytes", 0..=SIZE_MAX, "4096"),
    bytes("hll-sparse-max-bytes", 0..=SIZE_MAX, "3000"),
    // When work is done that nobody waits for.
    yes("activerehashing"),
    yes("dynamic-hz"),
    yes("jemalloc-bg-thread"),
    no("lazyfree-lazy-eviction"),
    no("lazyfree-lazy-expire"),
    no("lazyfree-lazy-server-del"),
    no("lazyfree-lazy-user-del"),
    no("lazyfree-lazy-user-flush"),
    integer("active-expire-effort", 1..=10, "1"),
    integer("maxmemory-samples", 1..=INT_MAX, "5"),
    integer("maxmemory-eviction-tenacity", 0..=100, "10"),
    integer("lfu-log-factor", 0..=INT_MAX, "10"),
    integer("lfu-decay-time", 0..=INT_MAX, "1"),
    // Snapshots and the log: there are no snapshots, and the log is synced as `appendfsync` says at all times.
    yes("rdbcompression"),
    no("rdb-del-sync-files"),
    yes("rdb-save-incremental-fsync"),
    yes("stop-writes-on-bgsave-error"),
    yes("aof-rewrite-incremental-fsync"),
    no("no-appendfsync-on-rewrite"),
    // What is measured and reported.
    IgnoredSetting { name: "loglevel", alias: None, kind: Kind::OneOf(&["debug", "verbose", "notice", "warning"]), default: "notice" },
    yes("latency-tracking"),
    integer("latency-monitor-threshold", 0..=LONG_MAX, "0"),
    integer("slowlog-log-slower-than", -1..=LONG_MAX, "-1"),
    integer("slowlog-max-len", 0..=LONG_MAX, "0"),
    integer("acllog-max-len", 0..=LONG_MAX, "128"),
    yes("crash-log-enabled"),
    yes("crash-memcheck-enabled"),
    // Clients and replicas, of which there are none.
    integer("tcp-keepalive", 0..=INT_MAX, "300"),
    integer("tracking-table-max-keys", 0..=LONG_MAX, "1000000"),
    integer("shutdown-timeout", 0..=INT_MAX, "10"),
    integer("min-replicas-max-lag", 0..=INT_MAX, "10").or("min-slaves-max-lag"),
    integer("repl-timeout", 1..=INT_MAX, "60"),
    integer("repl-backlog-ttl", 0..=LONG_MAX, "3600"),
    bytes("repl-backlog-size", 1..=SIZE_MAX, "1048576"),
    integer("repl-ping-replica-period", 1..=INT_MAX, "10").or("repl-ping-slave-period"),
    no("repl-disable-tcp-nodelay"),
    yes("repl-diskless-sync"),
    integer("repl-diskless-sync-delay", 0..=INT_MAX, "5"),
    integer("replica-priority", 0..=INT_MAX, "100").or("slave-priority"),
    yes("replica-serve-stale-data").or("slave-serve-stale-data"),
    yes("replica-read-only").or("slave-read-only"),
    no("replica-lazy-flush").or("slave-lazy-flush"),
    yes("replica-ignore-maxmemory").or("slave-ignore-maxmemory"),
];
