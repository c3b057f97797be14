//! `[keys.…]` and `[channels.…]`: one family each.

use super::cursor::{Fields, Node};
use super::encoding::{self, Scope};
use super::parts::words;
use super::{keep, keep_all, keep_text, life};
use crate::family::{Content, Family, KnownBy, Origin, PARTS_MAX, Slot, Ttl, Value};
use crate::part::Escape;

/// The types of keys.
const TYPES: &str = "string, list, set, sorted-set, hash, map, stream, bitmap, hyperloglog";

/// A hash may have so many declared fields: the lint keeps a bit for each.
const FIELDS_MAX: usize = 128;

/// What stands in front of the declarations of a file.
pub(super) struct Defaults {
    pub(super) team: &'static str,
    pub(super) writers: &'static [&'static str],
    pub(super) readers: &'static [&'static str],
}

/// Reads one family. `id` has the document's name in front, or a group's.
pub(super) fn family(
    id: &str,
    node: &Node<'_>,
    is_channel: bool,
    scope: &Scope,
    defaults: &Defaults,
) -> Option<&'static Family> {
    let fields = node.fields()?;
    let (owner, name) = id.rsplit_once('.').unwrap_or(("", id));
    let text = |name| fields.get(name).and_then(|node| node.text("a text")).map(keep_text);
    let programs = |name, default| {
        fields.get(name).and_then(|node| node.texts("names of programs")).map_or(default, words)
    };
    let template = template(&fields, scope);
    let content = if is_channel { channel(&fields, scope) } else { content(&fields, scope) };
    let (prose, removed, example) = (text("text"), text("removed"), text("example"));
    let team = text("owner").unwrap_or(defaults.team);
    let (writers, readers) =
        (programs("writers", defaults.writers), programs("readers", defaults.readers));
    let origin = fields.get("origin").map_or(Some(Origin::File), |node| life::origin(&node));
    let secret = fields.get("secret").map_or(Some(false), |node| node.boolean());
    let mut family = Family {
        name: keep_text(name),
        owner: keep_text(owner),
        team,
        writers,
        readers,
        prose: prose.unwrap_or_default(),
        removed: removed.unwrap_or_default(),
        ttl: if is_channel { Ttl::Never } else { Ttl::Undeclared },
        origin: origin?,
        secret: secret?,
        ..Family::BLANK
    };
    if let Some(node) = fields.get("database") {
        family.database = life::database(&node)?;
    }
    if !is_channel {
        keys_only(&mut family, &fields, scope)?;
    }
    let (template, slots) = template?;
    family.content = content?;
    if let Some(node) = fields.get("cluster") {
        (family.shard, family.outside) = life::cluster(&node, scope, slots, template)?;
    }
    (family.template, family.parts) = (template, slots);
    family.example = example.unwrap_or_default();
    check_example(&family, &fields);
    fields.finish();
    Some(keep(family))
}

/// What channels do not have.
fn keys_only(family: &mut Family, fields: &Fields<'_>, scope: &Scope) -> Option<()> {
    let ttl = fields.get("ttl").map(|node| life::ttl(&node));
    let known_by = fields.get("known_by").map(|node| life::known_by(&node));
    let listed = fields.get("listed").map(|node| life::listed(&node, scope));
    let holds = fields.get("holds").map(|node| life::holds(&node));
    let open = fields.get("other_fields").map_or(Some(false), |node| node.boolean());
    let count = |name| fields.get(name).map(|node| node.count());
    let (items_max, bytes_max) = (count("max_items"), count("max_bytes"));
    family.ttl = ttl.unwrap_or(Some(Ttl::Undeclared))?;
    family.known_by = known_by.unwrap_or(Some(KnownBy::Name))?;
    family.listed = listed.unwrap_or(Some(&[]))?;
    family.holds = holds.map_or(Some(None), |holds| holds.map(Some))?;
    family.open = open?;
    family.items_max = items_max.map_or(Some(None), |max| max.map(Some))?;
    family.bytes_max = bytes_max.map_or(Some(None), |max| max.map(Some))?;
    Some(())
}

