//! A built key: its documented name, and where the store must put the hash tag.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use crate::family::{Family, Shard};
use crate::part::Part;

/// What a name that is never stored ends with, after its hash tag.
const ABSENT: &str = "keyrack:absent";

/// How keys are named where they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Exactly as documented: the embedded engine, one server, or Sentinel.
    Documented,
    /// With a hash tag, so that all keys of one shard lie in one cluster slot.
    Cluster,
}

/// A key or channel of a declared family. Only the builders that [`keys!`](crate::keys) declares make one.
#[derive(Clone, Debug)]
pub struct Key {
    family: &'static Family,
    name: String,
    tag: Tag,
}

#[derive(Clone, Debug)]
enum Tag {
    None,
    /// These bytes of the name.
    Within(Range<usize>),
    Front(Cow<'static, str>),
}

impl Key {
    /// The family it belongs to.
    pub fn family(&self) -> &'static Family {
        self.family
    }

    /// The documented name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text that decides the cluster slot; `None` when the whole name does.
    pub fn tag(&self) -> Option<&str> {
        match &self.tag {
            Tag::None => None,
            Tag::Within(range) => Some(&self.name[range.clone()]),
            Tag::Front(tag) => Some(tag),
        }
    }

    /// A name in the key's slot of a cluster under which nothing is ever stored.
    ///
    /// A cluster does not run what names it and another key while their slot moves between nodes: one of them is missing
    /// on either side.
    pub fn absent_beside(&self) -> String {
        format!("{{{}}}{ABSENT}", self.tag().unwrap_or(&self.name))
    }

    /// The glob pattern of all names that are never stored.
    pub fn absent_pattern() -> String {
        format!("{{*}}{ABSENT}")
    }

    /// The name under which the key is stored in this layout.
    pub fn placed(&self, layout: Layout) -> Cow<'_, str> {
        match (&self.tag, layout) {
            (_, Layout::Documented) | (Tag::None, Layout::Cluster) => Cow::Borrowed(&self.name),
            (Tag::Front(tag), Layout::Cluster) => Cow::Owned(format!("{{{tag}}}{}", self.name)),
            (Tag::Within(range), Layout::Cluster) => {
                let (before, tag, after) =
                    (&self.name[..range.start], &self.name[range.clone()], &self.name[range.end..]);
                Cow::Owned(format!("{before}{{{tag}}}{after}"))
            }
        }
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.tag() == other.tag()
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.tag().hash(state);
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Fills a template from left to right; used by the code that [`keys!`](crate::keys) writes.
#[doc(hidden)]
#[derive(Debug)]
pub struct Builder {
    key: Key,
    /// The part of the template that is still to be copied.
    rest: &'static str,
}

impl Builder {
    #[must_use]
    pub fn new(family: &'static Family) -> Self {
        let tag = match family.shard {
            Shard::Whole | Shard::Part(_) => Tag::None,
            Shard::Front(tag) => Tag::Front(Cow::Borrowed(tag)),
            Shard::Word(word) => match family.template.find(word) {
                Some(start) => Tag::Within(start..start + word.len()),
                None => Tag::None,
            },
        };
        let name = String::with_capacity(family.template.len() + 32);
        Self { key: Key { family, name, tag }, rest: family.template }
    }

    #[must_use]
    pub fn part(mut self, part: &impl Part) -> Self {
        let Some((literal, (placeholder, rest))) = self
            .rest
            .split_once('<')
            .and_then(|(literal, rest)| Some((literal, rest.split_once('>')?)))
        else {
            return self; // The declaration's own check has counted placeholders and parts.
        };
        self.key.name.push_str(literal);
        let start = self.key.name.len();
        part.write(&mut self.key.name);
        if self.key.family.shard == Shard::Part(placeholder) {
            self.key.tag = Tag::Within(start..self.key.name.len());
        }
        self.rest = rest;
        self
    }

    /// Sets the shard that is not part of the name.
    #[must_use]
    pub fn outside(mut self, shard: &impl Part) -> Self {
        let mut tag = String::new();
        shard.write(&mut tag);
        self.key.tag = Tag::Front(Cow::Owned(tag));
        self
    }

    #[must_use]
    pub fn finish(mut self) -> Key {
        self.key.name.push_str(self.rest);
        self.key
    }
}
