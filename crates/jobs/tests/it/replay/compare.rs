//! What differs between what was recorded and what we did.
//!
//! Texts are compared byte by byte. JSON is compared by value, since the order of keys and `{}` for an empty list are
//! accidents of Redis' Lua. Keys and fields that keyrack has added are no difference.

use std::{collections::BTreeSet, fmt, sync::LazyLock};

use keyrack_jobs::bee::keys::{FAMILIES, job};
use keyrack_keys::{Content, Encoding, Origin, Registry};
use serde_json::Value as Json;

use super::{keyspace::Keyspace, recording::Message};

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| Registry::new(&[FAMILIES]));

/// One value that is not as recorded.
#[derive(Debug, Clone)]
pub(super) struct Difference {
    pub(super) scenario: String,
    /// The step or checkpoint where it showed.
    pub(super) place: String,
    /// Which value, e.g. `bee:h:jobs:A options.delay`.
    pub(super) path: String,
    pub(super) recorded: Option<Json>,
    pub(super) ours: Option<Json>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: &Option<Json>| value.as_ref().map_or("nothing".into(), Json::to_string);
        let Difference { scenario, place, path, .. } = self;
        write!(f, "{scenario}, {place}: {path}\n  recorded {}", text(&self.recorded))?;
        write!(f, "\n  ours     {}", text(&self.ours))
    }
}

impl Difference {
    /// The same with ids replaced by labels.
    pub(super) fn labelled(self, labels: &[(&str, &str)]) -> Difference {
        let text =
            |text: String| labels.iter().fold(text, |text, (id, label)| text.replace(id, label));
        let value = |value: Option<Json>| {
            value.map(|value| serde_json::from_str(&text(value.to_string())).expect("still JSON"))
        };
        Difference {
            path: text(self.path),
            recorded: value(self.recorded),
            ours: value(self.ours),
            ..self
        }
    }
}

/// Collects the differences of one place.
#[derive(Debug)]
pub(super) struct Comparison<'a> {
    pub(super) scenario: &'a str,
    pub(super) place: String,
    pub(super) found: &'a mut Vec<Difference>,
}

