//! How long keys live, where they lie and where their declaration comes from, as a file notes it.

use super::cursor::{Fields, Node};
use super::encoding::Scope;
use super::parts::words;
use super::{keep_all, keep_text};
use crate::family::{By, Database, Holds, KnownBy, Listed, Origin, Shard, Slot, Ttl};

const TTLS: &str = "\"never\", \"always\", \"sometimes\", a time such as \"90s\", \"15m\", \"12h\" or \"30d\", \
                    or \"only when …\"";

/// The units of times, largest first.
pub(super) const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];

pub(super) fn ttl(node: &Node<'_>) -> Option<Ttl> {
    let text = node.text(TTLS)?;
    let ttl = match text {
        "never" => Some(Ttl::Never),
        "always" => Some(Ttl::Required),
        "sometimes" => Some(Ttl::Optional),
        _ => match text.strip_prefix("only when ").map(str::trim) {
            Some("") => None,
            Some(case) => Some(Ttl::When(keep_text(case))),
            None => seconds(text).map(Ttl::Within),
        },
    };
    if ttl.is_none() {
        node.error(format!("\"{text}\" is no TTL rule; give {TTLS}"));
    }
    ttl
}

/// A time such as `30d`, in seconds.
fn seconds(text: &str) -> Option<u64> {
    let (number, factor) =
        UNITS.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    let plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = number.parse().ok().filter(|number| plain && *number > 0)?;
    number.checked_mul(*factor)
}

pub(super) fn database(node: &Node<'_>) -> Option<Database> {
    const ALLOWED: &str = "the number of a database from 0 to 65535, or \"account\"";
    let database = match (node.as_int(), node.as_str()) {
        (Some(number), _) => u16::try_from(number).ok().map(Database::Number),
        (_, Some("account")) => Some(Database::Account),
        _ => None,
    };
    if database.is_none() {
        node.error(format!("expected {ALLOWED}, found {}", node.noun()));
    }
    database
}

/// `{ part = "user" }`, `{ word = "jobs" }`, `{ front = "shop" }`, or `{ outside = "group", part = "GroupName" }`.
pub(super) fn cluster(
    node: &Node<'_>,
    scope: &Scope,
    slots: &[Slot],
    template: &str,
) -> Option<(Shard, &'static [Slot])> {
    let fields = node.fields()?;
    let text = |name| fields.get(name).map(|node| (node.text("a text"), node));
    let (outside, part, word, front) = (text("outside"), text("part"), text("word"), text("front"));
    let shard = match (outside, part, word, front) {
        (Some((name, _)), Some((_, part)), None, None) => {
            let slot = Slot { name: keep_text(name?), kind: *scope.part(&part)? };
            if slots.iter().any(|other| other.name == slot.name) {
                node.error(format!("<{}> is already a part of the name", slot.name));
                return None;
            }
            (Shard::Whole, keep_all(vec![slot]))
        }
        (None, Some((name, part)), None, None) => {
            let name = name?;
            if !slots.iter().any(|slot| slot.name == name && !slot.kind.holds_colons()) {
                part.error(format!("<{name}> is no part of the name that could be a hash tag"));
                return None;
            }
            (Shard::Part(keep_text(name)), [].as_slice())
        }
        (None, None, Some((word, place)), None) => {
            let word = word?;
            if word.is_empty() || !slots.is_empty() || !template.contains(word) {
                place.error(format!("\"{word}\" is no word of a fixed name"));
                return None;
            }
            (Shard::Word(keep_text(word)), [].as_slice())
        }
        (None, None, None, Some((tag, place))) => {
            let tag = tag?;
            if tag.is_empty() {
                place.error("the hash tag is empty");
                return None;
            }
            (Shard::Front(keep_text(tag)), [].as_slice())
        }
        _ => {
            node.error(
                "give one of \"part\", \"word\" and \"front\", or \"outside\" with \"part\"",
            );
            return None;
        }
    };
    fields.finish();
    Some(shard)
}

pub(super) fn origin(node: &Node<'_>) -> Option<Origin> {
    if node.as_array().is_some() {
        return Some(Origin::Document(words(node.texts("document numbers")?)));
    }
    match node.text("\"added\", \"original\", \"foreign\", or an array of document numbers")? {
        "added" => Some(Origin::Added),
        "original" => Some(Origin::Original),
        "foreign" => Some(Origin::Foreign),
        other => {
            node.error(format!(
                "\"{other}\" is no origin; give \"added\", \"original\" or \"foreign\""
            ));
            None
        }
    }
}

pub(super) fn known_by(node: &Node<'_>) -> Option<KnownBy> {
    Some(KnownBy::Content(words(node.texts("fields")?)))
}

/// `{ field = "status", words = ["failed"] }`
pub(super) fn holds(node: &Node<'_>) -> Option<Holds> {
    let fields = node.fields()?;
    let (field, found) = field_and_words(&fields)?;
    fields.finish();
    Some(Holds { field, words: found })
}

/// `[{ field = "status", words = ["queued"], in = ["queue"], or_expires = true }]`
pub(super) fn listed(node: &Node<'_>, scope: &Scope) -> Option<&'static [Listed]> {
    let Some(nodes) = node.as_array() else {
        node.error("expected an array of tables with \"field\", \"words\" and \"in\"");
        return None;
    };
    let listed: Option<Vec<Listed>> = nodes.iter().map(|node| one_listed(node, scope)).collect();
    listed.map(keep_all)
}

fn one_listed(node: &Node<'_>, scope: &Scope) -> Option<Listed> {
    let fields = node.fields()?;
    let (field, words) = field_and_words(&fields)?;
    let mut by = Vec::new();
    for node in fields.get("in").and_then(|node| node.as_array()).unwrap_or_default() {
        // A name: an entry of that key names this one. A table: a key with the same id does.
        by.push(match node.as_table() {
            None => By::LateEntry(scope.family(&node)?),
            Some(_) => {
                let fields = node.fields()?;
                let family = scope.family(&fields.need("key", "the name of a key")?)?;
                fields.finish();
                By::LateKey(family)
            }
        });
    }
    let unless_expiring = fields.get("or_expires").map_or(Some(false), |node| node.boolean());
    fields.finish();
    Some(Listed { field, words, by: keep_all(by), unless_expiring: unless_expiring? })
}

fn field_and_words(fields: &Fields<'_>) -> Option<(&'static str, &'static [&'static str])> {
    let field = fields.need("field", "the name of a field")?.text("the name of a field")?;
    let found = fields.need("words", "an array of words")?.texts("words")?;
    Some((keep_text(field), words(found)))
}
