//! Whether bytes are one whole MessagePack value, and that value as JSON, for people.

use serde_json::{Map, Value};

/// How deep values may lie inside each other: a hostile value must not exhaust the stack.
const DEPTH_MAX: usize = 64;

/// Is this one MessagePack value and nothing else?
pub(crate) fn is_whole(bytes: &[u8]) -> bool {
    skip(bytes, 0).is_some_and(<[u8]>::is_empty)
}

/// What follows the first value.
fn skip(bytes: &[u8], depth: usize) -> Option<&[u8]> {
    let (&first, rest) = bytes.split_first()?;
    match first {
        0x00..=0x7f | 0xe0..=0xff | 0xc0 | 0xc2 | 0xc3 => Some(rest),
        0x80..=0x8f => values(rest, usize::from(first & 15) * 2, depth),
        0x90..=0x9f => values(rest, usize::from(first & 15), depth),
        0xa0..=0xbf => rest.get(usize::from(first & 31)..),
        0xc4 | 0xd9 => counted(rest, 1, 0),
        0xc5 | 0xda => counted(rest, 2, 0),
        0xc6 | 0xdb => counted(rest, 4, 0),
        0xc7 => counted(rest, 1, 1),
        0xc8 => counted(rest, 2, 1),
        0xc9 => counted(rest, 4, 1),
        0xcc | 0xd0 => rest.get(1..),
        0xcd | 0xd1 => rest.get(2..),
        0xca | 0xce | 0xd2 => rest.get(4..),
        0xcb | 0xcf | 0xd3 => rest.get(8..),
        0xd4..=0xd8 => rest.get((1 << (first - 0xd4)) + 1..),
        0xdc | 0xdd => {
            let (count, rest) = length(rest, if first == 0xdc { 2 } else { 4 })?;
            values(rest, count, depth)
        }
        0xde | 0xdf => {
            let (count, rest) = length(rest, if first == 0xde { 2 } else { 4 })?;
            values(rest, count.checked_mul(2)?, depth)
        }
        0xc1 => None,
    }
}

fn values(mut rest: &[u8], count: usize, depth: usize) -> Option<&[u8]> {
    // Every value has a byte at least, so a count beyond the bytes needs no loop.
    if depth >= DEPTH_MAX || count > rest.len() {
        return None;
    }
    for _ in 0..count {
        rest = skip(rest, depth + 1)?;
    }
    Some(rest)
}

/// Skips as many bytes as the length in front of them says, and `more`.
fn counted(rest: &[u8], width: usize, more: usize) -> Option<&[u8]> {
    let (count, rest) = length(rest, width)?;
    rest.get(count.checked_add(more)?..)
}

fn length(rest: &[u8], width: usize) -> Option<(usize, &[u8])> {
    let (digits, rest) = rest.split_at_checked(width)?;
    Some((digits.iter().fold(0, |n, byte| n << 8 | usize::from(*byte)), rest))
}

/// The value as JSON, if the bytes are one whole value. What JSON cannot say becomes a text.
pub fn msgpack_as_json(bytes: &[u8]) -> Option<Value> {
    if !is_whole(bytes) {
        return None;
    }
    json(bytes).map(|(value, _)| value)
}

