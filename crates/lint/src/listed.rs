//! Whether keys are named where they have to be: a job that no list names is never run, nor removed.

use keyrack_keys::{By, Content, Listed, Parsed};
use keyrack_store::Error;
use redis::{Pipeline, Value};

use crate::finding::quoted;
use crate::read_key::{COMMANDS_MAX, KeyReader, KeyView, accepted};
use crate::rule::Rule;

/// A key that has to be named somewhere, and has not been found there so far.
struct MissingReference {
    /// Which of the keys under the eye.
    view: usize,
    listed: &'static Listed,
    /// What stands in the field that decides.
    word: String,
}

impl KeyReader<'_> {
    /// Looks for each key at the places that have to name it, one after the other: most are named by the first.
    pub(crate) async fn listed(&self, views: &mut [KeyView<'_>]) -> Result<(), Error> {
        let mut sought: Vec<MissingReference> = views
            .iter()
            .enumerate()
            .filter(|(_, view)| !view.gone)
            .flat_map(|(at, view)| view.sought(at))
            .collect();
        for round in 0.. {
            let (open, failed): (Vec<MissingReference>, Vec<MissingReference>) =
                sought.into_iter().partition(|sought| round < sought.listed.by.len());
            for sought in failed {
                sought.report(&mut views[sought.view]);
            }
            if open.is_empty() {
                break;
            }
            sought = self.not_named(views, open, round).await?;
        }
        Ok(())
    }

    /// Those of the keys that their place number `round` does not name.
    async fn not_named(
        &self,
        views: &[KeyView<'_>],
        sought: Vec<MissingReference>,
        round: usize,
    ) -> Result<Vec<MissingReference>, Error> {
        let mut left = Vec::new();
        let mut asked = Vec::new();
        for sought in sought {
            let by = &sought.listed.by[round];
            match views[sought.view].place(by) {
                Some((key, id)) => asked.push((sought, by, key, id)),
                None => left.push(sought),
            }
        }
        while !asked.is_empty() {
            let rest = asked.split_off(asked.len().min(COMMANDS_MAX));
            let mut pipeline = Pipeline::with_capacity(asked.len());
            for (_, by, key, id) in &asked {
                ask(&mut pipeline, by, key, id);
            }
            let replies = self.keyspace.pipeline(&pipeline).await?;
            for ((sought, _, _, id), reply) in asked.into_iter().zip(replies) {
                if !names(&id, reply)? {
                    left.push(sought);
                }
            }
            asked = rest;
        }
        Ok(left)
    }
}

impl KeyView<'_> {
    /// What has to name this key, by what stands in its fields.
    fn sought(&self, view: usize) -> impl Iterator<Item = MissingReference> {
        self.reading.listed.iter().filter_map(move |listed| {
            let word = self.noted(listed.field)?;
            let must = listed.words.contains(&word) && !(listed.unless_expiring && self.expires);
            (must && self.parsed.is_some()).then(|| MissingReference {
                view,
                listed,
                word: word.to_owned(),
            })
        })
    }

    fn noted(&self, field: &str) -> Option<&str> {
        let noted = self.reading.noted.iter().find(|(name, _)| *name == field);
        noted.map(|(_, value)| value.as_str())
    }

    /// The key that may name this one, and the id by which it would; nothing if a part of its name is unknown.
    fn place(&self, by: &By) -> Option<(String, String)> {
        let Parsed { layout, shard, parts, .. } = self.parsed.as_ref()?;
        let family = by.family();
        let texts: Option<Vec<&str>> = family
            .parts
            .iter()
            .map(|slot| self.parsed.as_ref()?.part(slot.name).or_else(|| self.noted(slot.name)))
            .collect();
        let key = family.render(*layout, shard.as_deref(), &texts?).ok()?;
        Some((key, parts.first()?.clone()))
    }
}

impl MissingReference {
    fn report(&self, view: &mut KeyView<'_>) {
        let rule = if self.listed.unless_expiring { Rule::NeverRemoved } else { Rule::Unlisted };
        let state = format!("its {} is {}", self.listed.field, quoted(self.word.as_bytes()));
        let templates: Vec<&str> = self.listed.by.iter().map(|by| by.family().template).collect();
        let detail = match (templates.as_slice(), self.listed.unless_expiring) {
            ([], _) => format!("{state}, but it does not expire"),
            ([one], true) => format!("{state}, but it does not expire, and {one} does not name it"),
            ([one], false) => format!("{state}, but {one} does not name it"),
            (several, _) => format!("{state}, but none of {} names it", several.join(", ")),
        };
        view.reading.faults.add(rule, format!("{} {}", self.word, templates.join(" ")), detail);
    }
}

/// Asks a place whether it names an id.
fn ask(pipeline: &mut Pipeline, by: &By, key: &str, id: &str) {
    match &by.family().content {
        _ if by.is_key() => pipeline.cmd("EXISTS").arg(key),
        Content::String(_)
        | Content::Channel(_)
        | Content::Bitmap(_)
        | Content::HyperLogLog(_)
        | Content::Stream(_) => pipeline.cmd("EXISTS").arg(key),
        Content::Set(_) => pipeline.cmd("SISMEMBER").arg(key).arg(id),
        Content::SortedSet { .. } => pipeline.cmd("ZSCORE").arg(key).arg(id),
        Content::List(_) => pipeline.cmd("LPOS").arg(key).arg(id),
        Content::Hash(_) | Content::Map { .. } => pipeline.cmd("HVALS").arg(key),
    };
}

/// Whether the answer to [`ask`] says so. A place of another type is a fault of its own.
fn names(id: &str, reply: Value) -> Result<bool, Error> {
    Ok(match reply {
        Value::ServerError(error) if error.code() == "WRONGTYPE" => false,
        reply => match accepted(reply)? {
            Value::Nil | Value::Int(0) => false,
            Value::Array(values) => values.iter().any(|value| match value {
                Value::BulkString(text) => {
                    text.split(|byte| *byte == b' ').any(|word| word == id.as_bytes())
                }
                _ => false,
            }),
            _ => true,
        },
    })
}
