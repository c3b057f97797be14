//! All declared families together: from a raw key back to its family and parts.

use crate::encoding::Encoding;
use crate::family::Family;
use crate::key::Layout;
use crate::overlap::{self, Overlap};
use crate::template::{Captures, Piece, captures};

/// The families and channels of all crates.
#[derive(Debug)]
pub struct Registry {
    documented: Vec<Entry>,
    cluster: Vec<Entry>,
}

/// A family as it is named in one layout.
#[derive(Debug)]
struct Entry {
    /// The name's first byte, if it is fixed. Most families are ruled out by it.
    first: Option<u8>,
    channel: bool,
    family: &'static Family,
    pieces: Vec<Piece>,
}

impl Entry {
    fn new(family: &'static Family, layout: Layout) -> Self {
        let pieces = family.pieces(layout);
        let first = match pieces.first() {
            Some(Piece::Literal(text)) => text.bytes().next(),
            _ => None,
        };
        Self { first, channel: family.is_channel(), family, pieces }
    }
}

/// A raw key, taken apart.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The family it belongs to.
    pub family: &'static Family,
    /// The layout in which it is named. A family without hash tag is named alike in both and counts as documented.
    pub layout: Layout,
    /// The shard in front of the name, decoded: on a cluster, for a family whose name does not hold it.
    pub shard: Option<String>,
    /// The parts, decoded, in the order of [`Family::parts`].
    pub parts: Vec<String>,
}

/// A contradiction between declarations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields hold")]
pub enum Problem {
    #[error("two families are called \"{id}\"; rename one")]
    SameId { id: String },
    #[error("\"{key}\" could be a \"{a}\" or a \"{b}\"; change one template or reserve a word")]
    Overlap { key: String, a: &'static str, b: &'static str },
    #[error("a key could be a \"{a}\" and a \"{b}\"; change one template or reserve a word")]
    Unclear { a: &'static str, b: &'static str },
    #[error("\"{example}\" is no \"{template}\"; change the example")]
    Example { example: &'static str, template: &'static str },
}

impl Registry {
    /// Collects the families that each crate declares.
    pub fn new(crates: &[&[&'static Family]]) -> Self {
        let entries = |layout| {
            crates.iter().copied().flatten().map(|family| Entry::new(family, layout)).collect()
        };
        Self { documented: entries(Layout::Documented), cluster: entries(Layout::Cluster) }
    }

    /// Every declaration, channels included, in order of registration.
    pub fn all(&self) -> impl Iterator<Item = &'static Family> + '_ {
        self.documented.iter().map(|entry| entry.family)
    }

    /// The families of keys.
    pub fn families(&self) -> impl Iterator<Item = &'static Family> + '_ {
        self.all().filter(|family| !family.is_channel())
    }

    /// The families of pub/sub channels.
    pub fn channels(&self) -> impl Iterator<Item = &'static Family> + '_ {
        self.all().filter(|family| family.is_channel())
    }

    /// The family or channel with this id, e.g. `jobs.bee.queue`.
    pub fn get(&self, id: &str) -> Option<&'static Family> {
        self.all().find(|family| family.id() == id)
    }

    /// Which family a raw key of either layout belongs to; cheaper than [`Registry::parse`].
    pub fn family_of(&self, raw: &[u8]) -> Option<(&'static Family, Layout)> {
        self.find(raw, false).map(|(entry, layout, _)| (entry.family, layout))
    }

    /// Takes a raw key of either layout apart.
    pub fn parse(&self, raw: &[u8]) -> Option<Parsed> {
        self.find(raw, false).map(|found| taken_apart(raw, found))
    }

    /// Takes a raw channel name of either layout apart.
    pub fn parse_channel(&self, raw: &[u8]) -> Option<Parsed> {
        self.find(raw, true).map(|found| taken_apart(raw, found))
    }

    /// The documented name behind a raw key of either layout.
    pub fn documented_name(&self, raw: &[u8]) -> Option<String> {
        self.parse(raw)?.render(Layout::Documented)
    }

    /// What is wrong with the declarations taken together: doubled ids, examples of another family, and names that
    /// two families could both match. Empty for a sound registry.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (i, a) in self.all().enumerate() {
            let example = self.find(a.example.as_bytes(), a.is_channel());
            if !example.is_some_and(|(entry, ..)| std::ptr::eq(entry.family, a)) {
                problems.push(Problem::Example { example: a.example, template: a.template });
            }
            for b in self.all().skip(i + 1) {
                if a.id() == b.id() {
                    problems.push(Problem::SameId { id: a.id() });
                }
                problems.extend(overlap(a, b));
            }
        }
        problems
    }

    fn find(&self, raw: &[u8], channel: bool) -> Option<(&Entry, Layout, Captures)> {
        if !raw.contains(&b'{') {
            return matching(&self.documented, raw, channel, |_| true)
                .map(|(entry, captures)| (entry, Layout::Documented, captures));
        }
        let tagged = matching(&self.cluster, raw, channel, |_| true).map(|(entry, captures)| {
            // Braces may also be part of a name that is alike in both layouts.
            let is_tagged = entry.family.tagged();
            let layout = if is_tagged { Layout::Cluster } else { Layout::Documented };
            (entry, layout, captures)
        });
        // Nor are braces a hash tag where a part may hold them as they are.
        tagged.or_else(|| {
            matching(&self.documented, raw, channel, Family::tagged)
                .map(|(entry, captures)| (entry, Layout::Documented, captures))
        })
    }
}

