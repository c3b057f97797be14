//! What the printers of several languages share.

use super::automaton::{self, State};
use super::model::{FamilyDef, Json, Model, PartDef, PieceDef};
use crate::part::Shape;
use crate::pattern::Pattern;

/// A text in quotes. JSON's strings are also those of TypeScript, Python and Go.
pub(super) fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// Texts in quotes, with commas between them.
pub(super) fn quoted_all(texts: &[&str]) -> String {
    texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ")
}

/// The states of a pattern, with commas between them. `edge` prints two bytes and the next state, `state` whether a text
/// may end there and its edges.
pub(super) fn states(
    pattern: &Pattern,
    edge: impl Fn(&(u8, u8, usize)) -> String,
    state: impl Fn(bool, &str) -> String,
) -> String {
    let print = |State { end, edges }: State| {
        state(end, &edges.iter().map(&edge).collect::<Vec<_>>().join(", "))
    };
    automaton::table(pattern).into_iter().map(print).collect::<Vec<_>>().join(", ")
}

/// The name of the family behind that of its key type.
pub(super) fn strip_key(key: &str) -> String {
    key.strip_suffix("Key").unwrap_or(key).to_owned()
}

/// The glob that all names of a family match.
pub(super) fn glob(def: &FamilyDef, model: &Model) -> String {
    let pieces = def.pieces.iter().map(|piece| match piece {
        PieceDef::Literal(text) => crate::template::glob_of(text),
        PieceDef::Part(part) if model.parts[*part].is_number() => "[0-9]*".into(),
        PieceDef::Part(_) => "*".into(),
    });
    pieces.collect()
}

/// The shape of JSON as data, in a notation that is the same in TypeScript, Python and JSON itself.
pub(super) fn schema(model: &Model, json: &Json) -> String {
    match json {
        Json::Any => "\"any\"".into(),
        Json::Bool => "\"boolean\"".into(),
        Json::Number => "\"number\"".into(),
        Json::Integer => "\"integer\"".into(),
        Json::String => "\"string\"".into(),
        Json::Words(name) => format!("{{ \"words\": [{}] }}", quoted_all(&model.words_of(name))),
        Json::Nullable(inner) => format!("{{ \"nullable\": {} }}", schema(model, inner)),
        Json::Array(inner) => format!("{{ \"array\": {} }}", schema(model, inner)),
        Json::LuaArray(inner) => format!("{{ \"luaArray\": {} }}", schema(model, inner)),
        Json::Map(inner) => format!("{{ \"map\": {} }}", schema(model, inner)),
        Json::Object(index) => {
            let members = &model.objects[*index].members;
            let shapes = members
                .iter()
                .map(|member| format!("{}: {}", quoted(member.name), schema(model, &member.form)));
            let shapes = shapes.collect::<Vec<_>>().join(", ");
            let optional: Vec<&str> =
                members.iter().filter(|member| member.optional).map(|member| member.name).collect();
            format!("{{ \"object\": {{ {shapes} }}, \"optional\": [{}] }}", quoted_all(&optional))
        }
    }
}

/// How each language says what a part is.
impl PartDef {
    /// One of three, by what the part is; the first gets the type of its words.
    pub(super) fn choose(
        &self,
        words: impl FnOnce(&str) -> String,
        number: impl Into<String>,
        text: impl Into<String>,
    ) -> String {
        match (&self.words, self.is_number()) {
            (Some(name), _) => words(name),
            (None, true) => number.into(),
            (None, false) => text.into(),
        }
    }

    /// Whether the part may hold colons.
    pub(super) fn has_colons(&self) -> bool {
        matches!(self.kind.shape, Shape::Colons { .. } | Shape::Rest)
    }

    /// What it is called in messages, in quotes.
    pub(super) fn noun(&self) -> String {
        quoted(&self.kind.noun().to_string())
    }

    /// What is expected of it in messages, in quotes.
    pub(super) fn expected(&self) -> String {
        quoted(&self.kind.shape.to_string())
    }
}
