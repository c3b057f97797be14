//! Whether bytes are one whole MessagePack value.

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
}
