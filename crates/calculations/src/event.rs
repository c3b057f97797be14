//! Events: what comes in, checked before anything is written.

use serde::Deserialize;

use crate::{
    decimal::Decimal,
    error::Error,
    keys::{Account, Calculation, Dimension, DimensionKey, Interval, Project},
    stamp::Stamp,
};

/// A value of a key at a time, and what is to be calculated from the key's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// What is measured.
    pub dimension: Dimension,
    /// One thing of it.
    pub key: DimensionKey,
    /// The value.
    pub value: Decimal,
    /// The value as it is stored: as it came, if that is plain decimal.
    pub text: String,
    /// When it happened.
    pub created_at: Stamp,
    /// The intervals it declares.
    pub intervals: Vec<Interval>,
    /// The calculations it declares for each of them.
    pub calculations: Vec<Calculation>,
}

/// An event as it is published: texts, and a value that may also be a number.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventBody {
    /// What is measured: `job-skills`.
    pub dimension: String,
    /// One thing of it: `python`.
    pub key: String,
    /// A decimal number, as text or as a JSON number.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "7.07"))]
    pub value: Box<serde_json::value::RawValue>,
    /// When it happened: `2014-10-17 21:34:07 -0400`.
    pub created_at: String,
    /// The intervals to calculate over.
    pub interval: Vec<String>,
    /// What to calculate for each of them.
    pub calculation: Vec<String>,
}

impl Event {
    /// Checks the parts of an event, each by the name under which it is published.
    ///
    /// # Errors
    /// What is wrong with which field.
    pub fn new(
        dimension: &str,
        key: &str,
        value: &str,
        created_at: &str,
        intervals: &[impl AsRef<str>],
        calculations: &[impl AsRef<str>],
    ) -> Result<Event, Error> {
        let amount: Decimal =
            value.parse().map_err(|error| Error::invalid("value", format!("{error}")))?;
        let is_plain = crate::keys::PLAIN_DECIMAL.check(value.as_bytes()).is_ok();
        let text = if is_plain { value.to_owned() } else { amount.to_string() };
        Ok(Event {
            dimension: Dimension::new(name("dimension", dimension)?)?,
            key: DimensionKey::new(name("key", key)?)?,
            value: amount,
            text,
            created_at: created_at
                .parse()
                .map_err(|error| Error::invalid("created_at", format!("{error}")))?,
            intervals: words("interval", intervals)?,
            calculations: words("calculation", calculations)?,
        })
    }
}

impl EventBody {
    /// Checks the event.
    ///
    /// # Errors
    /// What is wrong with which field.
    pub fn check(&self) -> Result<Event, Error> {
        let raw = self.value.get();
        let text = if raw.starts_with('"') {
            serde_json::from_str::<String>(raw)
                .map_err(|_| Error::invalid("value", "not a text; give a decimal number"))?
        } else {
            raw.to_owned()
        };
        let (interval, calculation) = (&self.interval, &self.calculation);
        Event::new(&self.dimension, &self.key, &text, &self.created_at, interval, calculation)
    }
}

/// The known words of a list, each once; an empty list declares nothing and is refused.
fn words<W: std::str::FromStr<Err = keyrack_keys::PartError> + PartialEq>(
    field: &'static str,
    texts: &[impl AsRef<str>],
) -> Result<Vec<W>, Error> {
    let mut words = Vec::with_capacity(texts.len());
    for text in texts {
        let word = text
            .as_ref()
            .parse()
            .map_err(|error: keyrack_keys::PartError| Error::invalid(field, error.to_string()))?;
        if !words.contains(&word) {
            words.push(word);
        }
    }
    if words.is_empty() {
        return Err(Error::invalid(field, "the list is empty; give at least one"));
    }
    Ok(words)
}

/// Refuses names that other readers of these keys could not tell apart.
fn name<'a>(field: &'static str, text: &'a str) -> Result<&'a str, Error> {
    if text.is_empty() {
        return Err(Error::invalid(field, "it is empty; give a name"));
    }
    if text.contains(':') {
        return Err(Error::invalid(
            field,
            format!("\"{text}\" contains \":\", which separates the parts of a key"),
        ));
    }
    if text.chars().any(char::is_control) {
        return Err(Error::invalid(field, "it contains control characters"));
    }
    if text.len() > keyrack_keys::PART_BYTES_MAX {
        let reason = format!("it is {} bytes long; at most 256 fit into a key", text.len());
        return Err(Error::invalid(field, reason));
    }
    Ok(text)
}

/// The name of an account.
///
/// # Errors
/// When it is empty, too long, or contains `:` or control characters.
pub fn account(text: &str) -> Result<Account, Error> {
    Ok(Account::new(name("account", text)?)?)
}

/// The name of a project.
///
/// # Errors
/// As [`account`]; a few words are taken by other keys.
pub fn project(text: &str) -> Result<Project, Error> {
    Project::new(name("project", text)?)
        .map_err(|error| Error::invalid("project", error.to_string()))
}

/// The name of a dimension.
///
/// # Errors
/// As [`account`].
pub fn dimension(text: &str) -> Result<Dimension, Error> {
    Ok(Dimension::new(name("dimension", text)?)?)
}

/// The name of a key.
///
/// # Errors
/// As [`account`].
pub fn dimension_key(text: &str) -> Result<DimensionKey, Error> {
    Ok(DimensionKey::new(name("key", text)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str) -> Result<Event, Error> {
        serde_json::from_str::<EventBody>(json).expect("the right shape").check()
    }

    fn body(field: &str, value: &str) -> String {
        let fields = [
            ("dimension", r#""job-skills""#),
            ("key", r#""python""#),
            ("value", r#""7.070""#),
            ("created_at", r#""2014-10-17 21:34:07 -0400""#),
            ("interval", r#"["months","weeks","months"]"#),
            ("calculation", r#"["sum"]"#),
        ];
        let fields = fields
            .map(|(name, good)| format!("\"{name}\":{}", if name == field { value } else { good }));
        format!("{{{}}}", fields.join(","))
    }

    #[test]
    fn values_are_kept_as_they_came_where_they_are_plain() {
        for (given, stored) in
            [(r#""7.070""#, "7.070"), ("7", "7"), ("1.5e2", "150"), (r#""+.5""#, "0.5")]
        {
            assert_eq!(check(&body("value", given)).unwrap().text, stored);
        }
        assert_eq!(check(&body("", "")).unwrap().intervals, [Interval::Months, Interval::Weeks]);
    }

    #[test]
    fn refusals_name_the_field() {
        for (field, value) in [
            ("dimension", r#""a:b""#),
            ("dimension", r#""""#),
            ("key", r#""a\nb""#),
            ("key", r#""a:b""#),
            ("value", r#""seven""#),
            ("value", "true"),
            ("created_at", r#""yesterday""#),
            ("interval", r#"["weekly"]"#),
            ("interval", "[]"),
            ("calculation", r#"["summary"]"#),
        ] {
            let error = check(&body(field, value)).expect_err("a bad event").to_string();
            assert!(error.starts_with(&format!("{field}: ")), "{error}");
        }
    }
}
