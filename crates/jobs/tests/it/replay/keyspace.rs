//! Everything that a store holds, read, written and made older.

use std::collections::BTreeMap;

use keyrack_store::{Connection, Store};
use redis::{FromRedisValue, ToRedisArgs};
use serde::Deserialize;
use serde_json::{Value as Json, json};

/// All keys by name.
pub(super) type Keyspace = BTreeMap<String, Entry>;

/// One key: a hash as an object, a sorted set as pairs of member and score, sets sorted.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Entry {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) ttl_ms: Option<u64>,
    pub(super) value: Json,
}

pub(super) async fn dump(store: &Store) -> Keyspace {
    let mut reader = Reader { connection: store.connection() };
    let mut keyspace = Keyspace::new();
    for key in reader.ask::<Vec<String>>("KEYS", &["*"]).await {
        let kind: String = reader.ask("TYPE", &[&key]).await;
        let ttl: i64 = reader.ask("PTTL", &[&key]).await;
        let value = reader.value(&kind, &key).await;
        keyspace.insert(key, Entry { kind, ttl_ms: u64::try_from(ttl).ok(), value });
    }
    keyspace
}

pub(super) async fn load(store: &Store, keyspace: &Keyspace) {
    let mut connection = store.connection();
    for (key, entry) in keyspace {
        let mut command = write(key, entry);
        let () = command.query_async(&mut connection).await.expect("written");
        if let Some(ttl_ms) = entry.ttl_ms {
            command = redis::cmd("PEXPIRE");
            let () = command.arg(key).arg(ttl_ms).query_async(&mut connection).await.expect("set");
        }
    }
}

/// Shortens the life of every key, as if so much time had passed on the server.
pub(super) async fn grow_older(store: &Store, ms: u64) {
    const SCRIPT: &str = "
        for _, key in ipairs(redis.call('KEYS', '*')) do
          local left = redis.call('PTTL', key)
          if left >= 0 then redis.call('PEXPIRE', key, left - ARGV[1]) end
        end";
    let mut command = redis::cmd("EVAL");
    command.arg(SCRIPT).arg(0).arg(ms);
    let () = command.query_async(&mut store.connection()).await.expect("older");
}

struct Reader {
    connection: Connection,
}

impl Reader {
    async fn ask<T: FromRedisValue>(&mut self, command: &str, args: &[impl ToRedisArgs]) -> T {
        redis::cmd(command).arg(args).query_async(&mut self.connection).await.expect("an answer")
    }

    async fn value(&mut self, kind: &str, key: &str) -> Json {
        match kind {
            "string" => json!(self.ask::<String>("GET", &[key]).await),
            "list" => json!(self.ask::<Vec<String>>("LRANGE", &[key, "0", "-1"]).await),
            "hash" => json!(self.ask::<BTreeMap<String, String>>("HGETALL", &[key]).await),
            "set" => {
                let mut members: Vec<String> = self.ask("SMEMBERS", &[key]).await;
                members.sort();
                json!(members)
            }
            "zset" => {
                let flat: Vec<String> = self.ask("ZRANGE", &[key, "0", "-1", "WITHSCORES"]).await;
                flat.chunks_exact(2).map(|pair| json!(pair)).collect()
            }
            other => panic!("\"{key}\" is a {other}, which no key of Bee is"),
        }
    }
}

fn write(key: &str, entry: &Entry) -> redis::Cmd {
    let text = |value: &Json| value.as_str().expect("a text").to_owned();
    let items = || entry.value.as_array().expect("a list").iter();
    let (name, args): (&str, Vec<String>) = match entry.kind.as_str() {
        "string" => ("SET", vec![text(&entry.value)]),
        "list" => ("RPUSH", items().map(text).collect()),
        "set" => ("SADD", items().map(text).collect()),
        "zset" => ("ZADD", items().flat_map(|pair| [text(&pair[1]), text(&pair[0])]).collect()),
        _ => {
            let fields = entry.value.as_object().expect("fields");
            ("HSET", fields.iter().flat_map(|(name, value)| [name.clone(), text(value)]).collect())
        }
    };
    let mut command = redis::cmd(name);
    command.arg(key).arg(args);
    command
}
