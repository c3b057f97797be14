//! The commands that keyrack sends to a server, in the one list that the printed user has its rights from.
//!
//! A test of the program collects the commands in the sources of the store, the services and their scripts, and fails when one is not
//! listed here. All of them are bound to the declared keys and channels, so the data commands of a type stand together.

/// Commands for one purpose, in lower case and with `|` before a subcommand.
#[derive(Debug)]
pub(super) struct Group {
    #[cfg_attr(not(test), expect(dead_code, reason = "says why the commands are listed"))]
    pub(super) purpose: &'static str,
    pub(super) commands: &'static [&'static str],
}

pub(super) const COMMANDS: &[Group] = &[
    Group {
        purpose: "connecting, also to a cluster",
        commands: &["auth", "hello", "select", "ping", "asking", "cluster|slots"],
    },
    Group {
        purpose: "telling how the store is doing, and walking through it for the lint",
        commands: &["info", "time", "dbsize", "scan", "type", "memory|usage", "object|idletime"],
    },
    Group { purpose: "scripts", commands: &["eval", "evalsha"] },
    Group { purpose: "waiting until replicas have what was written", commands: &["wait"] },
    Group { purpose: "transactions", commands: &["multi", "exec", "discard", "watch", "unwatch"] },
    Group {
        purpose: "channels; the sharded commands are those of a cluster",
        commands: &[
            "publish",
            "pubsub|numsub",
            "pubsub|numpat",
            "pubsub|shardnumsub",
            "subscribe",
            "unsubscribe",
            "spublish",
            "ssubscribe",
            "sunsubscribe",
        ],
    },
    Group {
        purpose: "keys of any type",
        commands: &[
            "exists",
            "del",
            "unlink",
            "expire",
            "pexpire",
            "expireat",
            "pexpireat",
            "persist",
            "ttl",
            "pttl",
        ],
    },
    Group {
        purpose: "strings",
        commands: &["get", "set", "mget", "getrange", "getdel", "incr", "incrby", "decr", "decrby"],
    },
    Group {
        purpose: "hashes",
        commands: &[
            "hget",
            "hset",
            "hsetnx",
            "hmget",
            "hgetall",
            "hdel",
            "hexists",
            "hincrby",
            "hincrbyfloat",
            "hkeys",
            "hlen",
            "hscan",
            "hvals",
        ],
    },
    Group {
        purpose: "lists",
        commands: &[
            "lpush", "rpush", "lpop", "rpop", "blpop", "brpop", "lmove", "blmove", "lindex",
            "llen", "lpos", "lrange", "lrem", "ltrim",
        ],
    },
    Group {
        purpose: "sets",
        commands: &[
            "sadd",
            "sinter",
            "sintercard",
            "srem",
            "scard",
            "sismember",
            "smismember",
            "smembers",
            "spop",
            "sscan",
        ],
    },
    Group {
        purpose: "sorted sets",
        commands: &[
            "zadd",
            "zrem",
            "zcard",
            "zcount",
            "zincrby",
            "zmscore",
            "zpopmin",
            "bzpopmin",
            "zrange",
            "zrangebylex",
            "zrangebyscore",
            "zrank",
            "zremrangebyrank",
            "zremrangebyscore",
            "zrevrange",
            "zrevrangebylex",
            "zrevrangebyscore",
            "zscan",
            "zscore",
        ],
    },
];

/// For types and sizes that only keys files declare. They are read and never written.
pub(super) const OF_FILES: &[&str] = &["strlen", "xlen", "xrange", "xrevrange"];
