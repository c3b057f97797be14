//! How values are written: the text forms of numbers, times, lists and references inside keys' values.

use std::fmt;

use crate::family::{Family, Field, Referent, Value};
use crate::json::Schema;
use crate::part::Kind;
use crate::{msgpack, time};

/// The text form of a value.
#[derive(Clone, Copy, Debug)]
pub enum Encoding {
    /// Any bytes; their meaning is the writer's business.
    Text,
    /// Bytes that are no text, such as a pickled object.
    Bytes,
    /// A whole number in a range.
    Integer {
        /// The smallest allowed.
        min: i128,
        /// The largest allowed.
        max: i128,
    },
    /// A finite floating-point number, exponent allowed.
    Float,
    /// A plain decimal number, kept exactly as written.
    Decimal,
    /// A moment in seconds since the Unix epoch, fraction allowed.
    UnixSeconds,
    /// A moment in whole milliseconds since the Unix epoch.
    UnixMs,
    /// A moment in the form of RFC 3339: `2026-11-18T08:44:29Z`.
    IsoTime,
    /// One of two words, the first for no.
    Bool(&'static str, &'static str),
    /// MessagePack.
    MsgPack,
    /// One of these words.
    Words(&'static [&'static str]),
    /// Text of one of these forms, in which `0` stands for any digit and `±` for a sign.
    Like(&'static [&'static str]),
    /// JSON of this shape.
    Json(&'static Schema),
    /// So many values of one kind, separated by commas.
    List(&'static Encoding, usize),
    /// Different values, separated by commas.
    Tuple(&'static [Field]),
    /// An id: what may also stand in a key as a part of this kind, here as it is, not coded.
    Id(&'static Kind),
    /// An id whose key must exist: a part of a key of that family. Where it has several, the others are those of the
    /// same name in the key that holds the value.
    Refers(&'static dyn Referent),
    /// The whole name of an existing key of that family.
    KeyOf(&'static dyn Referent),
    /// A value of any of these forms.
    AnyOf(&'static [Encoding]),
    /// The empty text, or a value of this form.
    OrEmpty(&'static Encoding),
    /// A value of this form in a field that may be absent.
    Optional(&'static Encoding),
    /// A value of this form that only admins may see. No page, message or report shows it to others.
    Secret(&'static Encoding),
}

/// A whole number that cannot be negative.
pub const COUNT: Encoding = Encoding::Integer { min: 0, max: i64::MAX as i128 };

/// A whole number from 1.
pub const POSITIVE: Encoding = Encoding::Integer { min: 1, max: i64::MAX as i128 };

/// Seconds above this are surely milliseconds written by mistake: it is the year 5138.
const UNIX_SECONDS_MAX: f64 = 1e11;

impl Encoding {
    /// The encoding together with what its values mean in one place.
    pub const fn means(self, prose: &'static str) -> Value {
        Value { encoding: self, prose }
    }

    /// Is `value` written in this form? The error says what was expected.
    pub fn check(&self, value: &[u8]) -> Result<(), String> {
        let ok = match self {
            Self::Text | Self::Bytes => true,
            Self::MsgPack => msgpack::is_whole(value),
            Self::Json(schema) => return schema.check(value),
            Self::Id(kind) => return check_id(kind, value),
            Self::Refers(referent) => {
                let own = referent.family().parts.last();
                return own.map_or(Ok(()), |slot| check_id(&slot.kind, value));
            }
            Self::KeyOf(referent) => referent.family().matches(value),
            Self::Optional(inner) => return inner.check(value),
            // The value itself stands in no message.
            Self::Secret(inner) => {
                return inner.check(value).map_err(|_| format!("expected {inner} (secret)"));
            }
            Self::OrEmpty(inner) => {
                return if value.is_empty() { Ok(()) } else { inner.check(value) };
            }
            Self::AnyOf(forms) => forms.iter().any(|form| form.check(value).is_ok()),
            _ => std::str::from_utf8(value).is_ok_and(|text| self.fits(text)),
        };
        if ok { Ok(()) } else { Err(format!("expected {self}, found {}", quoted(value))) }
    }

    fn fits(&self, text: &str) -> bool {
        match self {
            Self::Integer { min, max } => integer(text).is_some_and(|n| (*min..=*max).contains(&n)),
            Self::Float => float(text).is_some(),
            Self::Decimal => is_decimal(text),
            Self::UnixSeconds => {
                float(text).is_some_and(|at| (0.0..UNIX_SECONDS_MAX).contains(&at))
            }
            Self::UnixMs => {
                integer(text).is_some_and(|at| (0..=i128::from(i64::MAX)).contains(&at))
            }
            Self::IsoTime => time::is_moment(text),
            Self::Bool(no, yes) => text == *no || text == *yes,
            Self::Words(words) => words.contains(&text),
            Self::Like(forms) => forms.iter().any(|form| is_like(text, form)),
            Self::List(item, count) => {
                text.split(',').count() == *count && text.split(',').all(|text| item.fits(text))
            }
            Self::Tuple(fields) => {
                text.split(',').count() == fields.len()
                    && text.split(',').zip(*fields).all(|(text, field)| field.encoding.fits(text))
            }
            other => other.check(text.as_bytes()).is_ok(),
        }
    }

    /// The family whose key a value of this form points to.
    pub fn target(&self) -> Option<&'static Family> {
        match self {
            Self::Refers(referent) | Self::KeyOf(referent) => Some(referent.family()),
            Self::OrEmpty(inner) | Self::Optional(inner) | Self::Secret(inner) => inner.target(),
            _ => None,
        }
    }

    /// Is a value of this form the whole name of another key?
    pub(crate) const fn is_key_name(&self) -> bool {
        match self {
            Self::KeyOf(_) => true,
            Self::OrEmpty(inner) | Self::Optional(inner) | Self::Secret(inner) => {
                inner.is_key_name()
            }
            _ => false,
        }
    }

    /// May only admins see values of this form?
    pub const fn is_secret(&self) -> bool {
        match self {
            Self::Secret(_) => true,
            Self::OrEmpty(inner) | Self::Optional(inner) => inner.is_secret(),
            _ => false,
        }
    }
}

fn check_id(kind: &Kind, value: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(value)
        .map_err(|_| format!("expected a {}, found {}", kind.noun(), quoted(value)))?;
    kind.check(text).map_err(|error| error.to_string())
}

/// The number, if written in its one plain form; a sorted set's integral scores look like this too.
fn integer(text: &str) -> Option<i128> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = text == "0" || digits.starts_with(|digit: char| ('1'..='9').contains(&digit));
    text.parse().ok().filter(|_| plain)
}

fn float(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

fn is_decimal(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    match unsigned.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => digits(unsigned),
    }
}

fn is_like(text: &str, form: &str) -> bool {
    text.chars().count() == form.chars().count()
        && text.chars().zip(form.chars()).all(|(is, wanted)| match wanted {
            '0' => is.is_ascii_digit(),
            '±' => is == '+' || is == '-',
            literal => is == literal,
        })
}

/// The value for an error message: short, and safe to print.
pub(crate) fn quoted(value: &[u8]) -> String {
    const CHARS_MAX: usize = 60;
    let text = String::from_utf8_lossy(value);
    let short: String = text.chars().take(CHARS_MAX).flat_map(char::escape_debug).collect();
    let more = if text.chars().nth(CHARS_MAX).is_some() { "…" } else { "" };
    format!("\"{short}{more}\"")
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const HUGE: i128 = i64::MAX as i128;
        match self {
            Self::Text => f.write_str("text"),
            Self::Bytes => f.write_str("bytes"),
            Self::IsoTime => f.write_str("time like `2026-11-18T08:44:29Z`"),
            Self::Bool(no, yes) => write!(f, "boolean, `{yes}` or `{no}`"),
            Self::MsgPack => f.write_str("MessagePack"),
            Self::Integer { min, max } if *min == -HUGE - 1 && *max == HUGE => {
                f.write_str("integer")
            }
            Self::Integer { min, max } if *max < HUGE => write!(f, "integer from {min} to {max}"),
            Self::Integer { min: 0, max } if *max > HUGE => f.write_str("unsigned 64-bit integer"),
            Self::Integer { min, .. } => write!(f, "integer from {min}"),
            Self::Float => f.write_str("number"),
            Self::Decimal => f.write_str("decimal number"),
            Self::UnixSeconds => f.write_str("unix time in seconds"),
            Self::UnixMs => f.write_str("unix time in whole milliseconds"),
            Self::Words([word]) => write!(f, "`{word}`"),
            Self::Words(words) => write!(f, "one of `{}`", words.join("`, `")),
            Self::Like(forms) => write!(f, "text like `{}`", forms.join("`, `")),
            Self::Json(schema) => write!(f, "JSON: {schema}"),
            Self::List(item, count) => {
                write!(f, "{count} values separated by commas, each: {item}")
            }
            Self::Tuple(fields) => {
                f.write_str("values separated by commas:")?;
                for (i, field) in fields.iter().enumerate() {
                    let comma = if i > 0 { ";" } else { "" };
                    write!(f, "{comma} {} ({})", field.name, field.encoding)?;
                }
                Ok(())
            }
            Self::Id(kind) => write!(f, "{}", kind.noun()),
            Self::Refers(referent) => {
                write!(f, "id of an existing `{}`", referent.family().template)
            }
            Self::KeyOf(referent) => {
                write!(f, "name of an existing `{}`", referent.family().template)
            }
            Self::AnyOf(forms) => {
                for (i, form) in forms.iter().enumerate() {
                    write!(f, "{}{form}", if i > 0 { ", or " } else { "" })?;
                }
                Ok(())
            }
            Self::OrEmpty(inner) => write!(f, "{inner}, or empty"),
            Self::Optional(inner) | Self::Secret(inner) => write!(f, "{inner}"),
        }
    }
}

#[cfg(test)]
mod tests;
