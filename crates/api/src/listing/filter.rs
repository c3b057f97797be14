//! Conditions on one column.

use std::cmp::Ordering;

use keyrack_web::{Problem, error::invalid};
use serde::Deserialize;
use serde_json::Value as Json;
use utoipa::ToSchema;

use super::{Column, FilterValue, Kind, Value};

/// A condition on one column.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct FilterItem {
    operator: Operator,
    /// What to compare with.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    value: Json,
}

impl FilterItem {
    /// The text that is asked for, if it is one and no other.
    pub(super) fn exactly(&self) -> Option<&str> {
        if self.operator == Operator::Eq { self.value.as_str() } else { None }
    }
}

/// How to compare. An `n` at the end lets rows through that have no value; an `i` in front ignores case, and `ilike` takes
/// `%` for any text and `_` for any character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Operator {
    Eq,
    Neq,
    Gt,
    Gtn,
    Gte,
    Gten,
    Lt,
    Ltn,
    Lte,
    Lten,
    Ieq,
    Ineq,
    Ilike,
}

impl Operator {
    /// Whether it makes sense for a column of that kind.
    fn suits(self, kind: Kind) -> bool {
        use Operator::*;
        match self {
            Eq | Neq => true,
            Gt | Gte | Lt | Lte => kind != Kind::Bool,
            Gtn | Gten | Ltn | Lten => matches!(kind, Kind::Integer | Kind::Number),
            Ieq | Ineq | Ilike => kind == Kind::Text,
        }
    }
}

/// A condition that was understood.
pub(super) struct Test<R: 'static> {
    column: &'static Column<R>,
    operator: Operator,
    /// In lower case where case is ignored.
    given: FilterValue,
}

impl<R> Test<R> {
    pub(super) fn new(
        column: &'static Column<R>,
        item: FilterItem,
        field: &str,
    ) -> Result<Test<R>, Problem> {
        let operator = item.operator;
        if !operator.suits(column.kind) {
            let reason = match column.kind {
                Kind::Text => "texts are compared with eq neq ieq ineq gt gte lt lte ilike",
                Kind::Bool => "true and false are compared with eq neq",
                Kind::Integer | Kind::Number => {
                    "numbers are compared with eq neq gt gtn gte gten lt ltn lte lten"
                }
            };
            return Err(invalid(format!("{field}.operator"), reason));
        }
        let given = FilterValue::read(column, &item.value);
        let given =
            given.map_err(|wanted| invalid(format!("{field}.value"), format!("give {wanted}")))?;
        let ignores_case = matches!(operator, Operator::Ieq | Operator::Ineq | Operator::Ilike);
        let given = match given {
            FilterValue::Text(text) if ignores_case => FilterValue::Text(text.to_lowercase()),
            given => given,
        };
        Ok(Test { column, operator, given })
    }

    pub(super) fn holds(&self, row: &R) -> bool {
        use Operator::*;
        let value = (self.column.value)(row);
        let is_null = value == Value::Null;
        match self.operator {
            Eq => value.compare(&self.given.as_value()).is_eq(),
            Neq => value.compare(&self.given.as_value()).is_ne(),
            Gt => self.compares(value, Ordering::is_gt),
            Gte => self.compares(value, Ordering::is_ge),
            Lt => self.compares(value, Ordering::is_lt),
            Lte => self.compares(value, Ordering::is_le),
            Gtn => is_null || self.compares(value, Ordering::is_gt),
            Gten => is_null || self.compares(value, Ordering::is_ge),
            Ltn => is_null || self.compares(value, Ordering::is_lt),
            Lten => is_null || self.compares(value, Ordering::is_le),
            Ieq => self.is_same_text(value),
            Ineq => !self.is_same_text(value),
            Ilike => match (value, &self.given) {
                (Value::Text(text), FilterValue::Text(pattern)) => {
                    is_like(&text.to_lowercase(), pattern)
                }
                _ => false,
            },
        }
    }

    /// No value is neither more nor less than another.
    fn compares(&self, value: Value<'_>, is_so: fn(Ordering) -> bool) -> bool {
        let given = self.given.as_value();
        value != Value::Null && given != Value::Null && is_so(value.compare(&given))
    }

    fn is_same_text(&self, value: Value<'_>) -> bool {
        match (value, &self.given) {
            (Value::Text(text), FilterValue::Text(given)) => text.to_lowercase() == *given,
            (value, given) => value.compare(&given.as_value()).is_eq(),
        }
    }
}

/// Whether a text fits a pattern, in which `%` stands for any text and `_` for any character. Takes at most as many steps as
/// the two lengths multiplied, whatever the pattern.
pub(super) fn is_like(text: &str, pattern: &str) -> bool {
    let (text, pattern): (Vec<char>, Vec<char>) =
        (text.chars().collect(), pattern.chars().collect());
    let (mut at, mut wanted) = (0, 0);
    // Where the last `%` stands, and how much of the text it has taken so far.
    let mut last: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(wanted) {
            Some('%') => {
                last = Some((wanted, at));
                wanted += 1;
            }
            Some(&letter) if letter == '_' || letter == text[at] => {
                at += 1;
                wanted += 1;
            }
            _ => match &mut last {
                Some((percent, taken)) => {
                    *taken += 1;
                    (at, wanted) = (*taken, *percent + 1);
                }
                None => return false,
            },
        }
    }
    pattern[wanted..].iter().all(|letter| *letter == '%')
}
