//! Declarations as the text of a file.

mod encoding;
mod family;
mod parts;

use std::fmt::Write as _;

pub use encoding::encoding_text;

use super::tidy::key;
use super::{Document, FORMAT};
use crate::family::Family;

/// What stands at the top of a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heading<'a> {
    /// The document's name.
    pub name: &'a str,
    /// Who answers for it.
    pub team: &'a str,
    /// The version of what it declares.
    pub version: &'a str,
    /// What it is about.
    pub prose: &'a str,
}

/// A family to be written, with remarks for the person who reads it.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The declaration.
    pub family: &'static Family,
    /// Comments above it.
    pub notes: Vec<String>,
}

impl From<&'static Family> for Draft {
    fn from(family: &'static Family) -> Self {
        Self { family, notes: Vec::new() }
    }
}

/// The text of a document.
pub fn write(document: &Document) -> String {
    let Document { name, team, version, prose, families, .. } = document;
    let drafts: Vec<Draft> = families.iter().map(|family| Draft::from(*family)).collect();
    write_draft(Heading { name, team, version, prose }, &drafts)
}

/// The text of a file with these declarations.
pub fn write_draft(heading: Heading<'_>, drafts: &[Draft]) -> String {
    let mut out = format!("format = {FORMAT}\n\n[document]\nname = {}\n", text(heading.name));
    let optional = [("owner", heading.team), ("version", heading.version), ("text", heading.prose)];
    for (name, value) in optional {
        if !value.trim().is_empty() {
            let _ = writeln!(out, "{name} = {}", prose(value));
        }
    }
    out.push_str(&new_declarations(heading, drafts, &[]));
    out
}

/// The parts, keys and channels alone, to be added to a file.
///
/// Parts of the families that the file has already are used again.
pub fn new_declarations(
    heading: Heading<'_>,
    drafts: &[Draft],
    known: &[&'static Family],
) -> String {
    let names = parts::Names::new(drafts, known);
    let mut out = String::new();
    names.write(&mut out);
    for is_channel in [false, true] {
        for draft in drafts.iter().filter(|draft| draft.family.is_channel() == is_channel) {
            out.push('\n');
            for note in draft.notes.iter().flat_map(|note| note.lines()) {
                let _ = writeln!(out, "{}", format!("# {note}").trim_end());
            }
            family::write(&mut out, draft.family, heading, &names);
        }
    }
    out
}

/// A string of TOML on one line.
fn text(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

/// Prose: on one line if it is one, else one line for each.
fn prose(prose: &str) -> String {
    let lines: Vec<&str> = prose.trim().lines().map(str::trim).collect();
    if let [line] = lines.as_slice() {
        return text(line);
    }
    let body = lines.join("\n").replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\"");
    format!("\"\"\"\n{body}\"\"\"")
}

/// An array of strings.
fn texts(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| text(word)).collect();
    format!("[{}]", words.join(", "))
}

/// The name of a family inside a document: bare under the document's own name.
fn name_in(document: &str, family: &Family) -> String {
    if family.owner == document { family.name.to_owned() } else { family.id() }
}
