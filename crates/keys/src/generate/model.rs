//! What there is to generate: declarations with references resolved and types named, the same for all languages.

use super::names::{Names, pascal, upper};
use crate::encoding::Encoding;
use crate::family::{Content, Family, Field, Ttl, Value};
use crate::json::Schema;
use crate::key::Layout;
use crate::part::{Escape, Kind, Shape};
use crate::template::{Piece, captures};

/// All that is generated. Types have names in Pascal case, which all languages use for types.
pub(super) struct Model {
    pub(super) name: String,
    pub(super) parts: Vec<PartDef>,
    pub(super) words: Vec<WordsDef>,
    /// Shapes of JSON objects, inner ones first.
    pub(super) objects: Vec<ObjectDef>,
    pub(super) families: Vec<FamilyDef>,
}

/// A kind of part.
pub(super) struct PartDef {
    /// In upper case.
    pub(super) name: String,
    pub(super) kind: Kind,
    /// The type of its values, if it has a few only.
    pub(super) words: Option<String>,
}

impl PartDef {
    pub(super) fn is_number(&self) -> bool {
        self.kind.is_number()
    }

    pub(super) fn is_percent(&self) -> bool {
        self.kind.escape == Escape::Percent
    }

    /// What the text may not hold.
    pub(super) fn without(&self) -> &'static str {
        match self.kind.escape {
            Escape::Percent => "",
            Escape::Raw { without } => without,
        }
    }
}

/// A few words that a value can be.
pub(super) struct WordsDef {
    pub(super) name: String,
    /// A name in Pascal case for each word.
    pub(super) words: Vec<(String, &'static str)>,
}

/// A JSON object.
pub(super) struct ObjectDef {
    pub(super) name: String,
    pub(super) members: Vec<Member>,
}

pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) form: Json,
    pub(super) optional: bool,
}

/// What JSON looks like.
pub(super) enum Json {
    Any,
    Bool,
    Number,
    Integer,
    String,
    Words(String),
    Nullable(Box<Json>),
    Array(Box<Json>),
    /// `{}` stands for an empty one.
    LuaArray(Box<Json>),
    /// An index into [`Model::objects`].
    Object(usize),
    Map(Box<Json>),
}