/// The first value, and what follows it. Only for whole values: their depth is known to be bounded.
fn json(bytes: &[u8]) -> Option<(Value, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    let text = |bytes: &[u8]| Value::from(String::from_utf8_lossy(bytes).into_owned());
    Some(match first {
        0x00..=0x7f => (first.into(), rest),
        0xe0..=0xff => (first.cast_signed().into(), rest),
        0xc0 => (Value::Null, rest),
        0xc2 => (false.into(), rest),
        0xc3 => (true.into(), rest),
        0x80..=0x8f => members(rest, usize::from(first & 15))?,
        0x90..=0x9f => items(rest, usize::from(first & 15))?,
        0xa0..=0xbf => {
            let (value, rest) = rest.split_at_checked(usize::from(first & 31))?;
            (text(value), rest)
        }
        0xd9..=0xdb => {
            let (count, rest) = length(rest, 1 << (first - 0xd9))?;
            let (value, rest) = rest.split_at_checked(count)?;
            (text(value), rest)
        }
        0xcc..=0xcf => {
            let (digits, rest) = rest.split_at_checked(1 << (first - 0xcc))?;
            (unsigned(digits).into(), rest)
        }
        0xd0..=0xd3 => {
            let (digits, rest) = rest.split_at_checked(1 << (first - 0xd0))?;
            let unused = 64 - 8 * digits.len();
            ((unsigned(digits).cast_signed() << unused >> unused).into(), rest)
        }
        0xca => {
            let (digits, rest) = rest.split_at_checked(4)?;
            (f64::from(f32::from_be_bytes(digits.try_into().ok()?)).into(), rest)
        }
        0xcb => {
            let (digits, rest) = rest.split_at_checked(8)?;
            (f64::from_be_bytes(digits.try_into().ok()?).into(), rest)
        }
        0xdc | 0xdd => {
            let (count, rest) = length(rest, if first == 0xdc { 2 } else { 4 })?;
            items(rest, count)?
        }
        0xde | 0xdf => {
            let (count, rest) = length(rest, if first == 0xde { 2 } else { 4 })?;
            members(rest, count)?
        }
        // Bytes and extensions have no form in JSON.
        _ => {
            let rest = skip(bytes, 0)?;
            (format!("({} bytes)", bytes.len() - rest.len()).into(), rest)
        }
    })
}

fn items(mut rest: &[u8], count: usize) -> Option<(Value, &[u8])> {
    let mut items = Vec::new();
    for _ in 0..count {
        let (item, after) = json(rest)?;
        items.push(item);
        rest = after;
    }
    Some((items.into(), rest))
}

fn members(mut rest: &[u8], count: usize) -> Option<(Value, &[u8])> {
    let mut members = Map::new();
    for _ in 0..count {
        let (name, after) = json(rest)?;
        let (value, after) = json(after)?;
        let name = match name {
            Value::String(name) => name,
            other => other.to_string(),
        };
        members.insert(name, value);
        rest = after;
    }
    Some((members.into(), rest))
}

/// Eight bytes at most.
fn unsigned(digits: &[u8]) -> u64 {
    digits.iter().fold(0, |n, byte| n << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_values_are_told_from_torn_ones() {
        let whole: [&[u8]; 6] = [
            b"\x01",
            b"\xc0",
            b"\x82\xa1a\x01\xa1b\x92\xc2\xcb\0\0\0\0\0\0\0\0",
            b"\xd9\x03abc",
            b"\xdc\0\x01\xa1x",
            b"\xd6\xff\0\0\0\0",
        ];
        for bytes in whole {
            assert!(is_whole(bytes), "{bytes:x?}");
            assert!(!is_whole(&bytes[..bytes.len() - 1]), "{bytes:x?}");
            assert!(!is_whole(&[bytes, b"\x01"].concat()), "{bytes:x?}");
        }
        assert!(!is_whole(b"\xc1") && !is_whole(b"") && !is_whole(b"\xdd\xff\xff\xff\xff"));
        assert!(!is_whole(&[0x91; 100_000]));
    }

    #[test]
    fn values_are_shown_as_json() {
        let shown = |bytes: &[u8]| msgpack_as_json(bytes).map(|value| value.to_string());
        for (bytes, expected) in [
            (&b"\x82\xa2id\x07\xa2ok\xc3"[..], r#"{"id":7,"ok":true}"#),
            (b"\x93\xc0\xff\xd9\x02\xc3\xbc", r#"[null,-1,"ü"]"#),
            (b"\xcd\x01\x00", "256"),
            (b"\xd1\xff\x00", "-256"),
            (b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615"),
            (b"\xd3\x80\0\0\0\0\0\0\0", "-9223372036854775808"),
            (b"\xcb\x3f\xf8\0\0\0\0\0\0", "1.5"),
            (b"\xca\x3f\xc0\0\0", "1.5"),
            (b"\x81\x01\xc2", r#"{"1":false}"#),
            (b"\xdc\0\x02\x01\x02", "[1,2]"),
            (b"\xde\0\x01\xa1a\xc4\x01x", r#"{"a":"(3 bytes)"}"#),
        ] {
            assert_eq!(shown(bytes).as_deref(), Some(expected), "{bytes:x?}");
        }
        assert_eq!((shown(b"\xcd\x01"), shown(b"\x01\x01"), shown(b"\xc1")), (None, None, None));
    }
}
