//! The plan of a migration: a TOML file with steps, each for the keys of one family.
//!
//! Every step can be told from its result, so that a plan that was stopped halfway is simply run again.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use keyrack_format as format;
use keyrack_keys::Family;
use serde::Deserialize;

use super::super::{declared::read_text, families};
use super::{form::Form, place::Place};
use crate::{Exit, Failure};

/// What to do with the keys of one family.
pub(super) struct Step {
    pub(super) family: &'static Family,
    pub(super) change: Change,
}

/// A change of a key.
pub(super) enum Change {
    /// Another name, in which places have the same names as in the declared one.
    Rename(String),
    /// A TTL for keys that have none.
    Ttl(Duration),
    /// Another form of values.
    Encode { place: Place, form: Form },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    #[serde(default)]
    step: Vec<StepTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepTable {
    keys: String,
    rename: Option<String>,
    ttl: Option<String>,
    field: Option<String>,
    place: Option<String>,
    encode: Option<Encode>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Encode {
    Named(String),
    Words(BTreeMap<String, String>),
}

/// Reads a plan.
pub(super) fn read(path: &Path) -> Result<Vec<Step>, Failure> {
    let text = read_text(path)?;
    let file: PlanFile = toml::from_str(&text).map_err(|error| {
        let message = format!("{}: {}", path.display(), error.to_string().trim_end());
        Failure::new(Exit::Usage, message).hint("\"keyrack keys migrate --help\" shows a plan")
    })?;
    if file.step.is_empty() {
        return Err(wrong(format!("\"{}\" has no [[step]]", path.display())));
    }
    let steps = file.step.into_iter().enumerate();
    steps.map(|(i, table)| step(i + 1, table)).collect()
}

fn wrong(message: String) -> Failure {
    Failure::new(Exit::Usage, message)
}

fn step(number: usize, table: StepTable) -> Result<Step, Failure> {
    let StepTable { keys, rename, ttl, field, place, encode } = table;
    let family = families::find(&keys)?;
    let in_step = |message: String| wrong(format!("step {number}: {message}"));
    if family.is_channel() {
        return Err(in_step(format!("\"{keys}\" is a channel, which holds nothing to migrate")));
    }
    let change = match (rename, ttl, encode) {
        (Some(template), None, None) => Change::Rename(renamed(family, template).map_err(in_step)?),
        (None, Some(ttl), None) => {
            let parsed = format::duration::parse_positive(&ttl);
            Change::Ttl(parsed.map_err(|error| in_step(format!("ttl: {error}")))?)
        }
        (None, None, Some(encode)) => {
            let wrong = |message: String| in_step(format!("encode: {message}"));
            let place = Place::of(family, field, place.as_deref()).map_err(wrong)?;
            let form = form(encode, &place).map_err(wrong)?;
            return Ok(Step { family, change: Change::Encode { place, form } });
        }
        _ => return Err(in_step("give one of \"rename\", \"ttl\" and \"encode\"".into())),
    };
    if field.is_some() || place.is_some() {
        return Err(in_step("\"field\" and \"place\" go with \"encode\" only".into()));
    }
    Ok(Step { family, change })
}

/// A new name has the places of the old one, each once, so that no two keys get the same name.
fn renamed(family: &Family, template: String) -> Result<String, String> {
    for slot in family.parts {
        if template.matches(&format!("<{}>", slot.name)).count() != 1 {
            return Err(format!("rename: \"{template}\" has to have <{}> once", slot.name));
        }
    }
    if template.matches('<').count() != family.parts.len() {
        let places: Vec<String> =
            family.parts.iter().map(|slot| format!("<{}>", slot.name)).collect();
        return Err(format!("rename: \"{template}\" may have {} only", places.join(", ")));
    }
    if template == family.template {
        return Err(format!("rename: \"{template}\" is the name that the keys have"));
    }
    Ok(template)
}

fn form(encode: Encode, place: &Place) -> Result<Form, String> {
    let form = match encode {
        Encode::Named(name) => Form::named(&name)?,
        Encode::Words(words) => match words.values().find(|word| words.contains_key(*word)) {
            // A value that is both could not be told from its result.
            Some(both) => {
                return Err(format!("\"{both}\" is an old word and a new one; take two steps"));
            }
            None if words.is_empty() => return Err("no words".into()),
            None => Form::Words(words),
        },
    };
    if *place == Place::Score && !form.makes_numbers() {
        return Err("a score is a number".into());
    }
    Ok(form)
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = self.family.id();
        match &self.change {
            Change::Rename(to) => write!(f, "{id}: rename {} to {to}", self.family.template),
            Change::Ttl(ttl) => {
                write!(f, "{id}: TTL of {} where there is none", format::duration::typed(*ttl))
            }
            Change::Encode { place, form } => write!(f, "{id}: {} by {form}", place.name()),
        }
    }
}
