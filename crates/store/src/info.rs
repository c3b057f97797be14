//! How the store is doing, from what its servers tell in INFO.

use redis::{FromRedisValue, Value};

use crate::{error::Error, store::Store};

/// What a store tells about itself; on a cluster, its primaries taken together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Info {
    /// What runs there and in which version: `Redis 7.0.15`.
    pub version: String,
    /// How many servers this was gathered from.
    pub servers: u64,
    /// Since when the youngest of them has been running.
    pub uptime_s: u64,
    /// Memory in use.
    pub memory_bytes: u64,
    /// Connected clients.
    pub clients: u64,
    /// Commands carried out since the start.
    pub commands: u64,
    /// Size of the append-only log, where there is one.
    pub log_bytes: Option<u64>,
    /// The databases that hold keys, by number.
    pub databases: Vec<DatabaseInfo>,
}

/// One numbered database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatabaseInfo {
    /// Its number.
    pub db: i64,
    /// Keys in it.
    pub keys: u64,
    /// Keys that will expire.
    pub expires: u64,
}

impl Store {
    /// Asks the store how it is doing.
    ///
    /// # Errors
    /// When the store cannot be reached or refuses INFO.
    pub async fn info(&self) -> Result<Info, Error> {
        let reply: Value = redis::cmd("INFO").query_async(&mut self.connection()).await?;
        let texts = match reply {
            Value::Map(nodes) => nodes.into_iter().map(|(_, text)| text).collect(),
            text => vec![text],
        };
        let mut info = Info::default();
        for text in texts {
            let text = String::from_redis_value(text).map_err(redis::RedisError::from)?;
            info.add(&text);
        }
        Ok(info)
    }

    /// Asks the store for a sign of life. Whether it can be used is what [`Store::probe`] tells.
    ///
    /// # Errors
    /// When none comes.
    pub async fn ping(&self) -> Result<(), Error> {
        Ok(redis::cmd("PING").query_async(&mut self.connection()).await?)
    }
}

impl Info {
    /// Keys in all databases.
    pub fn keys(&self) -> u64 {
        self.databases.iter().map(|database| database.keys).sum()
    }

    /// Adds what one server tells; replicas only repeat their primary.
    fn add(&mut self, text: &str) {
        let field = |name: &str| {
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
        };
        let number = |name: &str| field(name).and_then(|value| value.parse::<u64>().ok());
        if field("role") == Some("slave") && self.servers > 0 {
            return;
        }
        if self.servers == 0 {
            self.version = version(&field);
        }
        let uptime_s = number("uptime_in_seconds").unwrap_or(0);
        self.uptime_s = if self.servers == 0 { uptime_s } else { self.uptime_s.min(uptime_s) };
        self.servers += 1;
        self.memory_bytes += number("used_memory").unwrap_or(0);
        self.clients += number("connected_clients").unwrap_or(0);
        self.commands += number("total_commands_processed").unwrap_or(0);
        if let Some(bytes) = number("aof_current_size") {
            *self.log_bytes.get_or_insert(0) += bytes;
        }
        for found in text.lines().filter_map(database) {
            match self.databases.iter_mut().find(|known| known.db == found.db) {
                Some(known) => {
                    known.keys += found.keys;
                    known.expires += found.expires;
                }
                None => self.databases.push(found),
            }
        }
    }
}

fn version<'a>(field: &impl Fn(&str) -> Option<&'a str>) -> String {
    let redis = field("redis_version").unwrap_or("of unknown version");
    if let Some(engine) = field("keyrack_engine_version") {
        return format!("keyrack engine {engine}, as Redis {redis}");
    }
    match field("valkey_version") {
        Some(valkey) => format!("Valkey {valkey}"),
        None => format!("Redis {redis}"),
    }
}

/// Reads `db0:keys=1,expires=0,avg_ttl=0`.
pub(crate) fn database(line: &str) -> Option<DatabaseInfo> {
    let (db, counts) = line.strip_prefix("db")?.trim().split_once(':')?;
    let count = |name: &str| {
        counts.split(',').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
    };
    Some(DatabaseInfo { db: db.parse().ok()?, keys: count("keys")?, expires: count("expires")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: &str = "# Server\r\nredis_version:7.0.15\r\nuptime_in_seconds:90\r\nrole:master\r\n\
        used_memory:1000\r\nconnected_clients:2\r\ntotal_commands_processed:7\r\n\
        # Keyspace\r\ndb0:keys=4,expires=1,avg_ttl=0\r\ndb100:keys=2,expires=0,avg_ttl=0\r\n";

    #[test]
    fn one_server_is_told_as_it_is() {
        let mut info = Info::default();
        info.add(NODE);
        assert_eq!(info.version, "Redis 7.0.15");
        assert_eq!((info.servers, info.uptime_s, info.memory_bytes), (1, 90, 1000));
        assert_eq!((info.clients, info.commands, info.log_bytes), (2, 7, None));
        assert_eq!(info.databases[1], DatabaseInfo { db: 100, keys: 2, expires: 0 });
        assert_eq!(info.keys(), 6);
    }

    #[test]
    fn primaries_of_a_cluster_add_up_and_replicas_do_not() {
        let mut info = Info::default();
        info.add(NODE);
        info.add(
            &NODE.replace("uptime_in_seconds:90", "uptime_in_seconds:30\r\naof_current_size:5"),
        );
        info.add(&NODE.replace("role:master", "role:slave"));
        assert_eq!((info.servers, info.uptime_s, info.log_bytes), (2, 30, Some(5)));
        assert_eq!(info.keys(), 12);
        assert_eq!(info.databases.len(), 2);
    }

    #[test]
    fn relatives_of_redis_are_named() {
        let told = |text: &str| {
            let mut info = Info::default();
            info.add(text);
            info.version
        };
        assert_eq!(told("redis_version:7.2.4\r\nvalkey_version:8.0.1\r\n"), "Valkey 8.0.1");
        let engine = "redis_version:7.0.15\r\nkeyrack_engine_version:0.1.0\r\n";
        assert_eq!(told(engine), "keyrack engine 0.1.0, as Redis 7.0.15");
        assert_eq!(told(""), "Redis of unknown version");
    }
}