/// How a value is written.
pub(super) enum Form {
    Text,
    Bytes,
    Integer {
        min: i128,
        max: i128,
    },
    Float,
    Decimal,
    Seconds,
    Iso,
    Bool(&'static str, &'static str),
    Words(String),
    Like(&'static [&'static str]),
    Json(Json),
    List(Box<Form>, usize),
    Tuple(Vec<(&'static str, Form)>),
    /// An index into [`Model::parts`].
    Id(usize),
    /// The type of the named key.
    KeyName(String),
    AnyOf(Vec<Form>),
    OrEmpty(Box<Form>),
}

/// A family of keys or channels.
pub(super) struct FamilyDef {
    pub(super) family: &'static Family,
    /// The type of its names.
    pub(super) key: String,
    pub(super) template: String,
    pub(super) pieces: Vec<PieceDef>,
    pub(super) slots: Vec<SlotDef>,
    pub(super) content: ContentDef,
    pub(super) examples: Vec<Example>,
}

impl FamilyDef {
    /// The longest time to live, in seconds.
    pub(super) fn ttl(&self) -> Option<u64> {
        match self.family.ttl {
            Ttl::Within(seconds) => Some(seconds),
            _ => None,
        }
    }

    /// What the family is for and what it is, as lines of a comment.
    pub(super) fn comment(&self) -> Vec<String> {
        let mut lines = comment(&self.family.text());
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(format!("{} `{}`", self.family.content.noun(), self.template));
        lines
    }
}

pub(super) enum PieceDef {
    Literal(String),
    /// An index into [`Model::parts`].
    Part(usize),
}

pub(super) struct SlotDef {
    pub(super) name: &'static str,
    /// An index into [`Model::parts`].
    pub(super) part: usize,
}

pub(super) enum ContentDef {
    /// The key has named fields, which are a type.
    Fields { name: String, fields: Vec<FieldDef> },
    /// Values, each with what it is to the key: `member`, `score`.
    Values(Vec<(&'static str, Form)>),
}

pub(super) struct FieldDef {
    pub(super) name: &'static str,
    pub(super) form: Form,
    pub(super) optional: bool,
    pub(super) prose: &'static str,
}

/// A name and the parts in it.
pub(super) struct Example {
    pub(super) name: String,
    pub(super) parts: Vec<String>,
}

/// Prose as lines of a comment that fit into 100 columns.
pub(super) fn comment(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.split("\n\n").filter(|text| !text.trim().is_empty()) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && line.len() + word.len() > 90 {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

/// Texts that go wrong where somebody forgot to escape.
const HOSTILE: &str = ":{}%*?[]\\^ \"'`$ü🐝\n";

impl Model {
    /// The words that a type of this name has.
    pub(super) fn words_of(&self, name: &str) -> Vec<&'static str> {
        let def = self.words.iter().find(|words| words.name == name);
        def.into_iter().flat_map(|def| def.words.iter().map(|(_, word)| *word)).collect()
    }

    pub(super) fn new(name: &str, families: &[&'static Family], layout: Layout) -> Self {
        let mut sorted = families.to_vec();
        sorted.sort_by_key(|family| family.id());
        let owners_differ = sorted.windows(2).any(|pair| pair[0].owner != pair[1].owner);
        let named = sorted.iter().map(|family| {
            (*family, if owners_differ { family.id() } else { family.name.to_owned() })
        });
        let mut maker = Maker { types: Names::without(TAKEN), ..Maker::default() };
        // Names of keys first: values refer to them.
        let named: Vec<(&'static Family, String, String)> = named
            .map(|(family, name)| {
                let key = maker.types.give(&format!("{}Key", pascal(&name)));
                (family, name, key)
            })
            .collect();
        maker.keys = named.iter().map(|(family, _, key)| (family.id(), key.clone())).collect();
        let families = named
            .into_iter()
            .map(|(family, name, key)| maker.family(family, &name, key, layout))
            .collect();
        let Maker { parts, words, objects, .. } = maker;
        Self { name: name.to_owned(), parts, words, objects, families }
    }
}

/// What the runtimes call their own.
const TAKEN: &[&str] = &[
    "KeyError",
    "KeyValueError",
    "Codec",
    "Raw",
    "Part",
    "Piece",
    "Shape",
    "Json",
    "Fields",
    "Word",
    "Words",
    "Text",
    "Bytes",
    "Int",
    "Float",
    "Decimal",
    "Seconds",
    "Iso",
    "Flag",
    "Like",
    "Id",
    "IdNumber",
    "IdWord",
    "KeyName",
    "ListOf",
    "AnyOf",
    "OrEmpty",
    "Check",
    "State",
    "JsonValue",
    "LuaArray",
    "Record",
    "Readonly",
    "Partial",
    "Error",
    "Array",
    "Option",
    "Some",
    "None",
    "Result",
    "Ok",
    "Err",
    "String",
    "Vec",
    "Box",
    "Self",
    "Any",
    "Literal",
    "TypedDict",
    "NotRequired",
    "Enum",
    "Mapping",
    "Generic",
    "TypeVar",
    "Callable",
    "Sequence",
    "True",
    "False",
    "Uint8Array",
    "TextEncoder",
    "TextDecoder",
    "Number",
    "BigInt",
    "Boolean",
    "Object",
    "Map",
    "Set",
    "Symbol",
    "Iterable",
];

#[derive(Default)]
struct Maker {
    types: Names,
    part_names: Names,
    /// The type of each family's names, by id.
    keys: Vec<(String, String)>,
    parts: Vec<PartDef>,
    words: Vec<WordsDef>,
    objects: Vec<ObjectDef>,
}

impl Maker {
    fn family(
        &mut self,
        family: &'static Family,
        name: &str,
        key: String,
        layout: Layout,
    ) -> FamilyDef {
        let (mut pieces, mut slots) = (Vec::new(), Vec::new());
        for piece in family.pieces(layout) {
            pieces.push(match piece {
                Piece::Literal(text) => PieceDef::Literal(text),
                Piece::Part(slot) => {
                    let part = self.part(&slot.kind);
                    slots.push(SlotDef { name: slot.name, part });
                    PieceDef::Part(part)
                }
            });
        }
        let content = self.content(family, name);
        let examples = examples(family, layout);
        let template = family.template_in(layout).into_owned();
        FamilyDef { family, key, template, pieces, slots, content, examples }
    }

    fn content(&mut self, family: &Family, name: &str) -> ContentDef {
        let mut values = |roles: &[(&'static str, &Value)]| {
            let forms = roles.iter().map(|(role, value)| {
                (*role, self.form(&value.encoding, &format!("{name}_{role}")))
            });
            ContentDef::Values(forms.collect())
        };
        match &family.content {
            Content::String(value) => values(&[("value", value)]),
            Content::List(item) => values(&[("item", item)]),
            Content::Set(member) => values(&[("member", member)]),
            Content::SortedSet { member, score } => values(&[("member", member), ("score", score)]),
            Content::Map { field, value } => values(&[("field", field), ("value", value)]),
            Content::Channel(message) => values(&[("message", message)]),
            Content::Bitmap(_) | Content::HyperLogLog(_) => values(&[]),
            Content::Hash(fields) | Content::Stream(fields) => {
                let type_name = self.types.give(&pascal(name));
                let fields = fields.iter().map(|field| self.field(field, name)).collect();
                ContentDef::Fields { name: type_name, fields }
            }
        }
    }

    fn field(&mut self, field: &Field, family: &str) -> FieldDef {
        FieldDef {
            name: field.name,
            form: self.form(&field.encoding, &format!("{family}_{}", field.name)),
            optional: field.optional(),
            prose: field.prose,
        }
    }

    /// `name` is what a type for the value would be called.
    fn form(&mut self, encoding: &Encoding, name: &str) -> Form {
        match encoding {
            Encoding::Text => Form::Text,
            Encoding::Bytes | Encoding::MsgPack => Form::Bytes,
            Encoding::Integer { min, max } => Form::Integer { min: *min, max: *max },
            Encoding::Float => Form::Float,
            Encoding::Decimal => Form::Decimal,
            Encoding::UnixSeconds => Form::Seconds,
            Encoding::UnixMs => Form::Integer { min: 0, max: i64::MAX.into() },
            Encoding::IsoTime => Form::Iso,
            Encoding::Bool(no, yes) => Form::Bool(no, yes),
            Encoding::Words(words) => Form::Words(self.words(name, words)),
            Encoding::Like(forms) => Form::Like(forms),
            Encoding::Json(schema) => Form::Json(self.json(schema, name)),
            Encoding::List(item, count) => Form::List(Box::new(self.form(item, name)), *count),
            Encoding::Tuple(fields) => {
                let forms = fields.iter().map(|field| {
                    (field.name, self.form(&field.encoding, &format!("{name}_{}", field.name)))
                });
                Form::Tuple(forms.collect())
            }
            Encoding::Id(kind) => Form::Id(self.part(kind)),
            Encoding::Refers(referent) => match referent.family().parts.last() {
                Some(slot) => Form::Id(self.part(&slot.kind)),
                None => Form::Text,
            },
            Encoding::KeyOf(referent) => {
                let id = referent.family().id();
                let key = self.keys.iter().find(|(known, _)| *known == id);
                key.map_or(Form::Text, |(_, key)| Form::KeyName(key.clone()))
            }
            Encoding::AnyOf(forms) => {
                Form::AnyOf(forms.iter().map(|form| self.form(form, name)).collect())
            }
            Encoding::OrEmpty(inner) => Form::OrEmpty(Box::new(self.form(inner, name))),
            Encoding::Optional(inner) | Encoding::Secret(inner) => self.form(inner, name),
        }
    }

    fn json(&mut self, schema: &Schema, name: &str) -> Json {
        match schema {
            Schema::Any => Json::Any,
            Schema::Bool => Json::Bool,
            Schema::Number => Json::Number,
            Schema::Integer => Json::Integer,
            Schema::String => Json::String,
            Schema::Words(words) => Json::Words(self.words(name, words)),
            Schema::Nullable(inner) => Json::Nullable(Box::new(self.json(inner, name))),
            Schema::Maybe(inner) => self.json(inner, name),
            Schema::Array(item) => Json::Array(Box::new(self.json(item, name))),
            Schema::LuaArray(item) => Json::LuaArray(Box::new(self.json(item, name))),
            Schema::Map(inner) => Json::Map(Box::new(self.json(inner, name))),
            Schema::Object(members) => {
                let type_name = self.types.give(&pascal(name));
                let members = members.iter().map(|(member, schema)| Member {
                    name: member,
                    form: self.json(schema, &format!("{name}_{member}")),
                    optional: matches!(schema, Schema::Maybe(_)),
                });
                let members = members.collect();
                self.objects.push(ObjectDef { name: type_name, members });
                Json::Object(self.objects.len() - 1)
            }
        }
    }

    /// The part of this kind, which many names can share.
    fn part(&mut self, kind: &Kind) -> usize {
        let same = |def: &PartDef| format!("{:?}", def.kind) == format!("{kind:?}");
        if let Some(found) = self.parts.iter().position(same) {
            return found;
        }
        let words = match kind.shape {
            Shape::Words(words) => Some(self.words(kind.name, words)),
            _ => None,
        };
        let name = self.part_names.give(&upper(kind.name));
        self.parts.push(PartDef { name, kind: *kind, words });
        self.parts.len() - 1
    }

    fn words(&mut self, name: &str, words: &[&'static str]) -> String {
        let name = self.types.give(&pascal(name));
        let mut given = Names::default();
        let words = words.iter().map(|word| (given.give(&pascal(word)), *word)).collect();
        self.words.push(WordsDef { name: name.clone(), words });
        name
    }
}

/// The declared example, and the same with hostile parts where any text can stand.
fn examples(family: &'static Family, layout: Layout) -> Vec<Example> {
    let raw = family.example.as_bytes();
    let pieces = [Layout::Documented, Layout::Cluster].map(|layout| family.pieces(layout));
    let Some(found) = pieces.iter().find_map(|pieces| Some((pieces, captures(pieces, raw)?)))
    else {
        return Vec::new();
    };
    let (pieces, captures) = found;
    let slots = pieces.iter().filter_map(|piece| match piece {
        Piece::Part(slot) => Some(*slot),
        Piece::Literal(_) => None,
    });
    // A shard that no documented name shows is not in the example.
    if !family.outside.is_empty() {
        return Vec::new();
    }
    let slots: Vec<_> = slots.collect();
    let texts: Vec<String> = slots
        .iter()
        .zip(captures.ranges())
        .filter_map(|(slot, range)| Some(slot.kind.decode(&raw[range.clone()]).ok()?.into_owned()))
        .collect();
    let hostile: Vec<String> = slots
        .iter()
        .zip(&texts)
        .map(|(slot, text)| hostile(&slot.kind).unwrap_or_else(|| text.clone()))
        .collect();
    let mut both = vec![texts];
    if both[0] != hostile {
        both.push(hostile);
    }
    let examples = both.into_iter().filter_map(|parts| {
        let texts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let name = family.render(layout, None, &texts).ok()?;
        // Raw text next to raw text can be read in two ways.
        let again = captures_of(family, layout, &name)?;
        (again == parts).then_some(Example { name, parts })
    });
    examples.collect()
}

fn captures_of(family: &'static Family, layout: Layout, name: &str) -> Option<Vec<String>> {
    let pieces = family.pieces(layout);
    let found = captures(&pieces, name.as_bytes())?;
    let slots = pieces.iter().filter_map(|piece| match piece {
        Piece::Part(slot) => Some(slot),
        Piece::Literal(_) => None,
    });
    let texts = slots
        .zip(found.ranges())
        .map(|(slot, range)| Some(slot.kind.decode(&name.as_bytes()[range.clone()]).ok()?.into()));
    texts.collect()
}

/// A text that is hard to keep, if the part can be any.
fn hostile(kind: &Kind) -> Option<String> {
    let without = match kind.escape {
        Escape::Percent => "",
        Escape::Raw { without } => without,
    };
    let text: String = HOSTILE.chars().filter(|letter| !without.contains(*letter)).collect();
    let free = matches!(kind.shape, Shape::Text { .. } | Shape::Rest);
    (free && kind.check(&text).is_ok()).then_some(text)
}
