//! What failures of one cause have in common: the type of the error and its message without values.

use super::normalise::{TEXT_BYTES_MAX, cut, normalise};

/// How many digits the id of a group has: 48 bits tell a hundred groups apart.
pub(super) const ID_LEN: usize = 12;
/// The longest name of an error type.
const KIND_BYTES_MAX: usize = 100;
/// The most bytes of a message that are kept as a sample.
const SAMPLE_BYTES_MAX: usize = 2 * TEXT_BYTES_MAX;
/// What Python prints above the error itself.
const TRACEBACK: &str = "Traceback (most recent call last)";

/// What failures of one cause have in common. Failures with equal fingerprints are in one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    id: String,
    kind: String,
    text: String,
}

impl Fingerprint {
    /// The fingerprint of a failure, by its message.
    ///
    /// The first line counts, of a Python traceback the last. A name in front of a colon is the type of the error if its
    /// last part begins with a capital letter, as in `TimeoutError: …` or `requests.exceptions.ConnectionError: …`.
    pub fn of(message: &str) -> Fingerprint {
        let line = telling_line(message);
        let (kind, rest) = kind_of(line).unwrap_or(("", line));
        let text = normalise(rest);
        let digest = sha1_smol::Sha1::from(format!("{kind}\n{text}")).digest().to_string();
        Fingerprint { id: digest[..ID_LEN].to_owned(), kind: kind.to_owned(), text }
    }

    /// As a script takes it, with a sample of the messages.
    pub(in crate::bee) fn to_json(&self, message: &str) -> String {
        let Fingerprint { id, kind, text } = self;
        let sample = cut(message, SAMPLE_BYTES_MAX);
        serde_json::json!({ "id": id, "kind": kind, "text": text, "sample": sample }).to_string()
    }

    /// The id of the group.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The type of the error; empty if its message names none.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The message without what differs from job to job.
    pub fn text(&self) -> &str {
        &self.text
    }
}

fn telling_line(message: &str) -> &str {
    let mut lines = message.lines().filter(|line| !line.trim().is_empty());
    let line = if message.contains(TRACEBACK) { lines.next_back() } else { lines.next() };
    line.unwrap_or_default().trim()
}

/// The type of an error and what it says.
fn kind_of(line: &str) -> Option<(&str, &str)> {
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || "_.:$".contains(c)));
    let end = end.unwrap_or(line.len());
    let kind = line[..end].strip_suffix(':')?;
    let last = kind.rsplit(['.', ':', '$']).next()?;
    // A number in a name may be that of a job, unless the name says that it is an error's.
    let is_certain = ["Error", "Exception"].iter().any(|end| last.ends_with(end));
    let is_kind = last.starts_with(|c: char| c.is_ascii_uppercase())
        && kind.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && (is_certain || !kind.contains(|c: char| c.is_ascii_digit()))
        && (end == line.len() || line[end..].starts_with(char::is_whitespace))
        && kind.len() <= KIND_BYTES_MAX;
    is_kind.then(|| (kind, &line[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_front_of_a_colon_is_the_type() {
        let check = |message: &str, kind: &str, text: &str| {
            let fingerprint = Fingerprint::of(message);
            assert_eq!((fingerprint.kind(), fingerprint.text()), (kind, text), "{message}");
            assert_eq!(fingerprint.id().len(), ID_LEN);
        };
        check("TypeError: x is 5", "TypeError", "x is #");
        check(
            "requests.exceptions.ConnectionError: no",
            "requests.exceptions.ConnectionError",
            "no",
        );
        check("my::Error: no", "my::Error", "no");
        check("ValueError:", "ValueError", "");
        check("connection refused: no", "", "connection refused: no");
        check("error: 7", "", "error: #");
        check(r"C:\x.txt is locked", "", "<path> is locked");
        check("User42: no", "", "User#: no");
        check("Http404Error: no", "Http404Error", "no");
        check("\n\n  first\nsecond", "", "first");
        check(
            "Traceback (most recent call last):\n  File \"a.py\"\nKeyError: 'x'\n",
            "KeyError",
            "<text>",
        );
        check("", "", "");
    }

    #[test]
    fn failures_of_two_types_are_in_two_groups() {
        assert_ne!(Fingerprint::of("A: x").id(), Fingerprint::of("B: x").id());
        assert_eq!(Fingerprint::of("A: 1").id(), Fingerprint::of("A:  2").id());
    }
}
