//! A file as it stands in `files:purgatory`: JSON whose very bytes are its identity.
//!
//! Programs in other languages enter and take out the same members, so what is written here is what Python's
//! `json.dumps(…, sort_keys=True)` writes, to the byte. What others wrote is read leniently and taken out as it was found.

use keyrack_keys::python::write_text;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The longest name of a file that object storage takes.
const KEY_BYTES_MAX: usize = 1024;
/// The longest name of a bucket, with room for storage that is less strict than S3.
const BUCKET_BYTES_MAX: usize = 255;
/// A hint is for people.
const HINT_BYTES_MAX: usize = 1024;

/// A file in a bucket, and why it is in purgatory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct File {
    /// The bucket.
    pub bucket: String,
    /// The file's name in it.
    pub key: String,
    /// Whether its deletion is what somebody wants, and not the end of an upload that failed.
    #[serde(default)]
    pub expected: bool,
    /// Who entered it, for debugging.
    #[serde(default)]
    pub hint: Option<String>,
}

impl File {
    /// A file that is about to be uploaded.
    pub fn new(bucket: impl Into<String>, key: impl Into<String>) -> File {
        File { bucket: bucket.into(), key: key.into(), expected: false, hint: None }
    }

    /// The same, to be deleted on purpose.
    #[must_use]
    pub fn expected(self) -> File {
        File { expected: true, ..self }
    }

    /// The same, with a word about who entered it.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> File {
        File { hint: Some(hint.into()), ..self }
    }

    /// The file as a member of the set.
    pub fn member(&self) -> String {
        let mut out = String::from("{\"bucket\": ");
        write_text(&mut out, &self.bucket);
        if self.expected {
            out.push_str(", \"expected\": true");
        }
        if let Some(hint) = &self.hint {
            out.push_str(", \"hint\": ");
            write_text(&mut out, hint);
        }
        out.push_str(", \"key\": ");
        write_text(&mut out, &self.key);
        out.push('}');
        out
    }

    /// The file that a member stands for, or what is wrong with it. Names that are not known mean nothing.
    ///
    /// # Errors
    /// In words, when the member says not which file it is.
    pub fn from_member(member: &[u8]) -> Result<File, String> {
        let file: File = serde_json::from_slice(member)
            .map_err(|error| format!("the entry names no file: {error}"))?;
        file.check().map_err(|error| format!("the entry names no file: {error}"))?;
        Ok(file)
    }

    /// Refuses names that no storage has.
    pub(crate) fn check(&self) -> Result<(), Error> {
        check("bucket", &self.bucket, BUCKET_BYTES_MAX)?;
        check("key", &self.key, KEY_BYTES_MAX)?;
        match &self.hint {
            Some(hint) if hint.len() > HINT_BYTES_MAX => {
                let reason = format!("{} bytes; give at most {HINT_BYTES_MAX}", hint.len());
                Err(Error::Invalid { field: "hint", reason })
            }
            _ => Ok(()),
        }
    }
}

fn check(field: &'static str, name: &str, bytes_max: usize) -> Result<(), Error> {
    let reason = match name.len() {
        0 => "it is empty; give a name".to_owned(),
        bytes if bytes > bytes_max => format!("{bytes} bytes; give at most {bytes_max}"),
        _ => return Ok(()),
    };
    Err(Error::Invalid { field, reason })
}

#[cfg(test)]
mod tests;
