//! Reading forms.

use std::{str::FromStr, time::Duration};

use axum::http::StatusCode;
use keyrack_web::Problem;
use serde::de::DeserializeOwned;

/// The fields of a form.
pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    serde_html_form::from_bytes(body).map_err(|error| {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid")
            .title("the form could not be read")
            .detail(error.to_string())
    })
}

/// A number that may be left out.
pub(super) fn number<T: FromStr>(field: &'static str, text: &str) -> Result<Option<T>, Problem> {
    match text.trim() {
        "" => Ok(None),
        text => match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(wrong(field, &format!("\"{text}\" is no number that fits here"))),
        },
    }
}

/// A time that is typed in seconds, and may be left out.
pub(super) fn seconds(name: &'static str, text: &str) -> Result<Option<Duration>, Problem> {
    let Some(seconds) = number::<f64>(name, text)? else { return Ok(None) };
    let time = Duration::try_from_secs_f64(seconds);
    let wrong = |_| wrong(name, &format!("\"{}\"; give a number of seconds above 0", text.trim()));
    time.map(Some).map_err(wrong)
}

/// The same in milliseconds.
pub(super) fn seconds_as_ms(name: &'static str, text: &str) -> Result<Option<u64>, Problem> {
    let time = seconds(name, text)?;
    Ok(time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)))
}

/// Milliseconds as somebody would type them in seconds.
pub(super) fn in_seconds(ms: f64) -> String {
    (ms / 1_000.0).to_string()
}

/// One of the words of a field, which may be left out.
pub(super) fn word<T: FromStr<Err = String>>(
    field: &'static str,
    text: &str,
) -> Result<Option<T>, Problem> {
    match text.trim() {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|reason: String| wrong(field, &reason)),
    }
}

/// The words of a field, which commas or spaces set apart.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| letter == ',' || letter.is_whitespace())
        .filter(|word| !word.is_empty())
}

/// A field with an invalid value.
pub(super) fn wrong(field: &'static str, reason: &str) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid")
        .title("invalid form")
        .detail(format!("{field}: {reason}"))
        .field(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_fields_are_no_numbers_and_bad_ones_are_named() {
        assert_eq!(number::<u64>("n", "  ").expect("none"), None);
        assert_eq!(number::<u64>("n", " 7 ").expect("seven"), Some(7));
        let problem = number::<u64>("n", "-1").expect_err("negative");
        assert_eq!(problem.message(), "n: \"-1\" is no number that fits here");
    }

    #[test]
    fn words_are_set_apart_by_commas_and_spaces() {
        assert_eq!(words(" a, b  c,,").collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}
