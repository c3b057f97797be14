//! Where in a key the values stand that a step writes in another way: reading them, and replacing one.

use keyrack_keys::{Content, Family};
use redis::{Pipeline, Value};

/// Values of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The value of a string.
    Value,
    /// A declared field of a hash.
    Field(String),
    /// Every item of a list.
    Item,
    /// Every member of a set.
    Member,
    /// Every member of a sorted set.
    RankedMember,
    /// Every score of a sorted set.
    Score,
    /// Every field of a map.
    MapField,
    /// Every value of a map.
    MapValue,
}

/// One value as it was read.
pub(super) struct Found {
    /// The value.
    pub(super) old: Vec<u8>,
    /// What the script finds it by: the field, the member, or the index in the list.
    by: Vec<u8>,
}

/// Values read at once: a few hundred keep the server busy for well under a millisecond.
const CHUNK: u64 = 256;

impl Place {
    /// The place that a step means.
    pub(super) fn of(
        family: &Family,
        field: Option<String>,
        place: Option<&str>,
    ) -> Result<Place, String> {
        let id = family.id();
        let places: &[(&str, Place)] = match &family.content {
            Content::Hash(fields) => {
                let declared = |name: &String| fields.iter().any(|field| field.name == *name);
                return match (field.filter(declared), place) {
                    (Some(name), None) => Ok(Place::Field(name)),
                    _ => {
                        let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
                        Err(format!("give a \"field\" of {id}: {}", names.join(", ")))
                    }
                };
            }
            Content::String(_) => &[("value", Place::Value)],
            Content::List(_) => &[("item", Place::Item)],
            Content::Set(_) => &[("member", Place::Member)],
            Content::SortedSet { .. } => {
                &[("member", Place::RankedMember), ("score", Place::Score)]
            }
            Content::Map { .. } => &[("field", Place::MapField), ("value", Place::MapValue)],
            content => {
                let noun = content.noun();
                return Err(format!("{id} is a {noun}, whose content cannot be changed in place"));
            }
        };
        if field.is_some() {
            return Err(format!("\"field\" is for hashes; {id} is a {}", family.content.noun()));
        }
        let named = places.iter().find(|(name, _)| Some(*name) == place);
        match (named, place, places) {
            (Some((_, place)), ..) | (None, None, [(_, place)]) => Ok(place.clone()),
            _ => {
                let names: Vec<&str> = places.iter().map(|(name, _)| *name).collect();
                Err(format!("give the \"place\" in {id}: {}", names.join(" or ")))
            }
        }
    }

    /// The name for messages.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Value | Self::MapValue => "value",
            Self::Field(name) => name,
            Self::Item => "item",
            Self::Member | Self::RankedMember => "member",
            Self::Score => "score",
            Self::MapField => "field",
        }
    }

    /// Adds the command that reads the values of `key` from `cursor` on, which is 0 at first.
    pub(super) fn read(&self, pipeline: &mut Pipeline, key: &str, cursor: u64) {
        let scan = |pipeline: &mut Pipeline, command| {
            pipeline.cmd(command).arg(key).arg(cursor).arg("COUNT").arg(CHUNK);
        };
        match self {
            Self::Value => {
                pipeline.cmd("GET").arg(key);
            }
            Self::Field(name) => {
                pipeline.cmd("HGET").arg(key).arg(name);
            }
            Self::Item => {
                pipeline.cmd("LRANGE").arg(key).arg(cursor).arg(cursor + CHUNK - 1);
            }
            Self::Member => scan(pipeline, "SSCAN"),
            Self::RankedMember | Self::Score => scan(pipeline, "ZSCAN"),
            Self::MapField | Self::MapValue => scan(pipeline, "HSCAN"),
        }
    }

    /// What a reply to [`Place::read`] holds, and where to go on; `None` if the key is of another type.
    pub(super) fn take(&self, cursor: u64, reply: Value) -> Option<(Vec<Found>, Option<u64>)> {
        let one = |old, by: &str| Found { old, by: by.into() };
        match (self, reply) {
            (Self::Value | Self::Field(_), Value::Nil) => Some((Vec::new(), None)),
            (Self::Value, Value::BulkString(old)) => Some((vec![one(old, "")], None)),
            (Self::Field(name), Value::BulkString(old)) => Some((vec![one(old, name)], None)),
            (Self::Item, Value::Array(items)) => {
                let next = (items.len() as u64 == CHUNK).then_some(cursor + CHUNK);
                let items = (cursor..).zip(items).filter_map(|(index, item)| {
                    Some(Found { old: bytes(item)?, by: index.to_string().into() })
                });
                Some((items.collect(), next))
            }
            (Self::Value | Self::Field(_) | Self::Item, _) => None,
            (_, Value::Array(halves)) => {
                let [next, values] = <[Value; 2]>::try_from(halves).ok()?;
                let next: u64 = String::from_utf8(bytes(next)?).ok()?.parse().ok()?;
                let Value::Array(values) = values else { return None };
                let values = values.into_iter().filter_map(bytes).collect();
                Some((self.found(values), (next != 0).then_some(next)))
            }
            _ => None,
        }
    }

    /// What a SCAN of a collection brought.
    fn found(&self, values: Vec<Vec<u8>>) -> Vec<Found> {
        if *self == Self::Member {
            return values.into_iter().map(|old| Found { old, by: Vec::new() }).collect();
        }
        let pairs = values.chunks_exact(2).map(|pair| match self {
            Self::RankedMember | Self::MapField => Found { old: pair[0].clone(), by: Vec::new() },
            _ => Found { old: pair[1].clone(), by: pair[0].clone() },
        });
        pairs.collect()
    }

    /// Adds the command that replaces a value if it is still the old one. It answers 1 if it did, and 2 if the new one
    /// would be another member or field that is there already.
    pub(super) fn replace(&self, pipeline: &mut Pipeline, key: &str, found: &Found, new: &str) {
        let script = match self {
            Self::Value => VALUE,
            Self::Field(_) | Self::MapValue => FIELD,
            Self::Item => ITEM,
            Self::Member => MEMBER,
            Self::RankedMember => RANKED_MEMBER,
            Self::Score => SCORE,
            Self::MapField => MAP_FIELD,
        };
        pipeline.cmd("EVAL").arg(script).arg(1).arg(key);
        pipeline.arg(&found.old).arg(new).arg(&found.by);
    }
}

