//! `[parts.…]`: reusable parts of names.

use super::cursor::{Fields, Node};
use super::{keep, keep_all, keep_text};
use crate::part::{Escape, Kind, PART_BYTES_MAX, Shape};
use crate::pattern::Pattern;

/// The types of parts.
pub const PART_TYPES: &[&str] =
    &["text", "integer", "uuid", "ulid", "date", "enum", "pattern", "colons", "rest"];

/// The most bytes that any part may have.
const BYTES_MAX: u64 = 1_024;

/// Reads `[parts.NAME]`, or a type's name alone.
pub(super) fn part(name: &str, node: &Node<'_>) -> Option<&'static Kind> {
    if let Some(word) = node.as_str() {
        let shape = match word {
            "text" => Shape::Text { except: &[] },
            "integer" => Shape::Number { min: 0, max: u64::MAX },
            "uuid" => Shape::Uuid,
            "ulid" => Shape::Ulid,
            "date" => Shape::Date,
            "rest" => Shape::Rest,
            _ => {
                let allowed = "text, integer, uuid, ulid, date, rest, or a table with a \"type\"";
                node.error(format!("\"{word}\" is no type of part; give {allowed}"));
                return None;
            }
        };
        let escape = default_escape(&shape);
        let kind = Kind { escape, ..Kind::new(keep_text(name), "", shape) };
        return Some(keep(kind));
    }
    let fields = node.fields()?;
    let kind = table(name, &fields);
    fields.finish();
    kind
}

fn table(name: &str, fields: &Fields<'_>) -> Option<&'static Kind> {
    let prose = fields.get("text").and_then(|node| node.text("a text")).unwrap_or_default();
    let shown = fields.get("name").and_then(|node| node.text("a name")).unwrap_or(name);
    let escape = fields.get("escape").map(|node| escape(&node));
    let without = fields.get("without").map(|node| without(&node));
    let bytes_max = fields.get("max_bytes").map(|node| bytes_max(&node));
    let shape = shape(fields)?;
    let escape = match (escape, without) {
        (Some(escape), None) => escape?,
        (None, None) => default_escape(&shape),
        (None, Some(without)) => Escape::Raw { without: without? },
        (Some(escape), Some(without)) => match (escape?, without?) {
            (Escape::Raw { .. }, without) => Escape::Raw { without },
            (Escape::Percent, _) => {
                fields.node.error(
                    "\"without\" has no meaning with escape = \"percent\", which can write any byte; leave it out",
                );
                return None;
            }
        },
    };
    let escape = match escape {
        // What the type itself allows.
        Escape::Raw { without: DEFAULT } => default_escape(&shape),
        escape => escape,
    };
    let bytes_max = bytes_max.unwrap_or(Some(PART_BYTES_MAX))?;
    let (name, prose) = (keep_text(shown), keep_text(prose));
    Some(keep(Kind { name, prose, shape, escape, bytes_max }))
}

fn shape(fields: &Fields<'_>) -> Option<Shape> {
    let node = fields.need("type", &format!("one of {}", PART_TYPES.join(", ")))?;
    let shape = match node.text("the type of the part")? {
        "text" => {
            let except = fields.get("except").map(|node| node.texts("words"));
            Shape::Text { except: words(except.unwrap_or(Some(Vec::new()))?) }
        }
        "integer" => {
            let min = fields.get("min").map_or(Some(0), |node| node.count());
            let max = fields.get("max").map_or(Some(u64::MAX), |node| node.count());
            let (min, max) = (min?, max?);
            if min > max {
                fields.node.error(format!("\"min\" {min} is more than \"max\" {max}"));
                return None;
            }
            Shape::Number { min, max }
        }
        "uuid" => Shape::Uuid,
        "ulid" => Shape::Ulid,
        "date" => Shape::Date,
        "rest" => Shape::Rest,
        "enum" => {
            let node = fields.need("words", "an array of words")?;
            let found = node.texts("words")?;
            if found.is_empty() || found.iter().any(|word| word.is_empty()) {
                node.error("give at least one word, none of them empty");
                return None;
            }
            Shape::Words(words(found))
        }
        "pattern" => {
            let node = fields.need("pattern", "a regular expression")?;
            let source = keep_text(node.text("a regular expression")?);
            match Pattern::new(source) {
                Ok(pattern) => Shape::Pattern(keep(pattern)),
                Err(error) => {
                    node.error(format!("\"{source}\" is no pattern: {error}"));
                    return None;
                }
            }
        }
        "colons" => {
            let node = fields.need("fields", "the fewest fields between colons")?;
            Shape::Colons { fields_min: usize::try_from(node.count()?).ok()?.clamp(1, 64) }
        }
        other => {
            node.error(format!(
                "\"{other}\" is no type of part; give one of {}",
                PART_TYPES.join(", ")
            ));
            return None;
        }
    };
    Some(shape)
}

/// Stands for an escape that follows from the type.
const DEFAULT: &str = "\0";

/// How parts are written unless the file says otherwise: as they are, and text ends at a colon.
pub(super) fn default_escape(shape: &Shape) -> Escape {
    match shape {
        Shape::Text { .. } => Escape::Raw { without: ":" },
        _ => Escape::Raw { without: "" },
    }
}

fn escape(node: &Node<'_>) -> Option<Escape> {
    match node.text("\"none\" or \"percent\"")? {
        "none" => Some(Escape::Raw { without: DEFAULT }),
        "percent" => Some(Escape::Percent),
        other => {
            node.error(format!("\"{other}\" is no way to escape; give \"none\" or \"percent\""));
            None
        }
    }
}

fn without(node: &Node<'_>) -> Option<&'static str> {
    let text = node.text("the characters that a value may not hold")?;
    if !text.is_ascii() {
        node.error(format!("\"{text}\" is not ASCII; only ASCII characters can separate parts"));
        return None;
    }
    Some(keep_text(text))
}

fn bytes_max(node: &Node<'_>) -> Option<usize> {
    let count = node.count()?;
    if !(1..=BYTES_MAX).contains(&count) {
        node.error(format!("{count} is out of range; give 1 to {BYTES_MAX}"));
        return None;
    }
    usize::try_from(count).ok()
}

/// Keeps words.
pub(super) fn words(words: Vec<&str>) -> &'static [&'static str] {
    keep_all(words.into_iter().map(keep_text).collect())
}
