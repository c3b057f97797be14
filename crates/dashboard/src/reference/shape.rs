//! What values look like: schemas as words, as tables of fields, and as examples.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use super::text;

/// How deep examples go: a shape may hold itself.
const DEPTH_MAX: usize = 6;

/// All shapes of the description, by name.
pub(super) struct Shapes<'a> {
    schemas: Option<&'a Map<String, Json>>,
}

/// A shape that has a name.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) name: String,
    pub(super) about: String,
    /// What it is, when it has no fields.
    pub(super) kind: Option<Kind>,
    pub(super) fields: Vec<Field>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) is_required: bool,
    pub(super) about: String,
}

/// Words for what a value is. Some are names of shapes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) is_shape: bool,
}

impl Kind {
    /// What a schema describes.
    pub(super) fn of(schema: &Json) -> Kind {
        if let Some(name) = reference(schema) {
            return Kind { pieces: vec![Piece { text: name.to_owned(), is_shape: true }] };
        }
        if let Some(words) = schema["enum"].as_array() {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            return Kind::plain(&words.join(", "));
        }
        for (several, word) in [("oneOf", " or "), ("anyOf", " or "), ("allOf", " with ")] {
            if let Some(parts) = schema[several].as_array() {
                return Kind::joined(parts.iter().map(Kind::of), word);
            }
        }
        match &schema["type"] {
            Json::String(word) => Kind::of_type(word, schema),
            Json::Array(words) => {
                let words = words.iter().filter_map(Json::as_str);
                Kind::joined(words.map(|word| Kind::of_type(word, schema)), " or ")
            }
            _ => Kind::plain("any JSON"),
        }
    }

    fn of_type(word: &str, schema: &Json) -> Kind {
        match word {
            "string" => Kind::plain("text"),
            "boolean" => Kind::plain("true or false"),
            "array" => Kind::of(&schema["items"]).among("list of "),
            "object" => match (&schema["additionalProperties"], schema["properties"].as_object()) {
                (_, Some(fields)) => {
                    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
                    Kind::plain(&format!("object of {}", names.join(", ")))
                }
                (values @ Json::Object(_), None) => Kind::of(values).among("object, each "),
                _ => Kind::plain("object"),
            },
            other => Kind::plain(other),
        }
    }

    fn plain(words: &str) -> Kind {
        Kind { pieces: vec![Piece { text: words.to_owned(), is_shape: false }] }
    }

    fn joined(kinds: impl Iterator<Item = Kind>, word: &str) -> Kind {
        let parted = kinds.map(|kind| kind.pieces);
        let parted = parted.reduce(|mut before, after| {
            before.extend(Kind::plain(word).pieces);
            before.extend(after);
            before
        });
        Kind { pieces: parted.unwrap_or_default() }
    }

    /// The same behind some words.
    pub(super) fn among(self, words: &str) -> Kind {
        Kind::joined([Kind::plain(words), self].into_iter(), "")
    }

    /// The names of shapes in it.
    pub(super) fn shapes(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter(|piece| piece.is_shape).map(|piece| piece.text.as_str())
    }
}

impl Shape {
    /// What its fields are, or itself.
    pub(super) fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.kind.iter().chain(self.fields.iter().map(|field| &field.kind))
    }
}

impl<'a> Shapes<'a> {
    pub(super) fn of(schemas: &'a Json) -> Shapes<'a> {
        Shapes { schemas: schemas.as_object() }
    }

    /// Every shape that these speak of, and those that these shapes speak of, by name.
    pub(super) fn reachable<'k>(&self, kinds: impl Iterator<Item = &'k Kind>) -> Vec<Shape> {
        let mut names: BTreeSet<String> = BTreeSet::new();
        let mut shapes: Vec<Shape> = Vec::new();
        let mut open: Vec<String> = kinds.flat_map(Kind::shapes).map(str::to_owned).collect();
        while let Some(name) = open.pop() {
            if let Some(schema) = self.get(&name)
                && names.insert(name.clone())
            {
                let shape = self.shape(&name, schema);
                open.extend(shape.kinds().flat_map(Kind::shapes).map(str::to_owned));
                shapes.push(shape);
            }
        }
        shapes.sort_by(|a, b| a.name.cmp(&b.name));
        shapes
    }

