//! `keys fmt`: one layout for all files; comments, order and values stay as they are.

use toml_edit::{DocumentMut, InlineTable, Item, Key, RawString, Table, Value};

use super::FileError;

/// The file with usual spacing: one blank line before each table, no trailing space, `a = b`.
///
/// # Errors
/// When the text is not TOML.
pub fn tidy(source: &str, text: &str) -> Result<String, FileError> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let before = &text[..start];
        FileError {
            source: source.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1,
            field: String::new(),
            message: error.message().trim_end().replace('\n', "; "),
        }
    })?;
    table(document.as_table_mut(), true);
    let trailing = comments(document.trailing(), false);
    let is_empty = document.as_table().is_empty();
    let gap = if trailing.is_empty() || is_empty { "" } else { "\n" };
    document.set_trailing(format!("{gap}{trailing}"));
    let out = document.to_string();
    Ok(format!("{}\n", out.trim_matches('\n')))
}

fn table(table: &mut Table, is_root: bool) {
    if !is_root {
        let before = table.decor().prefix().map(|text| comments(text, false)).unwrap_or_default();
        let after = table.decor().suffix().map(side_comment).unwrap_or_default();
        table.decor_mut().set_prefix(format!("\n{before}"));
        table.decor_mut().set_suffix(after);
    }
    for (mut key, item) in table.iter_mut() {
        let is_table = item.is_table() || item.is_array_of_tables();
        if !is_table {
            let prefix = key.leaf_decor().prefix().map(|text| comments(text, true));
            key.leaf_decor_mut().set_prefix(prefix.unwrap_or_default());
            key.leaf_decor_mut().set_suffix(" ");
            key.dotted_decor_mut().clear();
        }
        entry(item);
    }
}

fn entry(item: &mut Item) {
    match item {
        Item::Table(inner) => table(inner, false),
        Item::ArrayOfTables(tables) => tables.iter_mut().for_each(|inner| table(inner, false)),
        Item::Value(value) => {
            let after = value.decor().suffix().map(side_comment).unwrap_or_default();
            self::value(value);
            value.decor_mut().set_prefix(" ");
            value.decor_mut().set_suffix(after);
        }
        Item::None => {}
    }
}

/// Spaces inside a value. An array that somebody broke into lines stays broken.
fn value(value: &mut Value) {
    match value {
        Value::Array(array) => {
            let is_broken = array.trailing().as_str().is_some_and(|text| text.contains('\n'))
                || array.iter().any(|value| {
                    value
                        .decor()
                        .prefix()
                        .and_then(RawString::as_str)
                        .is_some_and(|text| text.contains('\n'))
                });
            if !is_broken {
                array.fmt();
                array.iter_mut().for_each(self::value);
                // `fmt` leaves the elements' own decor right; nested values may have changed theirs.
                array.fmt();
            }
        }
        Value::InlineTable(inline) => inline_table(inline),
        _ => {}
    }
}

fn inline_table(inline: &mut InlineTable) {
    let has_lines = inline.to_string().contains('\n');
    if has_lines {
        return;
    }
    inline.iter_mut().for_each(|(_, inner)| value(inner));
    inline.fmt();
}

/// The comments in what stands between two entries, each on its line; blank lines between groups are kept as one.
fn comments(text: &RawString, keep_gap: bool) -> String {
    let text = text.as_str().unwrap_or_default();
    let mut out = String::new();
    let mut blank = false;
    for line in text.lines().map(str::trim) {
        if line.is_empty() {
            blank = true;
            continue;
        }
        if blank && (keep_gap || !out.is_empty()) {
            out.push('\n');
        }
        blank = false;
        out.push_str(line);
        out.push('\n');
    }
    // A blank line in front of the entry itself.
    let ends_blank = text.trim_end_matches([' ', '\t']).ends_with("\n\n")
        || text.trim_matches([' ', '\t']) == "\n";
    if keep_gap && ends_blank && (out.is_empty() || text.contains("\n\n")) {
        out.push('\n');
    }
    out
}

fn side_comment(text: &RawString) -> String {
    match text.as_str().unwrap_or_default().trim() {
        "" => String::new(),
        comment => format!(" {comment}"),
    }
}

/// A key in the form in which files write it: bare where that is possible.
pub(super) fn key(text: &str) -> String {
    Key::new(text).display_repr().into_owned()
}
