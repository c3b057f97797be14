//! Rules: conditions on results that write output events.

use std::collections::HashMap;

use crate::{
    decimal::Decimal,
    error::Error,
    event,
    keys::{Calculation, Dimension, DimensionKey, Interval, RuleNumber, RuleType},
};

/// What to watch, and when to say something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The dimension it is about.
    pub dimension: Dimension,
    /// The key it is about.
    pub key: DimensionKey,
    /// The interval it is about.
    pub interval: Interval,
    /// Its condition.
    pub condition: Condition,
}

/// When a rule fires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// A result compares with a threshold.
    Comparator {
        /// The result: count, sum, average or standard deviation.
        calculation: Calculation,
        /// How it compares.
        operator: Operator,
        /// With what.
        threshold: Decimal,
        /// How long it must hold before the rule fires.
        hold_ms: u64,
        /// How long it must have ceased before the rule says so; never, unless set.
        resolve_ms: Option<u64>,
    },
    /// So many keys were first seen in the dimension in one bucket.
    Observer {
        /// How many.
        trigger: u64,
        /// How long after that the rule fires.
        hold_ms: u64,
    },
}

/// How a comparator compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Operator {
    Less,
    AtMost,
    Equal,
    More,
    AtLeast,
}

impl Operator {
    const ALL: [(Operator, &str); 5] = [
        (Operator::Less, "<"),
        (Operator::AtMost, "<="),
        (Operator::Equal, "="),
        (Operator::More, ">"),
        (Operator::AtLeast, ">="),
    ];

    /// The sign.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(operator, _)| *operator == self).map_or("", |(_, sign)| sign)
    }

    fn parse(sign: &str) -> Result<Operator, Error> {
        let found = Self::ALL.iter().find(|(_, other)| *other == sign);
        found.map(|(operator, _)| *operator).ok_or_else(|| {
            Error::invalid(
                "operator",
                format!("\"{sign}\" is none of \"<\", \"<=\", \"=\", \">\", \">=\""),
            )
        })
    }

    /// Does the value compare so? Decimals compare exactly.
    pub(crate) fn holds(self, value: &Decimal, threshold: &Decimal) -> bool {
        match self {
            Operator::Less => value < threshold,
            Operator::AtMost => value <= threshold,
            Operator::Equal => value == threshold,
            Operator::More => value > threshold,
            Operator::AtLeast => value >= threshold,
        }
    }
}

/// The intervals that rules may be about.
const INTERVALS: [Interval; 4] =
    [Interval::Hours, Interval::Days, Interval::Weeks, Interval::Months];
/// The calculations that comparators may look at.
const CALCULATIONS: [Calculation; 4] =
    [Calculation::Count, Calculation::Sum, Calculation::Average, Calculation::StandardDeviation];
/// The longest hold time: ten years.
const HOLD_MS_MAX: u64 = 10 * 366 * 86_400_000;

