//! What the JSON in the keys of the Bee queue looks like.

use keyrack_keys::declare::json;

pub(super) const OPTIONS: json::Schema = json::Object(&[
    ("priority", json::Any),
    ("delay", json::Number),
    ("dependencies", json::LuaArray(&json::String)),
    ("dependenciesOnTags", json::Any),
    ("preferredHostname", json::Any),
    ("retries", json::Number),
    ("retryDelay", json::Number),
    ("progressiveDelay", json::Any),
    ("ttl", json::Number),
    ("failedTtl", json::Maybe(&json::Number)),
    ("ownRetries", json::Maybe(&json::Bool)),
    ("backoff", json::Maybe(&json::String)),
    ("retryDelayMax", json::Maybe(&json::Number)),
    ("retryJitter", json::Maybe(&json::Number)),
    ("timeout", json::Maybe(&json::Number)),
    ("startBy", json::Maybe(&json::Number)),
    ("limits", json::Maybe(&json::LuaArray(&json::String))),
    ("unique", json::Maybe(&json::Map(&json::Any))),
    ("traceparent", json::Maybe(&json::String)),
    ("tracestate", json::Maybe(&json::String)),
    ("metadata", json::Maybe(&json::Any)),
]);

pub(super) const HISTORY: json::Schema = json::LuaArray(&json::Object(&[
    ("event", json::String),
    ("timestamp", json::Number),
    ("hive", json::String),
]));

pub(super) const WORKER: json::Schema = json::Object(&[
    ("started_at", json::Number),
    ("concurrency", json::Number),
    ("lock_ms", json::Number),
    ("listens", json::Bool),
    ("isolates", json::Maybe(&json::Bool)),
    ("stop_ms", json::Maybe(&json::Number)),
    ("version", json::Maybe(&json::String)),
]);

pub(super) const UNIQUE: json::Schema = json::Object(&[
    ("jid", json::String),
    ("at", json::Number),
    ("next", json::Maybe(&json::String)),
]);

pub(super) const PROGRESS: json::Schema = json::Object(&[
    ("value", json::Any),
    ("message", json::Maybe(&json::String)),
    ("at", json::Number),
    ("attempt", json::Number),
]);

/// The head of a log, or one of its lines.
pub(super) const LOG: json::Schema = json::Map(&json::Any);

pub(super) const LOG_NOTE: json::Schema = json::Object(&[("next", json::Number)]);

pub(super) const EVENT: json::Schema = json::Object(&[
    ("type", json::String),
    ("queue", json::String),
    ("jid", json::String),
    ("job", json::Maybe(&json::Map(&json::Any))),
    ("progress", json::Maybe(&json::Any)),
    ("message", json::Maybe(&json::String)),
    ("till", json::Maybe(&json::Number)),
]);

pub(super) const ORDER: json::Schema = json::Object(&[
    ("type", json::String),
    ("queue", json::String),
    ("jid", json::String),
    ("attempt", json::Number),
]);

pub(super) const JOB_END: json::Schema = json::Object(&[
    ("status", json::String),
    ("jid", json::String),
    ("queue", json::String),
    ("at", json::Number),
    ("attempts", json::Number),
    ("retries", json::Number),
    ("submitted", json::Number),
    ("tags", json::LuaArray(&json::String)),
    ("tenant", json::Maybe(&json::String)),
    ("parent", json::Maybe(&json::String)),
    ("failed_reason", json::Maybe(&json::String)),
    ("data", json::Maybe(&json::Any)),
    ("result", json::Maybe(&json::Any)),
]);

/// Numbers by their names.
pub(super) const RECORD: json::Schema = json::Map(&json::Number);

pub(super) const SLOWEST: json::Schema = json::Object(&[
    ("over", json::Maybe(&json::Number)),
    (
        "jobs",
        json::Array(&json::Object(&[
            ("jid", json::String),
            ("run_ms", json::Number),
            ("at", json::Number),
        ])),
    ),
]);

/// Failures by the hour since the epoch.
const ERROR_HOURS: json::Schema = json::Map(&json::Number);

pub(super) const ERROR_GROUP: json::Schema = json::Object(&[
    ("count", json::Number),
    ("failed", json::Number),
    ("first", json::Number),
    ("last", json::Number),
    ("hours", ERROR_HOURS),
    ("kind", json::Maybe(&json::String)),
    ("text", json::Maybe(&json::String)),
    ("message", json::Maybe(&json::String)),
    (
        "jobs",
        json::Maybe(&json::Array(&json::Object(&[("jid", json::String), ("at", json::Number)]))),
    ),
    ("tenants", json::Maybe(&json::LuaArray(&json::String))),
    ("hosts", json::Maybe(&json::LuaArray(&json::String))),
    ("versions", json::Maybe(&json::LuaArray(&json::String))),
    ("folded", json::Maybe(&json::Number)),
]);

pub(super) const ERROR_MUTE: json::Schema = json::Object(&[
    ("at", json::Number),
    ("ends_at", json::Number),
    ("version", json::Maybe(&json::String)),
]);
