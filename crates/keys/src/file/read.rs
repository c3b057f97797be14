//! From the text of files to their declarations.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::cursor::{Fields, Node, Reader};
use super::encoding::Scope;
use super::family::{Defaults, family};
use super::parts::{part, words};
use super::schema::schema;
use super::{Document, FORMAT, FileError, keep, keep_text};
use crate::family::LateFamily;

/// A file: its name, and what it holds.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// What messages call it.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
}

/// Reads files that may refer to each other.
///
/// # Errors
/// Everything that is wrong with them, by file and line.
pub fn read(sources: &[Source<'_>]) -> Result<Vec<Document>, Vec<FileError>> {
    let readers: Vec<Reader<'_>> = sources
        .iter()
        .map(|source| Reader { source: source.name, text: source.text, errors: RefCell::default() })
        .collect();
    let parsed: Vec<_> = readers.iter().map(parse).collect();
    let roots: Vec<Option<Node<'_>>> = readers
        .iter()
        .zip(&parsed)
        .map(|(reader, parsed)| {
            parsed.as_ref().map(|document| Node::root(reader, document.as_item()))
        })
        .collect();
    let mut lates: BTreeMap<String, &'static LateFamily> = BTreeMap::new();
    for root in roots.iter().flatten() {
        collect_ids(root, &mut lates);
    }
    let documents: Vec<Document> =
        roots.iter().flatten().filter_map(|root| document(root, &lates)).collect();
    let mut errors: Vec<FileError> =
        readers.into_iter().flat_map(|reader| reader.errors.into_inner()).collect();
    if errors.is_empty() {
        for family in documents.iter().flat_map(|document| &document.families) {
            if let Some(late) = lates.get(&family.id()) {
                late.set(family);
            }
        }
        return Ok(documents);
    }
    errors.sort();
    errors.dedup();
    Err(errors)
}

fn parse<'d>(reader: &Reader<'d>) -> Option<toml_edit::Document<&'d str>> {
    match toml_edit::Document::parse(reader.text) {
        Ok(document) => Some(document),
        Err(error) => {
            reader.error(error.span(), "", error.message().trim_end().replace('\n', "; "));
            None
        }
    }
}

/// The id of a family: its name under the document's, or under the group in front of its last dot.
fn id_of(document: &str, name: &str) -> String {
    if name.contains('.') { name.to_owned() } else { format!("{document}.{name}") }
}

fn name_of<'d>(root: &Node<'d>) -> Option<&'d str> {
    root.as_table()?.get("document")?.as_table_like()?.get("name")?.as_str()
}

/// Finds every id before anything refers to one.
fn collect_ids(root: &Node<'_>, lates: &mut BTreeMap<String, &'static LateFamily>) {
    let (Some(table), Some(document)) = (root.as_table(), name_of(root)) else { return };
    for section in ["keys", "channels"] {
        let Some(keys) = table.get(section).and_then(|item| item.as_table_like()) else { continue };
        for (name, _) in keys.iter() {
            lates.entry(id_of(document, name)).or_insert_with(|| keep(LateFamily::default()));
        }
    }
}

fn document(root: &Node<'_>, lates: &BTreeMap<String, &'static LateFamily>) -> Option<Document> {
    let fields = root.fields()?;
    check_format(&fields);
    let heading = fields.need("document", "a table with a \"name\"")?.fields()?;
    let text = |name| heading.get(name).and_then(|node| node.text("a text")).map(keep_text);
    let programs = |name| heading.get(name).and_then(|node| node.texts("names of programs"));
    let name = heading.need("name", "a short name for this set of keys");
    let (team, prose, version) = (text("owner"), text("text"), text("version"));
    let team = team.unwrap_or_default();
    let defaults = Defaults {
        team,
        writers: programs("writers").map(words).unwrap_or_default(),
        readers: programs("readers").map(words).unwrap_or_default(),
    };
    heading.finish();
    let name = name.and_then(|node| document_name(&node));
    let mut scope = Scope {
        document: name.unwrap_or_default(),
        parts: BTreeMap::new(),
        schemas: BTreeMap::new(),
        families: lates.clone(),
    };
    for (name, node) in section(&fields, "parts") {
        scope.parts.extend(part(name, &node).map(|kind| (name.to_owned(), kind)));
    }
    for (name, node) in section(&fields, "schemas") {
        let shape = schema(&node, &scope.schemas);
        scope.schemas.extend(shape.map(|shape| (name.to_owned(), keep(shape))));
    }
    let (mut families, mut lines) = (Vec::new(), BTreeMap::new());
    for (kind, is_channel) in [("keys", false), ("channels", true)] {
        for (name, node) in section(&fields, kind) {
            let id = id_of(scope.document, name);
            if lines.insert(id.clone(), node.line()).is_some() {
                node.error(format!("\"{name}\" is both a key and a channel; rename one"));
            }
            families.extend(family(&id, &node, is_channel, &scope, &defaults));
        }
    }
    fields.finish();
    Some(Document {
        source: root.reader.source.to_owned(),
        name: name?,
        team,
        prose: prose.unwrap_or_default(),
        version: version.unwrap_or_default(),
        families,
        lines,
    })
}

fn check_format(fields: &Fields<'_>) {
    if let Some(node) = fields.get("format")
        && node.as_int() != Some(FORMAT)
    {
        node.error(format!("this program reads format {FORMAT}, not {}", node.noun()));
    }
}

fn document_name(node: &Node<'_>) -> Option<&'static str> {
    let name = node.text("a name")?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    if name.is_empty() || !name.bytes().all(plain) {
        node.error(format!("\"{name}\" is no name; use letters, digits, \"_\" and \"-\""));
        return None;
    }
    Some(keep_text(name))
}

fn section<'d>(fields: &Fields<'d>, name: &'static str) -> Vec<(&'d str, Node<'d>)> {
    let Some(node) = fields.get(name) else { return Vec::new() };
    node.fields().map(|fields| fields.all()).unwrap_or_default()
}
