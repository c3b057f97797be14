//! Name templates in both layouts: rendering from texts, matching raw keys, and glob patterns.

use std::borrow::Cow;
use std::ops::Range;

use crate::family::{Family, PARTS_MAX, Shard, Slot};
use crate::key::Layout;
use crate::part::PartError;

/// The longest raw key worth matching: eight parts of full length, and the fixed text.
const KEY_BYTES_MAX: usize = 16_384;

/// A stretch of a template: fixed text, or a place for a part.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Literal(String),
    Part(&'static Slot),
}

/// Where the parts of a matched key lie, the outside shard first where the layout shows it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Captures {
    ranges: [Range<usize>; PARTS_MAX],
    len: usize,
}

impl Captures {
    pub(crate) fn ranges(&self) -> &[Range<usize>] {
        &self.ranges[..self.len]
    }

    fn push(&mut self, range: Range<usize>) {
        self.ranges[self.len] = range;
        self.len += 1;
    }
}

impl Family {
    /// The name template in a layout, e.g. `trace:{<user_sub>}:<bar>:<trace_uid>` on a cluster.
    pub fn template_in(&self, layout: Layout) -> Cow<'static, str> {
        let template = self.template;
        if layout == Layout::Documented {
            return Cow::Borrowed(template);
        }
        if let [shard] = self.outside {
            return Cow::Owned(format!("{{<{}>}}{template}", shard.name));
        }
        match self.shard {
            Shard::Whole => Cow::Borrowed(template),
            Shard::Part(part) => {
                Cow::Owned(template.replacen(&format!("<{part}>"), &format!("{{<{part}>}}"), 1))
            }
            Shard::Word(word) => Cow::Owned(template.replacen(word, &format!("{{{word}}}"), 1)),
            Shard::Front(tag) => Cow::Owned(format!("{{{tag}}}{template}")),
        }
    }

    /// A glob that matches every key of the family, for SCAN, PSUBSCRIBE and access lists.
    pub fn pattern(&self, layout: Layout) -> String {
        self.narrowed(layout, |_| "*".to_owned())
    }

    /// The narrowest glob for access lists that matches every key of the family whose part `name` is `text`, for each
    /// given pair. Numbers match digits first; a glob cannot say more.
    pub fn narrow_pattern(&self, layout: Layout, given: &[(&str, &str)]) -> String {
        self.narrowed(layout, |slot| match given.iter().find(|(name, _)| *name == slot.name) {
            Some((_, text)) => {
                let mut coded = String::new();
                slot.kind.encode(text, &mut coded);
                glob_of(&coded)
            }
            None => if slot.kind.is_number() { "[0-9]*" } else { "*" }.to_owned(),
        })
    }

    fn narrowed(&self, layout: Layout, part: impl Fn(&Slot) -> String) -> String {
        let pieces = self.pieces(layout);
        let globs = pieces.iter().map(|piece| match piece {
            Piece::Literal(text) => glob_of(text),
            Piece::Part(slot) => part(slot),
        });
        globs.collect()
    }

    /// Is this a name of the family in either layout?
    pub fn matches(&self, raw: &[u8]) -> bool {
        [Layout::Documented, Layout::Cluster]
            .into_iter()
            .any(|layout| captures(&self.pieces(layout), raw).is_some())
    }

    /// The raw key for these texts. `shard` is needed on a cluster when the name does not hold it.
    ///
    /// For tools that meet keys as text, such as the lint; everything else uses the typed builders.
    pub fn render(
        &self,
        layout: Layout,
        shard: Option<&str>,
        parts: &[&str],
    ) -> Result<String, RenderError> {
        if parts.len() != self.parts.len() {
            return Err(RenderError::PartCount {
                template: self.template,
                expected: self.parts.len(),
            });
        }
        let mut texts = parts.iter();
        let mut out = String::new();
        for piece in self.pieces(layout) {
            match piece {
                Piece::Literal(literal) => out.push_str(&literal),
                Piece::Part(slot) => {
                    let is_outside = self.outside.iter().any(|outside| std::ptr::eq(outside, slot));
                    let text = if is_outside { shard } else { texts.next().copied() };
                    let text = text.ok_or(RenderError::NoShard {
                        template: self.template,
                        shard: slot.name,
                    })?;
                    slot.kind.check(text)?;
                    slot.kind.encode(text, &mut out);
                }
            }
        }
        Ok(out)
    }

    pub(crate) fn pieces(&self, layout: Layout) -> Vec<Piece> {
        let template = self.template_in(layout);
        let mut pieces = Vec::new();
        let mut rest: &str = &template;
        while let Some((literal, (name, after))) =
            rest.split_once('<').and_then(|(literal, rest)| Some((literal, rest.split_once('>')?)))
        {
            if !literal.is_empty() {
                pieces.push(Piece::Literal(literal.to_owned()));
            }
            pieces.extend(
                self.parts
                    .iter()
                    .chain(self.outside)
                    .find(|slot| slot.name == name)
                    .map(Piece::Part),
            );
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Literal(rest.to_owned()));
        }
        pieces
    }
}

/// Why texts do not make a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields hold")]
pub enum RenderError {
    #[error("\"{template}\" has {expected} parts; give one text for each")]
    PartCount { template: &'static str, expected: usize },
    #[error("a cluster key of \"{template}\" needs its {shard}; the name does not hold it")]
    NoShard { template: &'static str, shard: &'static str },
    #[error(transparent)]
    Part(#[from] PartError),
}

/// Matches a raw key against a template. No part's text can be read in two ways, so the first fit is the only one.
pub(crate) fn captures(pieces: &[Piece], raw: &[u8]) -> Option<Captures> {
    if raw.len() > KEY_BYTES_MAX {
        return None;
    }
    let mut found = Captures::default();
    fits(pieces, raw, 0, &mut found).then_some(found)
}

fn fits(pieces: &[Piece], raw: &[u8], at: usize, found: &mut Captures) -> bool {
    match pieces {
        [] => at == raw.len(),
        [Piece::Literal(text), rest @ ..] => {
            raw[at..].starts_with(text.as_bytes()) && fits(rest, raw, at + text.len(), found)
        }
        [Piece::Part(slot), rest @ ..] => {
            let end_max = slot.kind.end_max(raw, at);
            let len = found.len;
            // A last part has one place to end, and most names are ruled out by it.
            let end_min = if rest.is_empty() { raw.len() } else { at + 1 };
            (end_min.max(at + 1)..=end_max).any(|end| {
                found.len = len;
                let follows = match rest.first() {
                    Some(Piece::Literal(next)) => raw[end..].starts_with(next.as_bytes()),
                    _ => end == raw.len(),
                };
                if !follows || slot.kind.decode(&raw[at..end]).is_err() {
                    return false;
                }
                found.push(at..end);
                fits(rest, raw, end, found)
            })
        }
    }
}

/// A glob that matches this text only.
pub(crate) fn glob_of(text: &str) -> String {
    let mut glob = String::with_capacity(text.len());
    for letter in text.chars() {
        if "*?[]\\^".contains(letter) {
            glob.push('\\');
        }
        glob.push(letter);
    }
    glob
}
