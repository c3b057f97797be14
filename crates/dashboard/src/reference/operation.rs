//! A request that can be made: what goes in, what comes back, and an example to copy.

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::{
    shape::{Kind, Shapes},
    text,
};

/// Methods in the order in which they are told.
const METHODS: [&str; 4] = ["get", "post", "put", "delete"];

/// A method of a path.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) id: String,
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) summary: String,
    pub(super) description: String,
    pub(super) inputs: Vec<Input>,
    pub(super) body: Option<Body>,
    pub(super) answers: Vec<Answer>,
    /// The header that shows a token, if one has to be shown.
    token: Option<&'static str>,
    is_stream: bool,
}

/// Something that goes into a request beside its body.
#[derive(Debug, Clone)]
pub(super) struct Input {
    pub(super) name: String,
    /// `path`, `query` or `header`.
    pub(super) place: String,
    pub(super) kind: Kind,
    pub(super) is_required: bool,
    pub(super) about: String,
}

#[derive(Debug, Clone)]
pub(super) struct Body {
    pub(super) kind: Kind,
    example: String,
}

#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: String,
    pub(super) about: String,
    pub(super) kind: Option<Kind>,
}

/// All operations in the order of their paths, each with the group that it belongs to.
pub(super) fn all(paths: &Json, shapes: &Shapes<'_>) -> Vec<(String, Operation)> {
    let paths = paths.as_object().into_iter().flatten();
    let operations = paths.flat_map(|(path, methods)| {
        let told = METHODS.iter().filter_map(|method| Some((*method, methods.get(method)?)));
        told.map(|(method, operation)| {
            let group = text(&operation["tags"][0]);
            (group, Operation::of(method, path, operation, shapes))
        })
    });
    operations.collect()
}

impl Operation {
    fn of(method: &'static str, path: &str, json: &Json, shapes: &Shapes<'_>) -> Operation {
        let inputs = json["parameters"].as_array().into_iter().flatten();
        let answers = json["responses"].as_object().into_iter().flatten();
        // Those that all routes share are problems, which one page tells about.
        let answers = answers.filter(|(_, answer)| answer.get("$ref").is_none());
        let answers = answers.map(|(status, answer)| Answer::of(status, answer));
        let is_stream = json["responses"]["200"]["content"].get("text/event-stream").is_some();
        Operation {
            id: text(&json["operationId"]),
            method,
            path: path.to_owned(),
            summary: text(&json["summary"]),
            description: text(&json["description"]),
            inputs: inputs.map(Input::of).collect(),
            body: Body::of(&json["requestBody"], shapes),
            answers: answers.collect(),
            token: token_header(&json["security"]),
            is_stream,
        }
    }

    /// What goes in and comes out.
    pub(super) fn kinds(&self) -> impl Iterator<Item = &Kind> {
        let inputs = self.inputs.iter().map(|input| &input.kind);
        let body = self.body.iter().map(|body| &body.kind);
        inputs.chain(body).chain(self.answers.iter().filter_map(|answer| answer.kind.as_ref()))
    }

    /// The request as a command. Words in capitals are to be replaced.
    pub(super) fn curl(&self, host: &str) -> String {
        let mut command = String::from("curl");
        let implied = if self.body.is_some() { "post" } else { "get" };
        if self.is_stream {
            command.push_str(" --no-buffer");
        }
        if self.method != implied {
            let _ = write!(command, " --request {}", self.method.to_uppercase());
        }
        if let Some(header) = self.token {
            let _ = write!(command, " --header \"{header}\"");
        }
        for input in self.inputs.iter().filter(|input| input.is("header")) {
            let _ = write!(command, " --header '{}: {}'", input.name, capitals(&input.name));
        }
        let _ = write!(command, " {}", quoted(&format!("http://{host}{}", self.address())));
        if let Some(body) = &self.body {
            let _ = write!(command, " \\\n  --json {}", quoted(&body.example));
        }
        command
    }

