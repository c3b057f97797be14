//! Where a page ended, as a text that callers hand back and do not look into.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::Error;

/// Where a page ended: behind an entry of a sorted set, which for parked jobs is that of a tenant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// The step of the walk over tenants.
    #[serde(rename = "w", default, skip_serializing_if = "is_zero")]
    pub(super) scan: u64,
    #[serde(rename = "t", default, skip_serializing_if = "String::is_empty")]
    pub(super) tenant: String,
    /// The last entry's score as Redis writes it; empty at the beginning of a set.
    #[serde(rename = "s", default)]
    pub(super) score: String,
    #[serde(rename = "m", default)]
    pub(super) member: String,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Cursor {
    /// Letters and digits, so that it can stand in a URL as it is.
    pub(super) fn to_text(&self) -> String {
        let json = serde_json::to_vec(self).expect("plain data is JSON");
        json.iter().fold(String::with_capacity(json.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    pub(super) fn parse(text: &str) -> Result<Cursor, Error> {
        let cursor = from_hex(text)
            .and_then(|json| serde_json::from_slice::<Cursor>(&json).ok())
            // The script does arithmetic with it.
            .filter(|at| at.score.is_empty() || at.score.parse::<f64>().is_ok_and(f64::is_finite));
        cursor.ok_or_else(|| {
            Error::invalid("cursor", "none of ours; give back the one of the page before")
        })
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back_as_they_went() {
        let at = Cursor {
            scan: 7,
            tenant: "grüße/acme".into(),
            score: "1794709389104.8999".into(),
            member: "b671c480".into(),
        };
        let text = at.to_text();
        assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{text}");
        assert_eq!(Cursor::parse(&text).expect("ours"), at);
        assert_eq!(Cursor::parse(&Cursor::default().to_text()).expect("ours"), Cursor::default());
    }

    #[test]
    fn texts_that_are_no_cursors_are_refused() {
        let bad_score = Cursor { score: "soon".into(), ..Cursor::default() }.to_text();
        let endless = Cursor { score: "inf".into(), ..Cursor::default() }.to_text();
        for text in ["", "7", "zz", "7b", "grüße", &bad_score, &endless] {
            let refused = Cursor::parse(text).expect_err(text);
            assert!(refused.to_string().starts_with("cursor: "), "{refused}");
        }
    }
}
