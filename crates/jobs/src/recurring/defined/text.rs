//! A definition as it stands in the store: JSON that begins with its version, so that scripts can compare it.

use serde::{Deserialize, Serialize};

use super::{DEFINED_BYTES_MAX, Defined};
use crate::recurring::{
    definition::{Definition, Draft},
    error::{DefinitionError, Error},
};

#[derive(Deserialize)]
struct Stored {
    version: u64,
    #[serde(flatten)]
    fields: Fields,
}

/// Everything but the version, which the script gives.
#[derive(Serialize, Deserialize)]
struct Fields {
    created_at: u64,
    changed_at: u64,
    paused: bool,
    job: Draft,
}

/// Reads what is stored under a name.
pub(super) fn read(name: &str, text: &str) -> Result<Defined, Error> {
    let bad = |reason: String| Error::Unreadable { name: name.to_owned(), reason };
    let stored: Stored = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
    let Stored { version, fields } = stored;
    let definition = Definition::try_from(fields.job).map_err(|error| bad(error.to_string()))?;
    if definition.name() != name {
        return Err(bad(format!("it is the definition of \"{}\"", definition.name())));
    }
    Ok(Defined {
        definition,
        version,
        paused: fields.paused,
        created_at: fields.created_at,
        changed_at: fields.changed_at,
    })
}

/// What the script writes behind the version.
pub(super) fn fields(defined: &Defined) -> Result<String, Error> {
    let bad = |reason| Error::Definition { name: defined.definition.name().to_owned(), reason };
    let fields = Fields {
        created_at: defined.created_at,
        changed_at: defined.changed_at,
        paused: defined.paused,
        job: Draft::from(&defined.definition),
    };
    let text = serde_json::to_string(&fields).unwrap_or_default();
    if text.len() > DEFINED_BYTES_MAX {
        let (bytes, max) = (text.len(), DEFINED_BYTES_MAX);
        return Err(bad(DefinitionError::TooLarge { bytes, max }));
    }
    Ok(text.strip_prefix('{').unwrap_or_default().to_owned())
}

/// The version of a text, as scripts find it; empty if it has none.
pub(super) fn version(text: &str) -> &str {
    let rest = text.strip_prefix("{\"version\":").unwrap_or_default();
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(0);
    if rest[digits..].starts_with(',') { &rest[..digits] } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn comes_back(draft: &str) {
        let job: Draft = serde_json::from_str(draft).expect("a draft");
        let definition = Definition::try_from(job).expect("a good definition");
        let defined =
            Defined { definition, version: 0, paused: true, created_at: 1, changed_at: 2 };
        let text = format!("{{\"version\":12,{}", fields(&defined).expect("text"));
        assert_eq!(version(&text), "12");
        let again = read("x", &text).expect("a definition");
        assert_eq!((again.version, again.paused), (12, true));
        assert_eq!((again.created_at, again.changed_at), (1, 2));
        assert_eq!(Draft::from(&again.definition), Draft::from(&defined.definition));
        let (schedule, before) = (again.definition.schedule(), defined.definition.schedule());
        assert_eq!(schedule.to_string(), before.to_string());
    }

    #[test]
    fn what_is_stored_is_read_again() {
        comes_back(
            r#"{"name": "x", "cron": "30 6 * * MON", "zone": "Europe/Berlin", "queue": "mail/send", "catch_up": 0}"#,
        );
        comes_back(
            r#"{"name": "x", "every": "90m", "from": "2030-01-01T00:00:00Z", "kwargs": {"z": 1e400, "a": [null]}}"#
                .replace("1e400", "1.5")
                .as_str(),
        );
        comes_back(r#"{"name": "x", "at": "2030-01-01T12:00:00", "zone": "US/Pacific"}"#);
        comes_back(
            r#"{"name": "x", "zone": "UTC", "months": [1, 12], "days_of_week": ["mon", "sun"], "hours": [0], "minutes": [5], "seconds": [0, 59]}"#,
        );
    }

    #[test]
    fn text_that_is_no_definition_is_told() {
        for text in ["", "{}", "{\"version\":1,\"job\":{}}", "[]"] {
            assert!(matches!(read("x", text), Err(Error::Unreadable { .. })), "{text}");
        }
        for text in ["", "{\"version\":", "{\"version\":12}", "{\"version\":é,"] {
            assert_eq!(version(text), "", "{text}");
        }
    }
}