impl Rule {
    /// A rule from its fields, as they are published and stored.
    ///
    /// # Errors
    /// What is wrong with which field.
    pub fn from_fields(kind: RuleType, fields: &HashMap<String, String>) -> Result<Rule, Error> {
        let field = |name: &'static str| {
            let text = fields.get(name).map(String::as_str);
            text.ok_or_else(|| Error::invalid(name, "it is missing"))
        };
        let interval = field("interval")?;
        let found = INTERVALS.iter().find(|other| other.as_str() == interval);
        let interval = *found.ok_or_else(|| {
            let reason =
                format!("\"{interval}\" is none of \"hours\", \"days\", \"weeks\", \"months\"");
            Error::invalid("interval", reason)
        })?;
        let condition = match kind {
            RuleType::Comparator => Condition::Comparator {
                calculation: calculation(field("calculation")?)?,
                operator: Operator::parse(field("operator")?)?,
                threshold: field("threshold")?
                    .parse()
                    .map_err(|error| Error::invalid("threshold", format!("{error}")))?,
                hold_ms: ms("hold_ms", fields)?.unwrap_or(0),
                resolve_ms: ms("resolve_ms", fields)?,
            },
            RuleType::Observer => {
                if field("watch")? != "keys" {
                    return Err(Error::invalid("watch", "only \"keys\" can be watched"));
                }
                let trigger = field("trigger")?.parse().ok().filter(|trigger| *trigger > 0);
                let trigger = trigger
                    .ok_or_else(|| Error::invalid("trigger", "not a whole number from 1"))?;
                Condition::Observer { trigger, hold_ms: ms("hold_ms", fields)?.unwrap_or(0) }
            }
        };
        Ok(Rule {
            dimension: event::dimension(field("dimension")?)?,
            key: event::dimension_key(field("key")?)?,
            interval,
            condition,
        })
    }

    /// What kind it is.
    pub fn kind(&self) -> RuleType {
        match self.condition {
            Condition::Comparator { .. } => RuleType::Comparator,
            Condition::Observer { .. } => RuleType::Observer,
        }
    }

    /// Whether it may have to wait before it says something.
    pub(crate) fn waits(&self) -> bool {
        match self.condition {
            Condition::Comparator { hold_ms, resolve_ms, .. } => {
                hold_ms > 0 || resolve_ms.is_some_and(|ms| ms > 0)
            }
            Condition::Observer { hold_ms, .. } => hold_ms > 0,
        }
    }

    /// The names of the fields that a rule of a kind may have.
    pub fn field_names(kind: RuleType) -> &'static [&'static str] {
        match kind {
            RuleType::Comparator => &[
                "dimension",
                "key",
                "interval",
                "calculation",
                "operator",
                "threshold",
                "hold_ms",
                "resolve_ms",
            ],
            RuleType::Observer => &["dimension", "key", "interval", "watch", "trigger", "hold_ms"],
        }
    }

    /// Its fields, as they are stored.
    pub fn fields(&self) -> Vec<(String, String)> {
        let mut fields = vec![
            ("dimension", self.dimension.to_string()),
            ("key", self.key.to_string()),
            ("interval", self.interval.to_string()),
        ];
        match &self.condition {
            Condition::Comparator { calculation, operator, threshold, hold_ms, resolve_ms } => {
                fields.push(("calculation", calculation.to_string()));
                fields.push(("operator", operator.as_str().to_owned()));
                fields.push(("threshold", threshold.to_string()));
                fields.extend((*hold_ms > 0).then(|| ("hold_ms", hold_ms.to_string())));
                fields.extend(resolve_ms.map(|ms| ("resolve_ms", ms.to_string())));
            }
            Condition::Observer { trigger, hold_ms } => {
                fields.push(("watch", "keys".to_owned()));
                fields.push(("trigger", trigger.to_string()));
                fields.extend((*hold_ms > 0).then(|| ("hold_ms", hold_ms.to_string())));
            }
        }
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// A rule with its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedRule {
    /// The number.
    pub number: RuleNumber,
    /// The rule.
    pub rule: Rule,
}

fn calculation(text: &str) -> Result<Calculation, Error> {
    let word = text.replace(' ', "_");
    let found = CALCULATIONS.iter().find(|calculation| calculation.as_str() == word);
    found.copied().ok_or_else(|| {
        let reason = format!(
            "\"{text}\" is none of \"count\", \"sum\", \"average\", \"standard_deviation\""
        );
        Error::invalid("calculation", reason)
    })
}

fn ms(name: &'static str, fields: &HashMap<String, String>) -> Result<Option<u64>, Error> {
    let Some(text) = fields.get(name) else { return Ok(None) };
    let ms = text.parse().ok().filter(|ms| *ms <= HOLD_MS_MAX);
    ms.map(Some).ok_or_else(|| Error::invalid(name, "not a number of ms up to ten years"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    const COMPARATOR: [(&str, &str); 6] = [
        ("dimension", "job-skills"),
        ("key", "ruby"),
        ("interval", "weeks"),
        ("calculation", "standard deviation"),
        ("threshold", "2.50"),
        ("operator", ">="),
    ];

    #[test]
    fn rules_are_stored_and_read_back() {
        let rule = Rule::from_fields(RuleType::Comparator, &fields(&COMPARATOR)).unwrap();
        let stored = rule.fields().into_iter().collect();
        assert_eq!(Rule::from_fields(RuleType::Comparator, &stored).unwrap(), rule);
    }

    #[test]
    fn refusals_name_the_field() {
        for (name, value) in [
            ("interval", "years"),
            ("calculation", "linear_regression"),
            ("threshold", "many"),
            ("operator", "=="),
            ("dimension", "a:b"),
            ("hold_ms", "-1"),
        ] {
            let mut fields = fields(&COMPARATOR);
            fields.insert(name.to_owned(), value.to_owned());
            let error = Rule::from_fields(RuleType::Comparator, &fields).expect_err("a bad rule");
            assert!(error.to_string().starts_with(name), "{error}");
        }
        let error = Rule::from_fields(RuleType::Observer, &fields(&COMPARATOR)).unwrap_err();
        assert_eq!(error.to_string(), "watch: it is missing");
    }
}