/// The template, and its places in order.
fn template(fields: &Fields<'_>, scope: &Scope) -> Option<(&'static str, &'static [Slot])> {
    let node = fields.need("template", "a name such as \"order:<order_id>\"")?;
    let kinds = fields.get("parts");
    let text = node.text("a name such as \"order:<order_id>\"")?;
    let kinds = kinds.as_ref().map_or(Some(None), |node| node.fields().map(Some))?;
    let mut slots: Vec<Slot> = Vec::new();
    let (mut rest, mut since_part) = (text, None);
    while let Some(at) = rest.find(['<', '>']) {
        let literal = &rest[..at];
        let name = rest[at..].strip_prefix('<').and_then(|inside| inside.split_once('>'));
        let Some((name, after)) = name.filter(|(name, _)| is_name(name)) else {
            node.error(
                "\"<\" and \">\" enclose the name of a part: letters, digits, \"_\" and \"-\"",
            );
            return None;
        };
        if since_part == Some(0) && literal.is_empty() {
            node.error(format!("<{name}> follows another part with nothing between them"));
            return None;
        }
        if slots.iter().any(|slot| slot.name == name) {
            node.error(format!("<{name}> is there twice; give each part a name of its own"));
            return None;
        }
        let given = kinds.as_ref().and_then(|kinds| {
            kinds.all().into_iter().find(|(key, _)| *key == name).map(|(_, node)| node)
        });
        let kind = match given {
            Some(node) => scope.part(&node)?,
            None => match scope.parts.get(name) {
                Some(kind) => kind,
                None => {
                    node.error(format!(
                        "<{name}> is not declared; add [parts.{name}], or parts = {{ {name} = \"…\" }}"
                    ));
                    return None;
                }
            },
        };
        slots.push(Slot { name: keep_text(name), kind: *kind });
        since_part = Some(0);
        rest = after;
        if !rest.is_empty() && !rest.starts_with('<') {
            since_part = Some(1);
        }
    }
    if let Some(kinds) = &kinds {
        for (name, node) in kinds.all() {
            if !slots.iter().any(|slot| slot.name == name) {
                node.error(format!("<{name}> is not in the template \"{text}\""));
            }
        }
    }
    check_slots(&node, text, &slots)?;
    Some((keep_text(text), keep_all(slots)))
}

fn check_slots(node: &Node<'_>, text: &str, slots: &[Slot]) -> Option<()> {
    let wrong = if text.is_empty() {
        Some("the name is empty".to_owned())
    } else if slots.len() >= PARTS_MAX {
        Some(format!("{} parts; a name has at most {}", slots.len(), PARTS_MAX - 1))
    } else if slots.iter().filter(|slot| slot.kind.holds_colons()).count() > 1 {
        Some("two parts that hold colons cannot be told apart".to_owned())
    } else {
        slots.iter().find_map(|slot| {
            let is_rest = matches!(slot.kind.shape, crate::part::Shape::Rest);
            let is_last = text.ends_with(&format!("<{}>", slot.name));
            (is_rest && !is_last).then(|| {
                format!("<{}> is the rest of the key, so nothing can follow it", slot.name)
            })
        })
    };
    if let Some(wrong) = wrong {
        node.error(wrong);
        return None;
    }
    Some(())
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

fn content(fields: &Fields<'_>, scope: &Scope) -> Option<Content> {
    let node = fields.need("type", &format!("one of {TYPES}"))?;
    let one = |name| -> Option<Value> {
        let node = fields.get(name);
        // What is not declared can be anything.
        node.map_or(Some(Value { encoding: crate::Encoding::Text, prose: "" }), |node| {
            encoding::value(&node, scope)
        })
    };
    let prose = |name| -> Option<Value> {
        let text = fields.get(name).map_or(Some(""), |node| node.text("a text"))?;
        Some(Value { encoding: crate::Encoding::Bytes, prose: keep_text(text) })
    };
    let named = || {
        let node = fields.need("fields", "a table of fields")?;
        let found = encoding::named(&node, scope)?;
        if found.len() > FIELDS_MAX {
            node.error(format!("{} fields; at most {FIELDS_MAX} can be declared", found.len()));
            return None;
        }
        Some(keep_all(found))
    };
    Some(match node.text(TYPES)? {
        "string" => Content::String(one("value")?),
        "list" => Content::List(one("item")?),
        "set" => Content::Set(one("member")?),
        "sorted-set" => Content::SortedSet { member: one("member")?, score: score(fields, scope)? },
        "hash" => Content::Hash(named()?),
        "map" => Content::Map { field: one("field")?, value: one("value")? },
        "stream" => Content::Stream(named()?),
        "bitmap" => Content::Bitmap(prose("bits")?),
        "hyperloglog" => Content::HyperLogLog(prose("counts")?),
        other => {
            node.error(format!("\"{other}\" is no type of key; give one of {TYPES}"));
            return None;
        }
    })
}

fn score(fields: &Fields<'_>, scope: &Scope) -> Option<Value> {
    fields
        .get("score")
        .map_or(Some(Value { encoding: crate::Encoding::Float, prose: "" }), |node| {
            encoding::value(&node, scope)
        })
}

fn channel(fields: &Fields<'_>, scope: &Scope) -> Option<Content> {
    let message = fields
        .get("message")
        .map_or(Some(Value { encoding: crate::Encoding::Text, prose: "" }), |node| {
            encoding::value(&node, scope)
        });
    message.map(Content::Channel)
}

fn check_example(family: &Family, fields: &Fields<'_>) {
    if let Some(node) = fields.get("example")
        && let Some(example) = node.as_str()
        && !family.matches(example.as_bytes())
    {
        node.error(format!("\"{example}\" is no \"{}\"; change the example", family.template));
    }
}

/// Can the text of the part go on where the fixed text after it begins? Then a name can be read in two ways.
pub(crate) fn runs_into(slot: &Slot, next: &str) -> bool {
    let Escape::Raw { without } = slot.kind.escape else { return false };
    let text = matches!(slot.kind.shape, crate::part::Shape::Text { .. });
    text && !next.is_empty() && !next.contains(|letter| without.contains(letter))
}
