//! The settings that CONFIG knows, by the names Redis has for them.

use super::{
    ignored_settings::{IGNORED_SETTINGS, IgnoredSetting},
    values::{integer, memory, pubsub_output_limit},
};
use crate::{aof::Fsync, config::Config, state::State};

/// One setting.
pub(super) struct Parameter {
    pub(super) name: &'static str,
    get: fn(&State) -> String,
    /// `None` for a setting that stays as it is.
    change: Option<Change>,
}

type Change = fn(&mut Config, &str) -> Result<(), String>;

/// A setting that CONFIG knows, and the name by which it was found.
#[derive(Clone, Copy)]
pub(super) enum Setting {
    Own(&'static Parameter),
    Ignored(&'static str, &'static IgnoredSetting),
}

/// Every setting under each of its names.
pub(super) fn settings() -> impl Iterator<Item = Setting> {
    let remembered = IGNORED_SETTINGS.iter().flat_map(|setting| {
        let names = [Some(setting.name), setting.alias].into_iter().flatten();
        names.map(move |name| Setting::Ignored(name, setting))
    });
    PARAMETERS.iter().map(Setting::Own).chain(remembered)
}

impl Setting {
    pub(super) fn name(self) -> &'static str {
        match self {
            Setting::Own(parameter) => parameter.name,
            Setting::Ignored(name, _) => name,
        }
    }

    pub(super) fn get(self, state: &State) -> String {
        match self {
            Setting::Own(parameter) => (parameter.get)(state),
            Setting::Ignored(_, setting) => setting.get(&state.config),
        }
    }

    /// Sets the value in `config`, or says why it cannot be.
    pub(super) fn set(self, state: &State, config: &mut Config, value: &str) -> Result<(), String> {
        match self {
            Setting::Ignored(_, setting) => setting.set(config, value),
            Setting::Own(parameter) => match parameter.change {
                Some(change) => change(config, value),
                // Scripts that set up a server often spell out what is the case anyway.
                None if (parameter.get)(state) == value => Ok(()),
                None => Err("can't set immutable config".into()),
            },
        }
    }
}

const fn changing(name: &'static str, get: fn(&State) -> String, change: Change) -> Parameter {
    Parameter { name, get, change: Some(change) }
}

const fn fixed(name: &'static str, get: fn(&State) -> String) -> Parameter {
    Parameter { name, get, change: None }
}

const INT_MAX: u64 = i32::MAX as u64;
const LONG_MAX: u64 = i64::MAX as u64;
const MIB: u64 = 1 << 20;

