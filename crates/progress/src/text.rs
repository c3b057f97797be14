//! Numbers as they stand in keys' values.

use crate::error::Error;

/// A number in its shortest form that reads back as the same, with a point: what Python writes too.
pub(crate) fn float(number: f64) -> String {
    format!("{number:?}")
}

/// Reads a number that the key's declaration promises.
pub(crate) fn number<T: std::str::FromStr>(key: &str, field: &str, text: &str) -> Result<T, Error> {
    text.parse().map_err(|_| {
        let reason = format!("\"{field}\" is \"{text}\", which is no such number");
        Error::Corrupt { key: key.to_owned(), reason }
    })
}
