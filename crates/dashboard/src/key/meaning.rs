//! What values say, for people: dates of times, words of booleans, MessagePack as JSON.

use keyrack_format as format;
use keyrack_keys::{Encoding, msgpack_as_json};

use super::content::VALUE_BYTES_MAX;

/// What a value says, where its text alone does not.
pub(super) fn of(encoding: &Encoding, value: &[u8]) -> Option<String> {
    let text = || std::str::from_utf8(value).ok();
    match encoding {
        Encoding::Optional(inner) | Encoding::OrEmpty(inner) | Encoding::Secret(inner) => {
            of(inner, value)
        }
        Encoding::AnyOf(forms) => {
            let form = forms.iter().find(|form| form.check(value).is_ok())?;
            of(form, value)
        }
        Encoding::UnixMs => moment(text()?.parse().ok()?),
        Encoding::UnixSeconds => moment(text()?.parse::<f64>().ok()? * 1000.0),
        Encoding::Bool(no, yes) => {
            let meaning = if text()? == *yes { "true" } else { "false" };
            let is_known = text()? == *yes || text()? == *no;
            (is_known && text()? != meaning).then(|| meaning.to_owned())
        }
        Encoding::Tuple(fields) => {
            let values: Vec<&str> = text()?.split(',').collect();
            let named = |(field, value): (&keyrack_keys::Field, &&str)| {
                let meaning = of(&field.encoding, value.as_bytes());
                format!("{}: {}", field.name, meaning.as_deref().unwrap_or(value))
            };
            let named: Vec<String> = fields.iter().zip(&values).map(named).collect();
            (values.len() == fields.len()).then(|| named.join(", "))
        }
        Encoding::MsgPack => {
            let json = msgpack_as_json(value)?.to_string();
            Some(format::one_line(&json, Some(VALUE_BYTES_MAX)))
        }
        _ => None,
    }
}

fn moment(ms: f64) -> Option<String> {
    (ms >= 0.0).then(|| format::utc(ms as u64))
}

/// So many bits are named.
const BITS_MAX: usize = 50;

/// The places of the bits of a bitmap that are set, as SETBIT counts them.
pub(super) fn bits(bytes: &[u8]) -> String {
    let is_set = |&bit: &usize| bytes[bit / 8] & (0x80 >> (bit % 8)) != 0;
    let mut set = (0..bytes.len() * 8).filter(is_set);
    let shown: Vec<String> = set.by_ref().take(BITS_MAX).map(|bit| bit.to_string()).collect();
    match (shown.is_empty(), set.next()) {
        (true, _) => "no bit is set".to_owned(),
        (false, None) => format!("set bits: {}", shown.join(", ")),
        (false, Some(_)) => format!("set bits: {}, …", shown.join(", ")),
    }
}

/// Where a HyperLogLog keeps the number that it was last counted to. The highest bit says that it has changed since.
const COUNTED: std::ops::Range<usize> = 8..16;

/// What a HyperLogLog has counted. Asking the server would write to the key.
pub(super) fn counted(bytes: &[u8]) -> String {
    let kept = bytes.get(COUNTED).and_then(|kept| <[u8; 8]>::try_from(kept).ok());
    match kept.map(u64::from_le_bytes) {
        Some(count) if count >> 63 == 0 => format!("about {}", format::count(count)),
        _ => "not counted since the last change".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_their_unit() {
        assert_eq!(of(&Encoding::UnixMs, b"1000").as_deref(), Some("1970-01-01 00:00:01 UTC"));
        let seconds = Encoding::Optional(&Encoding::UnixSeconds);
        assert_eq!(of(&seconds, b"1.5").as_deref(), Some("1970-01-01 00:00:01 UTC"));
        assert_eq!(of(&Encoding::UnixMs, b"x"), None);
        assert_eq!(of(&Encoding::Float, b"1"), None);
    }

    #[test]
    fn words_and_packed_values_are_told() {
        let flag = Encoding::Bool("0", "1");
        let said = [&b"1"[..], b"0", b"2"].map(|value| of(&flag, value));
        assert_eq!(said, [Some("true".into()), Some("false".into()), None]);
        assert_eq!(of(&Encoding::Bool("false", "true"), b"true"), None);
        assert_eq!(of(&Encoding::MsgPack, b"\x81\xa1n\x07").as_deref(), Some("{\"n\":7}"));
        assert_eq!(of(&Encoding::MsgPack, b"\xc1"), None);
        let either = Encoding::AnyOf(&[Encoding::UnixMs, Encoding::Text]);
        assert_eq!(of(&either, b"0").as_deref(), Some("1970-01-01 00:00:00 UTC"));
        assert_eq!(of(&either, b"never"), None);
    }

    #[test]
    fn bits_count_from_the_left() {
        assert_eq!(bits(&[0b1000_0001, 0b0100_0000]), "set bits: 0, 7, 9");
        assert_eq!(bits(&[0]), "no bit is set");
        assert!(bits(&[0xff; 100]).ends_with("48, 49, …"));
    }

    #[test]
    fn number_that_a_hyperloglog_keeps_is_told_while_it_holds() {
        let kept = |last| [b"HYLL\x01\0\0\0".as_slice(), &[3, 0, 0, 0, 0, 0, 0, last]].concat();
        assert_eq!(counted(&kept(0)), "about 3");
        assert_eq!(counted(&kept(0x80)), "not counted since the last change");
        assert_eq!(counted(b"HYLL"), "not counted since the last change");
    }
}
