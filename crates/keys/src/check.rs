//! What is wrong with declarations before any database is looked at: for CI.

mod rule;

pub use rule::CheckRule;

use crate::encoding::Encoding;
use crate::family::{Content, Family, Shard, Ttl};
use crate::file::runs_into;
use crate::key::Layout;
use crate::overlap::Overlap;
use crate::registry::overlap_of;
use crate::template::Piece;

/// Something wrong with a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckFinding {
    /// The rule it breaks.
    pub rule: CheckRule,
    /// The family's id.
    pub family: String,
    /// What exactly is wrong, and what to do.
    pub detail: String,
}

/// Checks declarations that are used together.
pub fn check(families: &[&'static Family]) -> Vec<CheckFinding> {
    let mut findings = Vec::new();
    for (i, family) in families.iter().enumerate() {
        let mut add = |rule, detail: String| {
            findings.push(CheckFinding { rule, family: family.id(), detail });
        };
        for other in &families[i + 1..] {
            if let Some(overlap) = overlap_of(family, other) {
                add(CheckRule::Overlap, shared(family, other, &overlap));
            }
        }
        if let Some(detail) = life(family) {
            add(detail.0, detail.1);
        }
        if let Some(detail) = unbounded(family) {
            add(CheckRule::Unbounded, detail);
        }
        for detail in unescaped(family) {
            add(CheckRule::Unescaped, detail);
        }
        if family.team.trim().is_empty() {
            add(CheckRule::NoOwner, "nobody owns it; set \"owner\" here or in [document]".into());
        }
        for detail in placement(family) {
            add(CheckRule::Cluster, detail);
        }
        if family.example.is_empty() {
            add(CheckRule::NoExample, "it has no example; add one, tests are made from it".into());
        }
    }
    findings
}

fn shared(family: &Family, other: &Family, overlap: &Overlap) -> String {
    let (a, b) = (family.template, other.template);
    let both = match overlap {
        Overlap::Key(key) => format!("\"{key}\" is a \"{a}\" and a \"{b}\" too"),
        Overlap::Unclear => format!("some key may be a \"{a}\" and a \"{b}\" too"),
    };
    format!("{both}; narrow a part, or except the word")
}

fn life(family: &Family) -> Option<(CheckRule, String)> {
    if family.is_channel() {
        return None;
    }
    match family.ttl {
        Ttl::Undeclared => Some((
            CheckRule::NoTtl,
            "no TTL rule; set \"ttl\" to a time, \"always\", \"never\" or \"only when …\"".into(),
        )),
        Ttl::Never if family.removed.trim().is_empty() => Some((
            CheckRule::NeverRemoved,
            "keys never expire and nobody removes them; say who does in \"removed\"".into(),
        )),
        _ => None,
    }
}

/// A collection whose size nothing limits.
fn unbounded(family: &Family) -> Option<String> {
    let noun = match family.content {
        Content::List(_) => "items",
        Content::Set(_) | Content::SortedSet { .. } => "members",
        Content::Map { .. } => "fields",
        Content::Stream(_) => "entries",
        _ => return None,
    };
    let is_limited = family.items_max.is_some() || !family.removed.trim().is_empty();
    (!is_limited).then(|| {
        format!(
            "may grow without limit; set \"max_items\", or say in \"removed\" who takes {noun} out"
        )
    })
}

/// Parts whose text can hold what ends them, so that a name can be read in two ways.
fn unescaped(family: &Family) -> Vec<String> {
    let pieces = family.pieces(Layout::Documented);
    let pairs = pieces.windows(2).filter_map(|pair| match pair {
        [Piece::Part(slot), Piece::Literal(next)] if runs_into(slot, next) => Some((slot, next)),
        _ => None,
    });
    let later_part = |slot: &str| {
        let at =
            pieces.iter().position(|piece| matches!(piece, Piece::Part(part) if part.name == slot));
        at.is_some_and(|at| pieces[at + 1..].iter().any(|piece| matches!(piece, Piece::Part(_))))
    };
    pairs
        .filter(|(slot, _)| later_part(slot.name))
        .map(|(slot, next)| {
            format!(
                "<{0}> may itself hold \"{next}\"; set without = \"{1}\" or escape = \"percent\" for the part \"{2}\"",
                slot.name,
                next.chars().next().unwrap_or_default(),
                slot.kind.name
            )
        })
        .collect()
}

/// Where the keys lie on a cluster.
fn placement(family: &Family) -> Vec<String> {
    let mut wrong = Vec::new();
    let template = family.template;
    if template.matches('{').count() > 1 {
        wrong.push(format!("\"{template}\" has braces twice; only the first pair is the hash tag"));
    }
    if template.contains("{}") {
        wrong.push(format!("\"{template}\" has an empty hash tag, which Redis ignores"));
    }
    for target in targets(&family.content) {
        let (own, other) = (tag(family), tag(target));
        let is_tagged = own.is_some() || other.is_some();
        if is_tagged && own != other {
            let shown = |tag: &Option<String>| tag.clone().unwrap_or_else(|| "no hash tag".into());
            wrong.push(format!(
                "refers to \"{}\" ({}) from {}; on a cluster no script or transaction reaches both",
                target.template,
                shown(&other),
                shown(&own)
            ));
        }
    }
    wrong
}

/// What decides the slot: a word, or a part in angle brackets.
fn tag(family: &Family) -> Option<String> {
    if let [slot] = family.outside {
        return Some(format!("{{<{}>}}", slot.kind.name));
    }
    let inside = family.template.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
    let part = |name: &str| {
        let slot = family.parts.iter().find(|slot| slot.name == name);
        format!("{{<{}>}}", slot.map_or(name, |slot| slot.kind.name))
    };
    match family.shard {
        Shard::Part(name) => Some(part(name)),
        Shard::Word(word) | Shard::Front(word) => Some(format!("{{{word}}}")),
        Shard::Whole => inside.filter(|(tag, _)| !tag.is_empty()).map(|(tag, _)| {
            match tag.strip_prefix('<').and_then(|tag| tag.strip_suffix('>')) {
                Some(name) => part(name),
                None => format!("{{{tag}}}"),
            }
        }),
    }
}

fn targets(content: &Content) -> Vec<&'static Family> {
    let of = |encodings: &[&Encoding]| {
        encodings.iter().filter_map(|encoding| encoding.target()).collect::<Vec<_>>()
    };
    match content {
        Content::String(value)
        | Content::List(value)
        | Content::Set(value)
        | Content::Bitmap(value)
        | Content::HyperLogLog(value)
        | Content::Channel(value) => of(&[&value.encoding]),
        Content::SortedSet { member: a, score: b } | Content::Map { field: a, value: b } => {
            of(&[&a.encoding, &b.encoding])
        }
        Content::Hash(fields) | Content::Stream(fields) => {
            fields.iter().filter_map(|field| field.encoding.target()).collect()
        }
    }
}

#[cfg(test)]
mod tests;
