//! Settings in a file: `keyrack.toml` in the working directory, or the one that was named.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use keyrack_jobs::recurring::Definition;
use serde::Deserialize;

use super::table::{KEYS, SETTINGS, Setting};
use crate::{Exit, Failure};

/// The file that is read when none is named, if it is there.
const NAME: &str = "keyrack.toml";

/// A settings file, read and checked.
#[derive(Debug)]
pub(crate) struct File {
    path: PathBuf,
    values: Vec<(&'static str, String)>,
    /// `[[recurring]]`, read.
    recurring: Vec<Definition>,
    /// `[[recurring]]` as it was written.
    recurring_text: String,
}

/// The part of the file that is no setting.
#[derive(Deserialize)]
struct FileTables {
    #[serde(default)]
    recurring: Vec<Definition>,
}

/// The name of that part.
const RECURRING: &str = "recurring";

impl File {
    /// Reads the file that was named, or else `keyrack.toml` if there is one.
    pub(crate) fn find(named: Option<&Path>) -> Result<Option<File>, Failure> {
        let path = named.unwrap_or(Path::new(NAME));
        match fs::read_to_string(path) {
            Ok(text) => File::parse(path, &text).map(Some),
            Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                let path = path.display();
                let message = format!("could not read the settings file \"{path}\": {error}");
                Err(Failure::new(Exit::Usage, message))
            }
        }
    }

    pub(super) fn parse(path: &Path, text: &str) -> Result<File, Failure> {
        let wrong = |message: String| {
            Failure::new(Exit::Usage, format!("in \"{}\": {message}", path.display()))
        };
        let misread = |error: toml::de::Error| {
            let line = error.span().map_or(1, |span| line_at(text, span.start));
            wrong(format!("line {line}: {}", error.message()))
        };
        let mut table: toml::Table = text.parse().map_err(misread)?;
        // Read from the text itself, so that what is wrong has a line.
        let tables: FileTables = toml::from_str(text).map_err(misread)?;
        let recurring = table
            .remove(RECURRING)
            .map(|value| toml::Table::from_iter([(RECURRING.to_owned(), value)]));
        let value = |(key, value): (String, toml::Value)| {
            let setting = SETTINGS.iter().find(|setting| setting.key == key);
            let setting = setting.ok_or_else(|| {
                wrong(format!("there is no setting \"{key}\"")).hint(nearest(&key))
            })?;
            match value {
                toml::Value::String(text) => Ok((setting.key, text)),
                // Several files: an array is easier to read than commas.
                toml::Value::Array(items)
                    if setting.key == KEYS.key && items.iter().all(toml::Value::is_str) =>
                {
                    let items: Vec<&str> = items.iter().filter_map(toml::Value::as_str).collect();
                    Ok((setting.key, items.join(",")))
                }
                other => Err(wrong(format!("\"{key}\" is to be text, not {}", other.type_str()))
                    .hint(format!("write {key} = \"{}\"", setting.value_name))),
            }
        };
        let values = table.into_iter().map(value).collect::<Result<_, Failure>>()?;
        Ok(File {
            path: path.to_owned(),
            values,
            recurring: tables.recurring,
            recurring_text: recurring.map(|table| table.to_string()).unwrap_or_default(),
        })
    }

    /// When the file was last changed, in unix seconds; 0 if nobody knows.
    pub(crate) fn changed_at(&self) -> u64 {
        let changed = std::fs::metadata(&self.path).and_then(|file| file.modified()).ok();
        let since_epoch = changed.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        since_epoch.map_or(0, |at| at.as_secs())
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The jobs that run by the calendar.
    pub(crate) fn recurring(&self) -> &[Definition] {
        &self.recurring
    }

    /// The same as it was written, comments aside.
    pub(crate) fn recurring_text(&self) -> &str {
        &self.recurring_text
    }

    /// What it says about a setting.
    pub(crate) fn get(&self, setting: &Setting) -> Option<&str> {
        let found = self.values.iter().find(|(key, _)| *key == setting.key);
        found.map(|(_, value)| value.as_str())
    }
}

fn line_at(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

/// What somebody who wrote `key` may have meant.
fn nearest(key: &str) -> String {
    /// Below this, two words have nothing to do with each other.
    const SIMILAR: f64 = 0.7;
    let likeness = |setting: &Setting| strsim::jaro_winkler(key, setting.key);
    let best = SETTINGS.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match best {
        Some(setting) if likeness(setting) > SIMILAR => {
            format!("did you mean \"{}\"?", setting.key)
        }
        _ => {
            let keys: Vec<_> = SETTINGS.iter().map(|setting| setting.key).collect();
            format!("there are {} and [[{RECURRING}]]", keys.join(", "))
        }
    }
}
