//! The fields of forms, each with one sentence about it beside it.

/// A field of a form.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) value: String,
    /// What holds while nothing is given.
    pub(super) placeholder: String,
    /// What the field does.
    pub(super) hint: &'static str,
    pub(super) kind: FieldKind,
}

/// What can be given in a field.
#[derive(Debug)]
pub(super) enum FieldKind {
    Text,
    /// A number; the least and the greatest that it can be.
    Number {
        min: &'static str,
        max: &'static str,
    },
    /// Several lines.
    Lines,
    /// One of these values, each with a name for people.
    Choice(&'static [(&'static str, &'static str)]),
}

/// The kinds of backoff, and none.
pub(super) const BACKOFFS: &[(&str, &str)] = &[
    ("", "as it is"),
    ("fixed", "fixed: the same each time"),
    ("linear", "linear: one more each time"),
    ("exponential", "exponential: twice as long each time"),
];

impl Field {
    /// A text.
    pub(super) fn text(name: &'static str, label: &'static str, value: &str) -> Field {
        let (placeholder, value) = (String::new(), value.to_owned());
        Field { name, label, value, placeholder, hint: "", kind: FieldKind::Text }
    }

    /// A number of at least `min`; a whole one if that is.
    pub(super) fn number(
        name: &'static str,
        label: &'static str,
        value: &str,
        min: &'static str,
    ) -> Field {
        Field { kind: FieldKind::Number { min, max: "" }, ..Field::text(name, label, value) }
    }

    /// Several lines of text.
    pub(super) fn lines(name: &'static str, label: &'static str, value: &str) -> Field {
        Field { kind: FieldKind::Lines, ..Field::text(name, label, value) }
    }

    /// One of these values.
    pub(super) fn choice(
        name: &'static str,
        label: &'static str,
        value: &str,
        choices: &'static [(&'static str, &'static str)],
    ) -> Field {
        Field { kind: FieldKind::Choice(choices), ..Field::text(name, label, value) }
    }

    /// With a greatest value.
    pub(super) fn at_most(mut self, most: &'static str) -> Field {
        if let FieldKind::Number { max, .. } = &mut self.kind {
            *max = most;
        }
        self
    }

    /// With what holds while nothing is given.
    pub(super) fn or(mut self, placeholder: impl Into<String>) -> Field {
        self.placeholder = placeholder.into();
        self
    }

    /// With what it does.
    pub(super) fn hint(mut self, hint: &'static str) -> Field {
        self.hint = hint;
        self
    }

    /// Whether it takes a line of its own.
    pub(super) fn is_wide(&self) -> bool {
        matches!(self.kind, FieldKind::Lines)
    }

    /// Which numbers a browser takes: fractions unless the least is whole.
    pub(super) fn step(&self) -> &'static str {
        match self.kind {
            FieldKind::Number { min, .. } if !min.is_empty() && !min.contains('.') => "1",
            _ => "any",
        }
    }
}
