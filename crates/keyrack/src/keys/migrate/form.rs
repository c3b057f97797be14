//! From one form of a value to another.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;

/// From one form to another.
pub(super) enum Form {
    /// A moment, written in another way.
    Moment { from: Moment, to: Moment },
    /// Words to other words.
    Words(BTreeMap<String, String>),
}

/// How a moment is written; each can be told from the others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// Seconds since the Unix epoch, fraction allowed.
    Seconds,
    /// Whole milliseconds since the Unix epoch.
    Ms,
    /// RFC 3339 with a zone; written in UTC.
    Iso,
}

const MOMENTS: [Moment; 3] = [Moment::Seconds, Moment::Ms, Moment::Iso];

/// Moments from here on are milliseconds, before it seconds: it is 1973 in the one and 5138 in the other.
const MS_MIN: f64 = 1e11;

impl Form {
    /// A change of moments by its name, such as `unix-seconds to unix-ms`.
    pub(super) fn named(name: &str) -> Result<Form, String> {
        let moment = |word: &str| MOMENTS.into_iter().find(|moment| moment.word() == word);
        name.split_once(" to ")
            .and_then(|(from, to)| Some((moment(from)?, moment(to)?)))
            .filter(|(from, to)| from != to)
            .map(|(from, to)| Form::Moment { from, to })
            .ok_or_else(|| {
                let words = MOMENTS.map(Moment::word).join("\", \"");
                format!("\"{name}\" is neither \"A to B\", with two of \"{words}\", nor a table of words")
            })
    }

    /// Whether every new value is a number.
    pub(super) fn makes_numbers(&self) -> bool {
        match self {
            Form::Moment { to, .. } => *to != Moment::Iso,
            Form::Words(words) => {
                words.values().all(|word| word.parse::<f64>().is_ok_and(|number| !number.is_nan()))
            }
        }
    }

    /// The new form of a value; `None` if it has it already, or is neither.
    pub(super) fn convert(&self, value: &str) -> Option<String> {
        match self {
            Form::Moment { from, to } => to.write(from.read(value)?),
            Form::Words(words) => words.get(value).cloned(),
        }
    }
}

impl Moment {
    fn word(self) -> &'static str {
        match self {
            Self::Seconds => "unix-seconds",
            Self::Ms => "unix-ms",
            Self::Iso => "iso-time",
        }
    }

    /// The milliseconds of a moment that is written in this way.
    fn read(self, value: &str) -> Option<f64> {
        let number = || value.parse::<f64>().ok().filter(|at| at.is_finite() && *at >= 0.0);
        match self {
            Self::Seconds => number().filter(|at| *at < MS_MIN).map(|at| (at * 1_000.0).round()),
            Self::Ms => number().filter(|at| *at >= MS_MIN),
            Self::Iso => value.parse::<Timestamp>().ok().map(|at| at.as_millisecond() as f64),
        }
    }

    fn write(self, ms: f64) -> Option<String> {
        match self {
            Self::Seconds => Some(format!("{}", ms / 1_000.0)),
            Self::Ms => Some(format!("{ms:.0}")),
            Self::Iso => Timestamp::from_millisecond(ms as i64).ok().map(|at| at.to_string()),
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Form::Moment { from, to } => write!(f, "{} to {}", from.word(), to.word()),
            Form::Words(words) => match words.len() {
                1 => f.write_str("a table of one word"),
                n => write!(f, "a table of {n} words"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_forms_are_told_from_old_ones() {
        let forms = [
            ("unix-seconds", "1667950000.25"),
            ("unix-ms", "1667950000250"),
            ("iso-time", "2022-11-08T23:26:40.25Z"),
        ];
        for (from, old) in forms {
            for (to, new) in forms.into_iter().filter(|(to, _)| *to != from) {
                let form = Form::named(&format!("{from} to {to}")).unwrap();
                assert_eq!(form.convert(old).as_deref(), Some(new), "{form}");
                assert_eq!(form.convert(new), None, "{form}");
                assert_eq!(form.convert("soon"), None, "{form}");
            }
        }
        let words = Form::Words([("0".to_owned(), "false".to_owned())].into());
        assert_eq!(words.convert("0").as_deref(), Some("false"));
        assert_eq!(words.convert("false"), None);
    }

    #[test]
    fn a_time_without_a_zone_is_not_guessed() {
        let form = Form::named("iso-time to unix-ms").unwrap();
        assert_eq!(form.convert("2022-11-09T01:26:40+02:00").as_deref(), Some("1667950000000"));
        assert_eq!(form.convert("2022-11-09T01:26:40"), None);
    }
}
