//! Holding answers against the description of the API: every answer that a test gets is looked at.
//!
//! The description is the committed one; a test of the server holds that equal to what the server says of itself.

use std::sync::OnceLock;

use serde_json::Value as Json;

/// An answer, and what was asked for.
#[derive(Debug, Clone, Copy)]
pub struct Exchange<'a> {
    /// What was to be done: `GET`.
    pub method: &'a str,
    /// To what, with the query if there is one.
    pub path: &'a str,
    /// What the answer says.
    pub status: u16,
    /// As what the body is described, if at all.
    pub content_type: Option<&'a str>,
    /// The body as text.
    pub body: &'a str,
}

fn description() -> &'static Json {
    static DESCRIPTION: OnceLock<Json> = OnceLock::new();
    DESCRIPTION.get_or_init(|| {
        serde_json::from_str(include_str!("../../../docs/openapi.json")).expect("JSON")
    })
}

impl Exchange<'_> {
    /// Makes sure that the description knows of such an answer. What it does not describe at all, it says nothing about.
    ///
    /// # Panics
    /// When it does not.
    #[track_caller]
    pub fn conforms(&self) {
        let Some(operation) = self.operation() else { return };
        // These are no answers of the route: the connection was refused, or the server broke, which tests see by themselves.
        if self.status == 500 || self.body.contains("too_many_connections") {
            return;
        }
        let what = format!("{} {}: {} {}", self.method, self.path, self.status, self.body);
        let response = &operation["responses"][self.status.to_string()];
        let shared = response["$ref"].as_str().and_then(|name| name.strip_prefix('#'));
        let response = shared.map_or(Some(response), |name| description().pointer(name));
        let response = response.expect("what is referred to");
        assert!(response.is_object(), "this status is not described: {what}");
        let Some(contents) = response["content"].as_object() else {
            assert_eq!(self.body, "", "no body is described: {what}");
            return;
        };
        let content_type = self.content_type.unwrap_or_default();
        let bare = content_type.split(';').next().unwrap_or_default();
        let content = contents.get(bare);
        let content = content.unwrap_or_else(|| panic!("\"{bare}\" is not described: {what}"));
        if bare.ends_with("json") {
            let body: Json =
                serde_json::from_str(self.body).unwrap_or_else(|_| panic!("no JSON: {what}"));
            if let Err(wrong) = check(&body, &content["schema"], "") {
                panic!("{wrong}: {what}");
            }
        }
    }

    fn operation(&self) -> Option<&'static Json> {
        let path = self.path.split('?').next()?;
        let paths = description()["paths"].as_object()?;
        // What is written out stands before what is a variable.
        let mut found: Vec<_> = paths.iter().filter(|(known, _)| is_path(known, path)).collect();
        found.sort_by_key(|(known, _)| known.matches('{').count());
        let operations = found.into_iter().map(|(_, operations)| operations);
        operations.filter_map(|item| item.get(self.method.to_lowercase())).next()
    }
}

fn is_path(template: &str, path: &str) -> bool {
    let (known, given) = (template.split('/'), path.split('/'));
    known.clone().count() == given.clone().count()
        && known
            .zip(given)
            .all(|(known, given)| known == given || (known.starts_with('{') && !given.is_empty()))
}

/// Whether a value is what a schema says; what is wrong otherwise. As much of JSON Schema as the description uses.
fn check(value: &Json, schema: &Json, at: &str) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{at}: {what}, not {value}"));
    if let Some(name) = schema["$ref"].as_str() {
        let pointer = name.strip_prefix('#').expect("a reference within the description");
        let schema = description().pointer(pointer);
        return check(value, schema.unwrap_or_else(|| panic!("there is no {name}")), at);
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        check(value, part, at)?;
    }
    for (word, is_one) in [("oneOf", true), ("anyOf", false)] {
        let Some(choices) = schema[word].as_array() else { continue };
        let n = choices.iter().filter(|choice| check(value, choice, at).is_ok()).count();
        if n == 0 || (is_one && n > 1) {
            return wrong(&format!("{n} of its {} forms", choices.len()));
        }
    }
    match &schema["type"] {
        Json::String(kind) if !is_of(value, kind) => return wrong(kind),
        Json::Array(kinds)
            if !kinds.iter().any(|kind| is_of(value, kind.as_str().unwrap_or(""))) =>
        {
            return wrong("one of its types");
        }
        _ => {}
    }
    if schema["enum"].as_array().is_some_and(|known| !known.contains(value)) {
        return wrong("one of its words");
    }
    if schema.get("const").is_some_and(|known| known != value) {
        return wrong("its one value");
    }
    if schema["minimum"].as_f64().is_some_and(|min| value.as_f64().is_some_and(|value| value < min))
    {
        return wrong("at least its minimum");
    }
    for (place, item) in value.as_array().into_iter().flatten().enumerate() {
        check(item, schema.get("items").unwrap_or(&Json::Null), &format!("{at}[{place}]"))?;
    }
    let Some(fields) = value.as_object() else { return Ok(()) };
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().expect("a name");
        if !fields.contains_key(name) {
            return wrong(&format!("something with \"{name}\""));
        }
    }
    for (name, field) in fields {
        let at = format!("{at}.{name}");
        match schema["properties"].get(name) {
            Some(schema) => check(field, schema, &at)?,
            None => match &schema["additionalProperties"] {
                more @ Json::Object(_) => check(field, more, &at)?,
                Json::Bool(false) => return Err(format!("{at} is not described")),
                _ => {}
            },
        }
    }
    Ok(())
}

fn is_of(value: &Json, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

#[test]
fn answers_that_are_not_described_are_noticed() {
    let job = serde_json::json!({"queue": "q", "jid": "j", "created": true}).to_string();
    let right = Exchange {
        method: "POST",
        path: "/api/1/queues/q/jobs",
        status: 201,
        content_type: Some("application/json"),
        body: &job,
    };
    right.conforms();
    let wrong = [
        Exchange { status: 418, ..right },
        Exchange { content_type: Some("text/plain"), ..right },
        Exchange { body: r#"{"queue": "q", "jid": 7, "created": true}"#, ..right },
        Exchange { body: r#"{"queue": "q"}"#, ..right },
    ];
    for exchange in wrong {
        let noticed = std::panic::catch_unwind(|| exchange.conforms()).is_err();
        assert!(noticed, "{} {}", exchange.status, exchange.body);
    }
}
