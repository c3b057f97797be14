//! A strict reader of replies: an answer with a line break in the wrong place would make clients take data for answers.

use crate::{reply::Reply, resp::encode_reply};

/// Encodes a reply for both protocols.
///
/// # Panics
/// When the bytes are not exactly what they should be: one reply, or several where the reply says so.
pub(super) fn check(reply: &Reply) {
    // SUBSCRIBE in a transaction answers more than EXEC has announced, and CLIENT REPLY less; so do they in Redis.
    if matches!(reply, Reply::Array(items) if items.iter().any(is_uncounted)) {
        return;
    }
    for resp in [2, 3] {
        let mut bytes = Vec::new();
        encode_reply(&mut bytes, reply, resp);
        let mut rest = &bytes[..];
        let expected = match reply {
            Reply::Several(replies) => replies.len(),
            Reply::None => 0,
            _ => 1,
        };
        let whole = (0..expected).try_for_each(|_| skip(&mut rest));
        assert!(
            whole.is_some() && rest.is_empty(),
            "not a reply in RESP{resp}: \"{}\"",
            bytes.escape_ascii()
        );
    }
}

fn is_uncounted(reply: &Reply) -> bool {
    matches!(reply, Reply::Several(_) | Reply::None)
}

/// Goes past one reply, if there is one.
fn skip(bytes: &mut &[u8]) -> Option<()> {
    let line_len = memchr::memchr(b'\r', bytes)?;
    let (line, rest) = bytes.split_at(line_len);
    *bytes = rest.strip_prefix(b"\r\n")?;
    let (mark, text) = line.split_first()?;
    let number = || std::str::from_utf8(text).ok()?.parse::<i64>().ok();
    match mark {
        b'+' | b'-' | b',' => (!text.contains(&b'\n')).then_some(()),
        b':' => number().map(|_| ()),
        b'_' => text.is_empty().then_some(()),
        b'#' => (text == b"t" || text == b"f").then_some(()),
        b'$' | b'*' if text == b"-1" => Some(()),
        b'$' | b'=' => {
            let (_, rest) = bytes.split_at_checked(usize::try_from(number()?).ok()?)?;
            *bytes = rest.strip_prefix(b"\r\n")?;
            Some(())
        }
        b'*' | b'~' | b'>' => (0..number()?).try_for_each(|_| skip(bytes)),
        b'%' => (0..number()? * 2).try_for_each(|_| skip(bytes)),
        _ => None,
    }
}
