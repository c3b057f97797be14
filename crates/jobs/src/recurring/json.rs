//! JSON values that keep the order of their members, because a recurring job's digest depends on it.

mod python;

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, SeqAccess, Visitor},
    ser::{SerializeMap as _, SerializeSeq as _},
};

/// A JSON value whose objects keep their members in the order in which they were given.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// Any other number, which is finite.
    Float(f64),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object.
    Object(Members),
}

/// The members of an object, in order and each name once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Members(Vec<(String, Json)>);

impl Members {
    /// Adds a member, or gives a new value to the one of that name.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Json>) {
        let (name, value) = (name.into(), value.into());
        match self.0.iter_mut().find(|(other, _)| *other == name) {
            Some(member) => member.1 = value,
            None => self.0.push((name, value)),
        }
    }

    /// The value of the member of that name.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.iter().find(|(other, _)| *other == name).map(|(_, value)| value)
    }

    /// All members in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Json)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Json {
        use serde_json::Value;
        match value {
            Value::Null => Json::Null,
            Value::Bool(yes) => Json::Bool(yes),
            Value::Number(number) => match number.as_i128() {
                Some(whole) => Json::Int(whole),
                None => Json::Float(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => Json::Text(text),
            Value::Array(items) => Json::List(items.into_iter().map(Json::from).collect()),
            Value::Object(map) => Json::Object(Members(
                map.into_iter().map(|(name, value)| (name, Json::from(value))).collect(),
            )),
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::Text(text.to_owned())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(yes) => serializer.serialize_bool(*yes),
            Json::Int(number) => serializer.serialize_i128(*number),
            Json::Float(number) => serializer.serialize_f64(*number),
            Json::Text(text) => serializer.serialize_str(text),
            Json::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(item))?;
                list.end()
            }
            Json::Object(members) => members.serialize(serializer),
        }
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        self.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

/// Takes an object, or a list of pairs for formats that do not keep the order of their tables.
impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members, D::Error> {
        deserializer.deserialize_any(MembersVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, yes: bool) -> Result<Json, E> {
        Ok(Json::Bool(yes))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
        Ok(Json::Int(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(Json::Int(number.into()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Json, E> {
        if number.is_finite() {
            Ok(Json::Float(number))
        } else {
            Err(E::custom(format!("\"{number}\" cannot be written as JSON; use a finite number")))
        }
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Json, A::Error> {
        MembersVisitor.visit_map(map).map(Json::Object)
    }
}

struct MembersVisitor;

impl MembersVisitor {
    fn add<E: de::Error>(members: &mut Members, name: String, value: Json) -> Result<(), E> {
        if members.get(&name).is_some() {
            return Err(E::custom(format!("\"{name}\" is given twice; keep one of them")));
        }
        // How the toml crate shows a date to those who did not ask for one.
        if name.starts_with("$__toml_private") {
            return Err(E::custom("a date is no JSON value; write it between quotes"));
        }
        members.0.push((name, value));
        Ok(())
    }
}

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("names and values, as a table or as a list of [name, value]")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members = Members::default();
        while let Some((name, value)) = map.next_entry()? {
            Self::add(&mut members, name, value)?;
        }
        Ok(members)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pairs: A) -> Result<Members, A::Error> {
        let mut members = Members::default();
        while let Some((name, value)) = pairs.next_element()? {
            Self::add(&mut members, name, value)?;
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests;