static PARAMETERS: &[Parameter] = &[
    fixed("appendonly", |state| if state.log.is_some() { "yes" } else { "no" }.into()),
    changing("appendfsync", appendfsync, set_appendfsync),
    changing(
        "auto-aof-rewrite-percentage",
        |state| state.config.rewrite_percentage.to_string(),
        |config, value| integer(value, 0..=INT_MAX).map(|n| config.rewrite_percentage = n),
    ),
    changing(
        "auto-aof-rewrite-min-size",
        |state| state.config.rewrite_size_min.to_string(),
        |config, value| memory(value, 0..=LONG_MAX).map(|n| config.rewrite_size_min = n),
    ),
    changing("busy-reply-threshold", busy_reply_threshold, set_busy_reply_threshold),
    changing("lua-time-limit", busy_reply_threshold, set_busy_reply_threshold),
    changing("client-output-buffer-limit", output_limit, set_output_limit),
    changing(
        "client-query-buffer-limit",
        |state| state.config.query_buffer_max.to_string(),
        |config, value| memory(value, MIB..=LONG_MAX).map(|n| config.query_buffer_max = n as usize),
    ),
    fixed("databases", |state| state.dbs.len().to_string()),
    changing(
        "maxclients",
        |state| state.config.clients_max.to_string(),
        |config, value| {
            integer(value, 1..=u64::from(u32::MAX)).map(|n| config.clients_max = n as usize)
        },
    ),
    changing(
        "proto-max-bulk-len",
        |state| state.config.bulk_len_max.to_string(),
        |config, value| memory(value, MIB..=LONG_MAX).map(|n| config.bulk_len_max = n as usize),
    ),
    changing(
        "requirepass",
        |state| state.config.password.clone().unwrap_or_default(),
        |config, value| {
            config.password = Some(value.to_owned()).filter(|password| !password.is_empty());
            Ok(())
        },
    ),
    changing(
        "timeout",
        |state| state.config.timeout_s.to_string(),
        |config, value| integer(value, 0..=INT_MAX).map(|n| config.timeout_s = n),
    ),
    // Redis has none of these.
    changing(
        "auth-timeout",
        |state| state.config.auth_timeout_s.to_string(),
        |config, value| integer(value, 0..=INT_MAX).map(|n| config.auth_timeout_s = n),
    ),
    changing(
        "auth-delay-max",
        |state| state.config.auth_delay_max_ms.to_string(),
        |config, value| integer(value, 0..=INT_MAX).map(|n| config.auth_delay_max_ms = n),
    ),
    changing(
        "request-timeout",
        |state| state.config.request_timeout_s.to_string(),
        |config, value| integer(value, 0..=INT_MAX).map(|n| config.request_timeout_s = n),
    ),
    // What clients look up, and what is always so here.
    fixed("aof-load-truncated", |_| "yes".into()),
    fixed("aof-timestamp-enabled", |_| "no".into()),
    fixed("aof-use-rdb-preamble", |_| "no".into()),
    fixed("activedefrag", |_| "no".into()),
    fixed("cluster-enabled", |_| "no".into()),
    fixed("daemonize", |_| "no".into()),
    fixed("hz", |_| "10".into()),
    fixed("maxmemory", |_| "0".into()),
    fixed("maxmemory-clients", |_| "0".into()),
    fixed("maxmemory-policy", |_| "noeviction".into()),
    fixed("min-replicas-to-write", |_| "0".into()),
    fixed("min-slaves-to-write", |_| "0".into()),
    fixed("notify-keyspace-events", |_| String::new()),
    fixed("protected-mode", |_| "no".into()),
    fixed("replicaof", |_| String::new()),
    fixed("save", |_| String::new()),
    fixed("slaveof", |_| String::new()),
];

fn appendfsync(state: &State) -> String {
    let fsync = match &state.log {
        Some(log) => log.fsync(),
        None => state.config.fsync.unwrap_or_default(),
    };
    match fsync {
        Fsync::Always => "always",
        Fsync::EverySec => "everysec",
        Fsync::No => "no",
    }
    .into()
}

fn set_appendfsync(config: &mut Config, value: &str) -> Result<(), String> {
    config.fsync = Some(match &*value.to_ascii_lowercase() {
        "always" => Fsync::Always,
        "everysec" => Fsync::EverySec,
        "no" => Fsync::No,
        _ => {
            return Err("argument(s) must be one of the following: everysec, always, no".into());
        }
    });
    Ok(())
}

fn busy_reply_threshold(state: &State) -> String {
    state.config.busy_reply_ms.to_string()
}

fn set_busy_reply_threshold(config: &mut Config, value: &str) -> Result<(), String> {
    integer(value, 0..=LONG_MAX).map(|n| config.busy_reply_ms = n)
}

fn output_limit(state: &State) -> String {
    let limit = state.config.pending_output_max;
    format!("normal 0 0 0 slave 0 0 0 pubsub {limit} 0 0")
}

/// Limits what slow subscribers may leave lying; counts for connections made from now on.
fn set_output_limit(config: &mut Config, value: &str) -> Result<(), String> {
    if let Some(limit) = pubsub_output_limit(value)? {
        // Without a limit in Redis' terms, which is as good as none here.
        let limit = if limit == 0 { LONG_MAX } else { limit };
        config.pending_output_max = usize::try_from(limit).unwrap_or(usize::MAX);
    }
    Ok(())
}