impl Comparison<'_> {
    pub(super) fn differs(&mut self, path: &str, recorded: Option<Json>, ours: Option<Json>) {
        self.found.push(Difference {
            scenario: self.scenario.to_owned(),
            place: self.place.clone(),
            path: path.to_owned(),
            recorded,
            ours,
        });
    }

    /// Compares what is stored; so much time has passed since the scenario began.
    pub(super) fn keyspaces(&mut self, recorded: &Keyspace, ours: &Keyspace, elapsed_ms: u64) {
        let names: BTreeSet<&String> = recorded.keys().chain(ours.keys()).collect();
        for key in names.into_iter().filter(|key| !is_added(key)) {
            let (was, is) = (recorded.get(key), ours.get(key));
            let (Some(was), Some(is)) = (was, is) else {
                let value = |entry: Option<&super::keyspace::Entry>| Some(entry?.value.clone());
                self.differs(key, value(was), value(is));
                continue;
            };
            let lived = |ttl: u64| ttl.saturating_sub(elapsed_ms);
            let in_time = match (was.ttl_ms, is.ttl_ms) {
                (Some(set), Some(left)) => (lived(set)..=set).contains(&left),
                (set, left) => set == left,
            };
            if !in_time {
                self.differs(
                    &format!("{key} ttl"),
                    was.ttl_ms.map(Json::from),
                    is.ttl_ms.map(Json::from),
                );
            }
            match (&was.value, &is.value) {
                (Json::Object(was), Json::Object(is)) => self.fields(key, was, is),
                (was, is) if is_json(key) => self.json_texts(key, was, is),
                (was, is) if was == is && recorded[key].kind == ours[key].kind => {}
                (was, is) => self.differs(key, Some(was.clone()), Some(is.clone())),
            }
        }
    }

    fn fields(&mut self, key: &str, recorded: &Fields, ours: &Fields) {
        let names: BTreeSet<&String> = recorded.keys().chain(ours.keys()).collect();
        for field in names.into_iter().filter(|field| !ADDED_FIELDS.contains(field.as_str())) {
            let path = format!("{key} {field}");
            match (recorded.get(field), ours.get(field)) {
                (Some(was), Some(is)) if JSON_FIELDS.contains(field.as_str()) => {
                    self.json_texts(&path, was, is);
                }
                (was, is) if was == is => {}
                (was, is) => self.differs(&path, was.cloned(), is.cloned()),
            }
        }
    }

    /// Compares texts that hold JSON.
    pub(super) fn json_texts(&mut self, path: &str, recorded: &Json, ours: &Json) {
        let parse = |text: &Json| serde_json::from_str(text.as_str().unwrap_or_default()).ok();
        match (parse(recorded), parse(ours)) {
            (Some(was), Some(is)) => self.json(path, &was, &is),
            _ if recorded == ours => {}
            _ => self.differs(path, Some(recorded.clone()), Some(ours.clone())),
        }
    }

    /// Compares values.
    pub(super) fn json(&mut self, path: &str, recorded: &Json, ours: &Json) {
        match (recorded, ours) {
            (was, is) if is_empty(was) && is_empty(is) => {}
            (Json::Object(was), Json::Object(is)) => {
                let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
                for name in names {
                    self.json_maybe(&format!("{path}.{name}"), was.get(name), is.get(name));
                }
            }
            (Json::Array(was), Json::Array(is)) => {
                for at in 0..was.len().max(is.len()) {
                    self.json_maybe(&format!("{path}[{at}]"), was.get(at), is.get(at));
                }
            }
            (Json::Number(was), Json::Number(is)) if was.as_f64() == is.as_f64() => {}
            (was, is) if was == is => {}
            (was, is) => self.differs(path, Some(was.clone()), Some(is.clone())),
        }
    }

    fn json_maybe(&mut self, path: &str, recorded: Option<&Json>, ours: Option<&Json>) {
        match (recorded, ours) {
            (Some(was), Some(is)) => self.json(path, was, is),
            (was, is) => self.differs(path, was.cloned(), is.cloned()),
        }
    }

    /// Compares the messages of one step, as a set if their order means nothing.
    pub(super) fn messages(
        &mut self,
        mut recorded: Vec<Message>,
        mut ours: Vec<Message>,
        is_ordered: bool,
    ) {
        // The original knows no such message, and Node hives ignore it.
        ours.retain(|message| !message.body.starts_with(r#"{"type":"delayed""#));
        if !is_ordered {
            let subject = |message: &Message| {
                let body: Json = serde_json::from_str(&message.body).unwrap_or_default();
                (message.channel.clone(), body["jid"].to_string(), body["type"].to_string())
            };
            recorded.sort_by_key(subject);
            ours.sort_by_key(subject);
        }
        for at in 0..recorded.len().max(ours.len()) {
            let path = format!("message {}", at + 1);
            let text =
                |message: &Message| Json::from(format!("{} {}", message.channel, message.body));
            match (recorded.get(at), ours.get(at)) {
                (Some(was), Some(is)) if was.channel == is.channel => {
                    self.json_texts(&path, &was.body.as_str().into(), &is.body.as_str().into());
                }
                (was, is) => self.differs(&path, was.map(text), is.map(text)),
            }
        }
    }
}

type Fields = serde_json::Map<String, Json>;

fn is_empty(value: &Json) -> bool {
    value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Fields::is_empty)
}

/// Whether only keyrack writes the key.
fn is_added(key: &str) -> bool {
    REGISTRY.family_of(key.as_bytes()).is_some_and(|(family, _)| family.origin == Origin::Added)
}

fn is_json(key: &str) -> bool {
    REGISTRY.family_of(key.as_bytes()).is_some_and(|(family, _)| match family.content {
        Content::String(value) => holds_json(&value.encoding),
        _ => false,
    })
}

fn holds_json(encoding: &Encoding) -> bool {
    match encoding {
        Encoding::Json(_) => true,
        Encoding::Optional(inner) => holds_json(inner),
        _ => false,
    }
}

/// The fields of a job that hold JSON.
static JSON_FIELDS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    job_fields().filter(|field| holds_json(&field.encoding)).map(|field| field.name).collect()
});

/// The fields of a job that only keyrack writes; their declarations say so.
static ADDED_FIELDS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    job_fields()
        .filter(|field| field.prose.contains("Added by keyrack"))
        .map(|field| field.name)
        .collect()
});

fn job_fields() -> impl Iterator<Item = &'static keyrack_keys::Field> {
    match job::FAMILY.content {
        Content::Hash(fields) => fields.iter(),
        _ => panic!("a job is a hash"),
    }
}
