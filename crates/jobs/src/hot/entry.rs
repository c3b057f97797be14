//! One entry of the hot queue as text: `{"name", "kwargs", "queued_at"}`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::Error;

/// The largest entry: every worker that comes by has to read it whole.
pub const ENTRY_BYTES_MAX: usize = 1 << 20;

/// Writes an entry; `kwargs` has to be something that becomes a JSON object.
///
/// # Errors
/// When there is no name, the arguments are no object, or the whole is too large.
pub fn encode(name: &str, kwargs: &impl Serialize, queued_at_ms: u64) -> Result<String, Error> {
    let no_json = |source| Error::KwargsNoJson { name: name.to_owned(), source };
    if name.is_empty() {
        return Err(Error::NoName);
    }
    let kwargs = serde_json::to_string(kwargs).map_err(no_json)?;
    if !kwargs.starts_with('{') {
        return Err(Error::KwargsNoObject { name: name.to_owned() });
    }
    let quoted_name = serde_json::to_string(name).map_err(no_json)?;
    let queued_at = queued_at_ms as f64 / 1000.0;
    let text = format!(r#"{{"name":{quoted_name},"kwargs":{kwargs},"queued_at":{queued_at:?}}}"#);
    if text.len() > ENTRY_BYTES_MAX {
        let (name, bytes, max) = (name.to_owned(), text.len(), ENTRY_BYTES_MAX);
        return Err(Error::TooLarge { name, bytes, max });
    }
    Ok(text)
}

/// An entry that was understood.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Entry {
    /// What to run.
    pub name: String,
    /// Its arguments.
    pub kwargs: Map<String, Value>,
    /// Since when it waits, in unix seconds; `None` when the producer wrote something else.
    #[serde(default, deserialize_with = "number")]
    pub queued_at: Option<f64>,
}

impl Entry {
    /// Reads an entry.
    ///
    /// # Errors
    /// What makes it no job.
    pub fn decode(text: &[u8]) -> Result<Entry, serde_json::Error> {
        serde_json::from_slice(text)
    }

    /// The id under which somebody waits for the outcome.
    pub(super) fn job_uid(&self) -> Option<&str> {
        self.kwargs.get("job_uid")?.as_str()
    }
}

/// Workers run a job whose time is odd; only its age is not known then.
fn number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_f64())
}

#[cfg(test)]
mod tests;
