//! A way through a TOML document that knows where it is: every complaint names line, field and what is allowed.

use std::cell::RefCell;
use std::ops::Range;

use toml_edit::{Item, TableLike, Value};

use super::FileError;

/// A file while it is being read, and what has been found wrong with it.
pub(super) struct Reader<'d> {
    pub(super) source: &'d str,
    pub(super) text: &'d str,
    pub(super) errors: RefCell<Vec<FileError>>,
}

/// One value of a document.
#[derive(Clone)]
pub(super) struct Node<'d> {
    pub(super) reader: &'d Reader<'d>,
    pub(super) path: String,
    place: Place<'d>,
    /// Where the key stands, for values that have no place of their own.
    key_span: Option<Range<usize>>,
}

#[derive(Clone, Copy)]
enum Place<'d> {
    Item(&'d Item),
    Value(&'d Value),
}

impl Reader<'_> {
    pub(super) fn error(
        &self,
        span: Option<Range<usize>>,
        field: &str,
        message: impl Into<String>,
    ) {
        let start = span.map_or(0, |span| span.start.min(self.text.len()));
        let before = &self.text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        self.errors.borrow_mut().push(FileError {
            source: self.source.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            field: field.to_owned(),
            message: message.into(),
        });
    }
}

impl<'d> Node<'d> {
    pub(super) fn root(reader: &'d Reader<'d>, item: &'d Item) -> Self {
        Self { reader, path: String::new(), place: Place::Item(item), key_span: None }
    }

    /// Reports that this value is not what it should be.
    pub(super) fn error(&self, message: impl Into<String>) {
        self.reader.error(self.span(), &self.path, message);
    }

    /// The line on which it stands, from 1.
    pub(super) fn line(&self) -> usize {
        let start = self.key_span.clone().or_else(|| self.span()).map_or(0, |span| span.start);
        self.reader.text[..start.min(self.reader.text.len())].matches('\n').count() + 1
    }

    fn span(&self) -> Option<Range<usize>> {
        let own = match self.place {
            Place::Item(item) => item.span(),
            Place::Value(value) => value.span(),
        };
        own.or_else(|| self.key_span.clone())
    }

    fn value(&self) -> Option<&'d Value> {
        match self.place {
            Place::Item(item) => item.as_value(),
            Place::Value(value) => Some(value),
        }
    }

    pub(super) fn as_str(&self) -> Option<&'d str> {
        self.value().and_then(Value::as_str)
    }

    pub(super) fn as_int(&self) -> Option<i64> {
        self.value().and_then(Value::as_integer)
    }

    pub(super) fn as_table(&self) -> Option<&'d dyn TableLike> {
        match self.place {
            Place::Item(item) => item.as_table_like(),
            Place::Value(value) => value.as_inline_table().map(|table| table as &dyn TableLike),
        }
    }

    pub(super) fn as_array(&self) -> Option<Vec<Self>> {
        let array = self.value()?.as_array()?;
        let nodes = array.iter().enumerate().map(|(i, value)| Self {
            reader: self.reader,
            path: format!("{}[{i}]", self.path),
            place: Place::Value(value),
            key_span: self.key_span.clone(),
        });
        Some(nodes.collect())
    }

    /// The text, or a complaint that says what is expected.
    pub(super) fn text(&self, expected: &str) -> Option<&'d str> {
        let text = self.as_str();
        if text.is_none() {
            self.error(format!("expected {expected}, found {}", self.noun()));
        }
        text
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        let found = self.value().and_then(Value::as_bool);
        if found.is_none() {
            self.error(format!("expected true or false, found {}", self.noun()));
        }
        found
    }

    /// A number that is not negative.
    pub(super) fn count(&self) -> Option<u64> {
        let found = self.as_int().and_then(|number| u64::try_from(number).ok());
        // Numbers beyond TOML's own are written in quotes.
        let found = found.or_else(|| self.as_str()?.parse().ok());
        if found.is_none() {
            self.error(format!("expected a whole number from 0, found {}", self.noun()));
        }
        found
    }

    /// Texts in an array.
    pub(super) fn texts(&self, of: &str) -> Option<Vec<&'d str>> {
        let Some(nodes) = self.as_array() else {
            self.error(format!("expected an array of {of}, found {}", self.noun()));
            return None;
        };
        nodes.iter().map(|node| node.text(of)).collect()
    }

    pub(super) fn fields(&self) -> Option<Fields<'d>> {
        let Some(table) = self.as_table() else {
            self.error(format!("expected a table, found {}", self.noun()));
            return None;
        };
        Some(Fields { node: self.clone(), table, asked: RefCell::default() })
    }

    /// What it is, for a message.
    pub(super) fn noun(&self) -> String {
        let Some(value) = self.value() else { return "a table".into() };
        match value {
            Value::String(text) => format!("\"{}\"", text.value()),
            Value::Integer(number) => number.value().to_string(),
            Value::Float(number) => number.value().to_string(),
            Value::Boolean(value) => value.value().to_string(),
            Value::Datetime(_) => "a date".into(),
            Value::Array(_) => "an array".into(),
            Value::InlineTable(_) => "a table".into(),
        }
    }
}

/// The fields of a table. Those that nobody asks for are unknown.
pub(super) struct Fields<'d> {
    pub(super) node: Node<'d>,
    table: &'d dyn TableLike,
    asked: RefCell<Vec<&'static str>>,
}

impl<'d> Fields<'d> {
    /// The field of this name.
    pub(super) fn get(&self, name: &'static str) -> Option<Node<'d>> {
        let mut asked = self.asked.borrow_mut();
        if !asked.contains(&name) {
            asked.push(name);
        }
        self.table.get(name).filter(|item| !item.is_none()).map(|item| self.child(name, item))
    }

    /// The field of this name, or a complaint.
    pub(super) fn need(&self, name: &'static str, what: &str) -> Option<Node<'d>> {
        let found = self.get(name);
        if found.is_none() {
            self.node.error(format!("\"{name}\" is missing; give {what}"));
        }
        found
    }

    /// Every field with its name; for tables whose names are the author's own.
    pub(super) fn all(&self) -> Vec<(&'d str, Node<'d>)> {
        self.table.iter().map(|(name, item)| (name, self.child(name, item))).collect()
    }

    /// Complains about fields that nobody asked for.
    pub(super) fn finish(self) {
        let asked = self.asked.borrow();
        for (name, node) in self.all() {
            if !asked.contains(&name) {
                let span = node.key_span.clone();
                let message = format!("unknown field; allowed here: {}", asked.join(", "));
                self.node.reader.error(span, &node.path, message);
            }
        }
    }

    fn child(&self, name: &str, item: &'d Item) -> Node<'d> {
        let quoted = name
            .contains(|letter: char| !(letter.is_ascii_alphanumeric() || "_-".contains(letter)));
        let shown = if quoted { format!("\"{name}\"") } else { name.to_owned() };
        let dot = if self.node.path.is_empty() { "" } else { "." };
        let key_span = self.table.get_key_value(name).and_then(|(key, _)| key.span());
        Node {
            reader: self.node.reader,
            path: format!("{}{dot}{shown}", self.node.path),
            place: Place::Item(item),
            key_span: key_span.or_else(|| self.node.key_span.clone()),
        }
    }
}