/// The first of these entries that has such a name, among those whose family `counts`.
fn matching<'e>(
    entries: &'e [Entry],
    raw: &[u8],
    channel: bool,
    counts: impl Fn(&Family) -> bool,
) -> Option<(&'e Entry, Captures)> {
    let first = raw.first().copied()?;
    entries
        .iter()
        .filter(|entry| entry.channel == channel && entry.first.is_none_or(|byte| byte == first))
        .filter(|entry| counts(entry.family))
        .find_map(|entry| Some((entry, captures(&entry.pieces, raw)?)))
}

/// A name that both families would match, in either layout. Keys and channels are different worlds.
fn overlap(a: &'static Family, b: &'static Family) -> Option<Problem> {
    Some(match overlap_of(a, b)? {
        Overlap::Key(key) => Problem::Overlap { key, a: a.template, b: b.template },
        Overlap::Unclear => Problem::Unclear { a: a.template, b: b.template },
    })
}

pub(crate) fn overlap_of(a: &'static Family, b: &'static Family) -> Option<Overlap> {
    if a.is_channel() != b.is_channel() {
        return None;
    }
    let mut found = [Layout::Documented, Layout::Cluster]
        .into_iter()
        .filter_map(|layout| overlap::overlap(&a.pieces(layout), &b.pieces(layout)));
    let first = found.next()?;
    // A key says more than a doubt, in whichever layout it is.
    let is_key = |found: &Overlap| matches!(found, Overlap::Key(_));
    Some(if is_key(&first) { first } else { found.find(is_key).unwrap_or(first) })
}

fn taken_apart(raw: &[u8], (entry, layout, captures): (&Entry, Layout, Captures)) -> Parsed {
    let family = entry.family;
    let shown: &[_] = if layout == Layout::Cluster { family.outside } else { &[] };
    let slots = shown.iter().chain(family.parts);
    let texts = slots.zip(captures.ranges()).map(|(slot, range)| {
        let coded = &raw[range.clone()];
        slot.kind
            .decode(coded)
            .map_or_else(|_| String::from_utf8_lossy(coded).into_owned(), Into::into)
    });
    let mut parts: Vec<String> = texts.collect();
    let shard = (!shown.is_empty()).then(|| parts.remove(0));
    Parsed { family, layout, shard, parts }
}

impl Parsed {
    /// The part of this name.
    pub fn part(&self, name: &str) -> Option<&str> {
        let at = self.family.parts.iter().position(|slot| slot.name == name)?;
        self.parts.get(at).map(String::as_str)
    }

    /// The raw key in a layout; `None` on a cluster when the shard is not known.
    pub fn render(&self, layout: Layout) -> Option<String> {
        let parts: Vec<&str> = self.parts.iter().map(String::as_str).collect();
        self.family.render(layout, self.shard.as_deref(), &parts).ok()
    }

    /// The raw key, in the same layout and shard, that a value found in this key points to.
    ///
    /// `None` when the encoding points nowhere or the value is not a valid id.
    pub fn target(&self, encoding: &Encoding, value: &[u8]) -> Option<String> {
        let id = std::str::from_utf8(value).ok()?;
        let target = encoding.target()?;
        if encoding.is_key_name() {
            return Some(id.to_owned());
        }
        // The value is the last part; those before it are as in this key.
        let (_, before) = target.parts.split_last()?;
        let shared: Option<Vec<&str>> = before.iter().map(|slot| self.part(slot.name)).collect();
        let mut parts = shared?;
        parts.push(id);
        target.render(self.layout, self.shard.as_deref(), &parts).ok()
    }
}

#[cfg(test)]
mod tests;