    /// The path with what it needs filled in.
    fn address(&self) -> String {
        let mut address = self.path.clone();
        for input in self.inputs.iter().filter(|input| input.is("path")) {
            address = address.replace(&format!("{{{}}}", input.name), &capitals(&input.name));
        }
        let query = self.inputs.iter().filter(|input| input.is("query"));
        for (i, input) in query.enumerate() {
            let mark = if i == 0 { '?' } else { '&' };
            let _ = write!(address, "{mark}{}={}", input.name, capitals(&input.name));
        }
        address
    }
}

impl Input {
    fn of(json: &Json) -> Input {
        Input {
            name: text(&json["name"]),
            place: text(&json["in"]),
            kind: Kind::of(&json["schema"]),
            is_required: json["required"] == true,
            about: text(&json["description"]),
        }
    }

    /// Whether an example needs it, in that place.
    fn is(&self, place: &str) -> bool {
        self.place == place && self.is_required
    }
}

impl Body {
    fn of(json: &Json, shapes: &Shapes<'_>) -> Option<Body> {
        let schema = &content(json)?.1["schema"];
        Some(Body { kind: Kind::of(schema), example: shapes.example(schema).to_string() })
    }
}

impl Answer {
    fn of(status: &str, json: &Json) -> Answer {
        let kind = content(json).map(|(media, content)| match media {
            "text/event-stream" => Kind::of(&content["schema"]).among("a stream of events: "),
            _ => Kind::of(&content["schema"]),
        });
        Answer { status: status.to_owned(), about: text(&json["description"]), kind }
    }
}

/// The media type that is told first, and what is said about it.
fn content(json: &Json) -> Option<(&str, &Json)> {
    let content = json["content"].as_object()?;
    content.iter().next().map(|(media, content)| (media.as_str(), content))
}

/// How the token that is wanted is shown.
fn token_header(security: &Json) -> Option<&'static str> {
    match security[0].as_object()?.keys().next()?.as_str() {
        "bearer" => Some("Authorization: bearer $TOKEN"),
        "project" => Some("Access-Token: $TOKEN"),
        _ => None,
    }
}

fn capitals(name: &str) -> String {
    name.to_uppercase().replace(['-', '.'], "_")
}

/// One word for a shell, whatever is in it.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/:._-%".contains(&byte);
    if word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn operation(method: &'static str, path: &str, json: &Json) -> Operation {
        Operation::of(method, path, json, &Shapes::of(&json!({})))
    }

    #[test]
    fn example_fills_in_what_is_required_and_nothing_else() {
        let json = json!({"parameters": [
            {"name": "queue", "in": "path", "required": true},
            {"name": "place", "in": "query", "required": true},
            {"name": "text", "in": "query", "required": false},
            {"name": "Access-Token", "in": "header", "required": true},
        ]});
        assert_eq!(
            operation("get", "/queues/{queue}/jobs", &json).curl("localhost:1"),
            "curl --header 'Access-Token: ACCESS_TOKEN' 'http://localhost:1/queues/QUEUE/jobs?place=PLACE'"
        );
    }

    #[test]
    fn example_names_the_method_only_where_it_is_not_implied() {
        let body = json!({"requestBody": {"content": {"application/json": {"schema": {"example": {"a": "it's"}}}}}});
        let with = |method, json: &Json| operation(method, "/a", json).curl("h");
        assert_eq!(with("post", &body), "curl http://h/a \\\n  --json '{\"a\":\"it'\\''s\"}'");
        assert!(with("put", &body).starts_with("curl --request PUT http://h/a"));
        assert_eq!(with("post", &json!({})), "curl --request POST http://h/a");
        assert_eq!(with("get", &json!({})), "curl http://h/a");
    }

    #[test]
    fn example_of_what_is_for_some_only_shows_a_token() {
        let json = json!({"security": [{"bearer": []}]});
        let command = operation("get", "/a", &json).curl("h");
        assert_eq!(command, "curl --header \"Authorization: bearer $TOKEN\" http://h/a");
    }
}
