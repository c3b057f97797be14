//! Which jobs are meant by their place, a tag and a text.

use super::JobState;

/// Which jobs of a queue are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Where they are.
    pub place: JobState,
    /// Text that is in their data, their id or one of their tags. The newest are looked at first, wherever they are.
    pub text: Option<String>,
    /// A tag that they have.
    pub tag: Option<String>,
    /// The group of failures that their last failed attempt is in.
    pub error: Option<String>,
}

impl Filter {
    /// All jobs in this place.
    pub fn at(place: JobState) -> Filter {
        Filter { place, text: None, tag: None, error: None }
    }

    /// Whoever looks for something looks for what came lately; a list shows what is next, or what ended last.
    pub(super) fn is_newest_first(&self) -> bool {
        self.text.is_some() || matches!(self.place, JobState::Failed | JobState::Ended)
    }

    pub(super) fn wants_all(&self) -> bool {
        self.text.is_none() && self.tag.is_none() && self.error.is_none()
    }

    /// Whether a job is meant, by its id and by its data, tags and group as they are stored.
    pub(super) fn is_met_by(&self, jid: &str, data: &[u8], tags: &[u8], error: &[u8]) -> bool {
        if self.error.as_ref().is_some_and(|wanted| wanted.as_bytes() != error) {
            return false;
        }
        let (data, tags) = (String::from_utf8_lossy(data), String::from_utf8_lossy(tags));
        let is_tagged =
            |tag: &String| may_have(&tags, tag) && words(&tags).any(|word| word == *tag);
        let has_text = |text: &String| {
            has(&data, text)
                || jid.contains(text)
                || (may_have(&tags, text) && words(&tags).any(|word| word.contains(text)))
        };
        self.tag.as_ref().is_none_or(is_tagged) && self.text.as_ref().is_none_or(has_text)
    }
}

/// Whether JSON has a text in it as it is, or as Redis writes it, which puts a backslash before each slash.
fn has(json: &str, text: &str) -> bool {
    json.contains(text) || (text.contains('/') && json.contains(&text.replace('/', "\\/")))
}

/// Whether one of the words in a JSON list can have a text in it: most have not, and need not be taken apart.
fn may_have(json: &str, text: &str) -> bool {
    // Some write these letters in another way.
    let is_plain =
        |byte: u8| byte.is_ascii() && !byte.is_ascii_control() && !b"\"\\<>&".contains(&byte);
    has(json, text) || !text.bytes().all(is_plain)
}

/// The words in a JSON list. Other programs write here; what makes no sense is empty.
fn words(json: &str) -> impl Iterator<Item = String> {
    let words: Vec<String> = serde_json::from_str(json).unwrap_or_default();
    words.into_iter()
}
