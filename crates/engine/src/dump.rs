//! A key as the commands that make it, for the base file of a rewritten log.

use crate::{num::format_double, resp::encode_command, types::Value};

/// Items per command, so that no command of a log grows without bound.
const ITEMS_PER_COMMAND: usize = 64;

/// Writes the commands that make `key` hold `value` and expire at `expires_at`.
pub(crate) fn dump(out: &mut Vec<u8>, key: &[u8], value: &Value, expires_at: Option<u64>) {
    match value {
        Value::Str(string) => encode_command(out, &[b"SET", key, &string.as_bytes()]),
        Value::List(list) => {
            dump_items(out, b"RPUSH", key, list.iter().map(|item| item.to_vec()), 1)
        }
        Value::Hash(hash) => {
            let items = hash.iter().flat_map(|(field, value)| [field.to_vec(), value.to_vec()]);
            dump_items(out, b"HMSET", key, items, 2);
        }
        Value::Set(set) => {
            dump_items(out, b"SADD", key, set.iter().map(|member| member.into_owned()), 1)
        }
        Value::ZSet(zset) => {
            let items = zset
                .iter()
                .flat_map(|(member, score)| [format_double(score).into_bytes(), member.to_vec()]);
            dump_items(out, b"ZADD", key, items, 2);
        }
    }
    if let Some(at) = expires_at {
        let mut text = itoa::Buffer::new();
        encode_command(out, &[b"PEXPIREAT", key, text.format(at).as_bytes()]);
    }
}

/// Writes `items` in commands of a bounded size; `width` of them belong together.
fn dump_items(
    out: &mut Vec<u8>,
    command: &[u8],
    key: &[u8],
    mut items: impl Iterator<Item = Vec<u8>>,
    width: usize,
) {
    loop {
        let chunk: Vec<_> = items.by_ref().take(ITEMS_PER_COMMAND * width).collect();
        if chunk.is_empty() {
            return;
        }
        let mut args: Vec<&[u8]> = vec![command, key];
        args.extend(chunk.iter().map(Vec::as_slice));
        encode_command(out, &args);
    }
}