/// The command that removes a key if it still holds what was dumped. It answers 1 if it did.
pub(super) fn remove_unchanged(key: &str, dumped: &[u8]) -> redis::Cmd {
    let mut remove = redis::cmd("EVAL");
    remove.arg(REMOVE).arg(1).arg(key).arg(dumped);
    remove
}

fn bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) => Some(text.into_bytes()),
        Value::Double(number) => Some(number.to_string().into_bytes()),
        _ => None,
    }
}

/// What was written after the dump would be lost with the key.
const REMOVE: &str = "
    if redis.call('DUMP', KEYS[1]) ~= ARGV[1] then return 0 end
    return redis.call('UNLINK', KEYS[1])";

// All of these: KEYS[1] is the key, ARGV[1] the old value, ARGV[2] the new one, ARGV[3] what it is found by. The new value
// is there before the old one goes, as a key that is empty in between would lose its TTL.

const VALUE: &str = "
    if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
    local left = redis.call('PTTL', KEYS[1])
    redis.call('SET', KEYS[1], ARGV[2])
    if left > 0 then redis.call('PEXPIRE', KEYS[1], left) end
    return 1";

const FIELD: &str = "
    if redis.call('HGET', KEYS[1], ARGV[3]) ~= ARGV[1] then return 0 end
    redis.call('HSET', KEYS[1], ARGV[3], ARGV[2])
    return 1";

/// Items that were pushed or popped meanwhile have moved the others.
const ITEM: &str = "
    local index = ARGV[3]
    if redis.call('LINDEX', KEYS[1], index) ~= ARGV[1] then
        index = redis.call('LPOS', KEYS[1], ARGV[1])
        if not index then return 0 end
    end
    redis.call('LSET', KEYS[1], index, ARGV[2])
    return 1";

/// A member that is there already is the same as the new one.
const MEMBER: &str = "
    if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 0 then return 0 end
    redis.call('SADD', KEYS[1], ARGV[2])
    redis.call('SREM', KEYS[1], ARGV[1])
    return 1";

const RANKED_MEMBER: &str = "
    local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
    if not score then return 0 end
    if redis.call('ZSCORE', KEYS[1], ARGV[2]) then return 2 end
    redis.call('ZADD', KEYS[1], score, ARGV[2])
    redis.call('ZREM', KEYS[1], ARGV[1])
    return 1";

/// Numbers and not their texts: ZSCAN and ZSCORE write some of them in different ways.
const SCORE: &str = "
    local score = redis.call('ZSCORE', KEYS[1], ARGV[3])
    if not score or tonumber(score) ~= tonumber(ARGV[1]) then return 0 end
    redis.call('ZADD', KEYS[1], ARGV[2], ARGV[3])
    return 1";

const MAP_FIELD: &str = "
    local value = redis.call('HGET', KEYS[1], ARGV[1])
    if not value then return 0 end
    if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then return 2 end
    redis.call('HSET', KEYS[1], ARGV[2], value)
    redis.call('HDEL', KEYS[1], ARGV[1])
    return 1";

#[cfg(test)]
mod tests {
    use redis::Commands as _;

    use super::*;

    #[test]
    fn a_key_that_was_written_while_it_moved_is_not_removed() {
        let server = keyrack_testkit::RedisServer::start();
        let mut redis = server.connection();
        let _: () = redis.set("order:1", "open").unwrap();
        let dumped: Vec<u8> = redis::cmd("DUMP").arg("order:1").query(&mut redis).unwrap();
        let _: () = redis.set("order:1", "paid").unwrap();
        let remove = |key, dumped: &[u8]| -> u64 {
            remove_unchanged(key, dumped).query(&mut server.connection()).unwrap()
        };
        assert_eq!((remove("order:1", &dumped), remove("order:2", &dumped)), (0, 0));
        assert_eq!(redis.get::<_, String>("order:1").unwrap(), "paid");
        let dumped: Vec<u8> = redis::cmd("DUMP").arg("order:1").query(&mut redis).unwrap();
        assert_eq!(remove("order:1", &dumped), 1);
        assert!(!redis.exists::<_, bool>("order:1").unwrap());
    }
}
