//! Percent-coding of key parts: one text has exactly one coded form, and that form is safe inside a key.
//!
//! Ordinary ids stay as they are. What would end a part, open a hash tag, act as a glob or confuse a
//! terminal is written as `%` and two upper-case hex digits.

use std::borrow::Cow;

/// May a colon stand as itself inside the part?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colons {
    Coded,
    Plain,
}

/// The bytes that stand for themselves in a part.
pub(crate) const PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0x21;
    while byte < 0x7f {
        table[byte] = true;
        byte += 1;
    }
    let reserved = b"%:{}*?[]\\^";
    let mut i = 0;
    while i < reserved.len() {
        table[reserved[i] as usize] = false;
        i += 1;
    }
    table
};

/// Appends the coded form of `raw`.
pub(crate) fn encode(raw: &str, colons: Colons, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    if raw.bytes().all(|byte| stands(byte, colons)) {
        return out.push_str(raw);
    }
    for byte in raw.bytes() {
        if stands(byte, colons) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

/// The text behind `coded`, or `None` when [`encode`] would never have written it.
pub(crate) fn decode(coded: &[u8], colons: Colons) -> Option<Cow<'_, str>> {
    if coded.iter().all(|&byte| stands(byte, colons)) {
        return std::str::from_utf8(coded).ok().map(Cow::Borrowed);
    }
    let mut raw = Vec::with_capacity(coded.len());
    let mut rest = coded;
    while let [first, tail @ ..] = rest {
        if *first == b'%' {
            let [high, low, tail @ ..] = tail else { return None };
            let byte = hex(*high)? << 4 | hex(*low)?;
            if stands(byte, colons) {
                return None;
            }
            raw.push(byte);
            rest = tail;
        } else if stands(*first, colons) {
            raw.push(*first);
            rest = tail;
        } else {
            return None;
        }
    }
    String::from_utf8(raw).ok().map(Cow::Owned)
}

fn stands(byte: u8, colons: Colons) -> bool {
    PLAIN[usize::from(byte)] || (byte == b':' && colons == Colons::Plain)
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: &str, coded: &str) {
        let mut out = String::new();
        encode(raw, Colons::Coded, &mut out);
        assert_eq!(out, coded);
        assert_eq!(decode(coded.as_bytes(), Colons::Coded).as_deref(), Some(raw));
    }

    #[test]
    fn ordinary_ids_stay_byte_identical() {
        for id in [
            "emails",
            "Items.applyProfile.static",
            "b355de80-54e5-11e3",
            "a_b~c@d!$&'()+,;=|<>/\"`",
        ] {
            check(id, id);
        }
    }

    #[test]
    fn reserved_bytes_are_coded_in_upper_case_hex() {
        check("a:b", "a%3Ab");
        check("{x}", "%7Bx%7D");
        check("100%", "100%25");
        check("*?[]\\^", "%2A%3F%5B%5D%5C%5E");
        check("a b\n\x7f", "a%20b%0A%7F");
        check("ü🐝", "%C3%BC%F0%9F%90%9D");
    }

    #[test]
    fn forms_that_encode_never_writes_are_refused() {
        for coded in ["%3a", "%41", "%", "%3", "%G0", "a:b", "a b", "{a}", "ü", "%FF", "%C3"] {
            assert_eq!(decode(coded.as_bytes(), Colons::Coded), None, "{coded:?}");
        }
    }

    #[test]
    fn colons_stand_where_the_part_holds_them_by_definition() {
        let mut out = String::new();
        encode("host:42:x y", Colons::Plain, &mut out);
        assert_eq!(out, "host:42:x%20y");
        assert_eq!(decode(b"host:42:x%20y", Colons::Plain).as_deref(), Some("host:42:x y"));
        assert_eq!(decode(b"host%3A42", Colons::Plain), None);
    }
}
