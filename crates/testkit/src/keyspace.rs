//! All that a store holds, to be compared.

use redis::Cmd;

/// Every key with its type and its content, in an order of their own.
const KEYSPACE: &str = r"
local function pairs_of(list)
  local out = {}
  for at = 1, #list, 2 do out[#out + 1] = list[at] .. '=' .. list[at + 1] end
  table.sort(out)
  return out
end
local function sorted(list)
  table.sort(list)
  return list
end
local content = {
  string = function(key) return redis.call('GET', key) end,
  hash = function(key) return pairs_of(redis.call('HGETALL', key)) end,
  set = function(key) return sorted(redis.call('SMEMBERS', key)) end,
  zset = function(key) return redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end,
  list = function(key) return redis.call('LRANGE', key, 0, -1) end,
  stream = function(key) return redis.call('XRANGE', key, '-', '+') end,
}
local all = {}
for _, key in ipairs(sorted(redis.call('KEYS', '*'))) do
  local kind = redis.call('TYPE', key).ok
  all[#all + 1] = key .. ' ' .. kind .. ' ' .. cjson.encode(content[kind](key))
end
return all";

/// A command that returns all that a store of one node holds: a text for each key, with its type and its content.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let store = keyrack_store::Store::open("embedded:memory").await.expect("a store");
/// let keyspace: Vec<String> =
///     keyrack_testkit::keyspace().query_async(&mut store.connection()).await.expect("an answer");
/// assert!(keyspace.is_empty());
/// # }
/// ```
pub fn keyspace() -> Cmd {
    let mut cmd = redis::cmd("EVAL");
    cmd.arg(KEYSPACE).arg(0);
    cmd
}
