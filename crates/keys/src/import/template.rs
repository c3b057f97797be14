//! Names with placeholders in any usual style, as templates.

use crate::family::Slot;
use crate::file::{keep_all, keep_text};
use crate::part::{Escape, Kind, PART_BYTES_MAX, Shape};

/// A name, taken apart.
pub(super) struct Template {
    /// With placeholders in angle brackets.
    pub(super) text: String,
    pub(super) slots: Vec<Slot>,
    /// What the family may be called.
    pub(super) name: String,
    pub(super) unsure: Vec<String>,
}

/// Reads a name with `{name}`, `<name>`, `:name` or `UPPERCASE` placeholders.
pub(super) fn read(name: &str) -> Option<Template> {
    let mut reader = Builder { text: String::new(), slots: Vec::new(), unsure: Vec::new() };
    let mut rest = name.trim();
    while let Some(first) = rest.chars().next() {
        let closing = match first {
            '{' => Some('}'),
            '<' => Some('>'),
            '[' => Some(']'),
            _ => None,
        };
        if let Some((inside, after)) = closing.and_then(|closing| rest[1..].split_once(closing)) {
            reader.placeholder(inside.trim_start_matches(['$', '{']));
            rest = after.trim_start_matches('}');
            continue;
        }
        // "user::id" and "user/:id": a colon after a separator marks a name.
        let after_separator = reader.text.ends_with([':', '/']) && first == ':';
        if after_separator && let Some(word) = word(&rest[1..]) {
            reader.placeholder(word);
            rest = &rest[1 + word.len()..];
            continue;
        }
        let at_start = reader.text.is_empty() || !reader.text.ends_with(char::is_alphanumeric);
        if at_start && let Some(word) = word(rest).filter(|word| is_shouted(word)) {
            reader.placeholder(word);
            rest = &rest[word.len()..];
            continue;
        }
        reader.text.push(if first == '>' { '_' } else { first });
        rest = &rest[first.len_utf8()..];
    }
    if reader.text.is_empty() || reader.slots.len() > 7 {
        return None;
    }
    let name = name_of(&reader.text);
    Some(Template { name, text: reader.text, slots: reader.slots, unsure: reader.unsure })
}

struct Builder {
    text: String,
    slots: Vec<Slot>,
    unsure: Vec<String>,
}

impl Builder {
    fn placeholder(&mut self, inside: &str) {
        let choices: Vec<&str> = inside
            .split([',', '|'])
            .map(|word| word.trim().trim_start_matches("or ").trim())
            .filter(|word| !word.is_empty())
            .collect();
        let (base, shape) = if choices.len() > 1 {
            self.unsure.push(format!("the words of {{{inside}}} may not be all"));
            let words = choices.iter().map(|word| keep_text(word)).collect();
            ("choice".to_owned(), Shape::Words(keep_all(words)))
        } else {
            (identifier(inside), Shape::Text { except: &[] })
        };
        // Two placeholders side by side cannot be told apart.
        if self.text.ends_with('>') {
            self.text.push('-');
            self.unsure.push("the page has two placeholders with nothing between them".into());
        }
        let mut name = base.clone();
        let mut n = 2;
        while self.slots.iter().any(|slot| slot.name == name) {
            name = format!("{base}_{n}");
            n += 1;
        }
        let without = if matches!(shape, Shape::Text { .. }) { ":" } else { "" };
        let escape = Escape::Raw { without };
        let kind_name = keep_text(&base);
        let kind = Kind { name: kind_name, prose: "", shape, escape, bytes_max: PART_BYTES_MAX };
        self.text.push_str(&format!("<{name}>"));
        self.slots.push(Slot { name: keep_text(&name), kind });
    }
}

/// The letters, digits and underscores at the beginning.
fn word(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
    (end > 0).then(|| &text[..end])
}

fn is_shouted(word: &str) -> bool {
    word.len() >= 2
        && word.starts_with(|first: char| first.is_ascii_uppercase())
        && word
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

fn identifier(text: &str) -> String {
    let mut name = String::new();
    for letter in text.chars() {
        match letter {
            letter if letter.is_ascii_alphanumeric() => name.push(letter.to_ascii_lowercase()),
            _ if name.ends_with('_') || name.is_empty() => {}
            _ => name.push('_'),
        }
    }
    match name.trim_end_matches('_') {
        "" => "id".to_owned(),
        name => name.to_owned(),
    }
}

/// The fixed words of a template.
fn name_of(template: &str) -> String {
    let mut fixed = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('<') {
        fixed.push_str(before);
        fixed.push(':');
        rest = after.split_once('>').map_or("", |(_, after)| after);
    }
    fixed.push_str(rest);
    let name = identifier(&fixed);
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        format!("key_{name}")
    } else {
        name
    }
}