    fn get(&self, name: &str) -> Option<&'a Json> {
        self.schemas?.get(name)
    }

    fn shape(&self, name: &str, schema: &Json) -> Shape {
        let fields = self.fields(schema, DEPTH_MAX);
        Shape {
            name: name.to_owned(),
            about: text(&schema["description"]),
            kind: fields.is_empty().then(|| Kind::of(schema)),
            fields,
        }
    }

    /// The fields of an object, those of all its parts if it is put together.
    fn fields(&self, schema: &Json, depth: usize) -> Vec<Field> {
        if depth == 0 {
            return Vec::new();
        }
        if let Some(shape) = reference(schema).and_then(|name| self.get(name)) {
            return self.fields(shape, depth - 1);
        }
        let parts = schema["allOf"].as_array().into_iter().flatten();
        let mut fields: Vec<Field> = parts.flat_map(|part| self.fields(part, depth - 1)).collect();
        let own = schema["properties"].as_object().into_iter().flatten();
        fields.extend(own.map(|(name, property)| Field {
            name: name.clone(),
            kind: Kind::of(property),
            is_required: is_required(schema, name),
            about: text(&property["description"]),
        }));
        fields
    }

    /// A value that a request could carry: what is required, and what the description has an example for.
    pub(super) fn example(&self, schema: &Json) -> Json {
        self.example_of("text", schema, DEPTH_MAX)
    }

    fn example_of(&self, name: &str, schema: &Json, depth: usize) -> Json {
        let told = [&schema["example"], &schema["default"], &schema["enum"][0]];
        if let Some(told) = told.into_iter().find(|told| !told.is_null()) {
            return told.clone();
        }
        if depth == 0 {
            return Json::Null;
        }
        if let Some(shape) = reference(schema).and_then(|name| self.get(name)) {
            return self.example_of(name, shape, depth - 1);
        }
        if let Some(first) = ["oneOf", "anyOf"].iter().find_map(|several| schema[*several].get(0)) {
            return self.example_of(name, first, depth - 1);
        }
        if let Some(parts) = schema["allOf"].as_array() {
            let parts = parts.iter().map(|part| self.example_of(name, part, depth - 1));
            let parts = parts.filter_map(|part| part.as_object().cloned());
            return Json::Object(parts.flatten().collect());
        }
        match schema["type"].as_str().or(schema["type"][0].as_str()) {
            Some("string") => Json::String(name.to_uppercase()),
            Some("integer" | "number") => schema["minimum"].as_u64().unwrap_or(0).max(1).into(),
            Some("boolean") => true.into(),
            Some("array") if schema["items"].as_object().is_some_and(Map::is_empty) => {
                Json::Array(Vec::new())
            }
            Some("array") => vec![self.example_of(name, &schema["items"], depth - 1)].into(),
            Some("object") => self.example_of_fields(schema, depth - 1),
            _ => Json::Null,
        }
    }

    fn example_of_fields(&self, schema: &Json, depth: usize) -> Json {
        let fields = schema["properties"].as_object().into_iter().flatten();
        let shown = fields.filter(|(name, property)| {
            is_required(schema, name) || property.get("example").is_some()
        });
        let shown =
            shown.map(|(name, property)| (name.clone(), self.example_of(name, property, depth)));
        Json::Object(shown.collect())
    }
}

/// The name of the shape that a schema stands for.
fn reference(schema: &Json) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

fn is_required(schema: &Json, name: &str) -> bool {
    schema["required"].as_array().into_iter().flatten().any(|required| required == name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(schema: Json) -> String {
        Kind::of(&schema).pieces.into_iter().map(|piece| piece.text).collect()
    }

    #[test]
    fn schemas_become_words() {
        for (schema, told) in [
            (json!({"type": "string"}), "text"),
            (json!({"type": ["integer", "null"]}), "integer or null"),
            (json!({"enum": ["a", "b"], "type": "string"}), "\"a\", \"b\""),
            (json!({"type": "array", "items": {"$ref": "#/x/Job"}}), "list of Job"),
            (json!({"oneOf": [{"$ref": "#/x/A"}, {"type": "null"}]}), "A or null"),
            (
                json!({"type": "object", "additionalProperties": {"type": "number"}}),
                "object, each number",
            ),
            (json!({"type": "object", "properties": {"a": {}, "b": {}}}), "object of a, b"),
            (json!({}), "any JSON"),
        ] {
            assert_eq!(words(schema), told);
        }
    }

    #[test]
    fn example_has_what_is_required_or_told_and_ends_although_shapes_hold_themselves() {
        let schemas = json!({
            "Job": {"type": "object", "required": ["queue", "next"], "properties": {
                "queue": {"type": "string"},
                "n": {"type": "integer"},
                "data": {"example": ["x"]},
                "next": {"$ref": "#/components/schemas/Job"},
            }},
        });
        let shapes = Shapes::of(&schemas);
        let example = shapes.example(&json!({"$ref": "#/components/schemas/Job"}));
        assert_eq!((&example["queue"], &example["data"]), (&json!("QUEUE"), &json!(["x"])));
        assert!(example.get("n").is_none());
        assert_eq!(example["next"]["queue"], "QUEUE");
    }

    #[test]
    fn shape_that_is_put_together_has_the_fields_of_all_its_parts() {
        let schemas = json!({
            "A": {"type": "object", "properties": {"a": {"$ref": "#/x/C"}}},
            "B": {"allOf": [{"$ref": "#/x/A"}, {"type": "object", "properties": {"b": {}}}]},
            "C": {"type": "string"},
        });
        let shapes = Shapes::of(&schemas);
        let kind = Kind::of(&json!({"$ref": "#/x/B"}));
        let found = shapes.reachable([&kind].into_iter());
        let [both, c] = &found[..] else { panic!("{found:?}") };
        let fields: Vec<&str> = both.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!((both.name.as_str(), fields), ("B", vec!["a", "b"]));
        assert_eq!((c.name.as_str(), c.fields.len()), ("C", 0));
    }
}
