//! Searching rows: filters, sorts and cursors over columns of known kinds.
//!
//! All searches of the progress bars and of users go through here, so they all understand the same requests. A search gets
//! every row that its caller may see; what it may not see never comes near. In reading order: a [`Column`] says how to look
//! at a row; `filter` and `sort` are what a request asks for, checked against the columns; [`Listing::page`] answers.

mod filter;
mod sort;

use std::{cmp::Ordering, collections::BTreeMap};

use keyrack_keys::PART_BYTES_MAX;
use keyrack_web::{Problem, error::invalid};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use utoipa::ToSchema;

use self::{
    filter::{FilterItem, Test},
    sort::Order,
};

pub(super) use self::sort::SortItem;

/// What is in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Integer,
    Number,
    Bool,
}

/// The value of a row in a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Number(f64),
    Text(&'a str),
}

/// One way to look at a row.
pub(super) struct Column<R> {
    name: &'static str,
    kind: Kind,
    nullable: bool,
    sorts: bool,
    value: fn(&R) -> Value<'_>,
}

impl<R> Column<R> {
    pub(super) const fn text(name: &'static str, value: fn(&R) -> Value<'_>) -> Column<R> {
        Column { name, kind: Kind::Text, nullable: false, sorts: false, value }
    }

    pub(super) const fn integer(name: &'static str, value: fn(&R) -> Value<'_>) -> Column<R> {
        Column { name, kind: Kind::Integer, nullable: false, sorts: false, value }
    }

    pub(super) const fn number(name: &'static str, value: fn(&R) -> Value<'_>) -> Column<R> {
        Column { name, kind: Kind::Number, nullable: false, sorts: false, value }
    }

    pub(super) const fn bool(name: &'static str, value: fn(&R) -> Value<'_>) -> Column<R> {
        Column { name, kind: Kind::Bool, nullable: false, sorts: false, value }
    }

    /// The same, where rows may have no value.
    pub(super) const fn or_null(self) -> Column<R> {
        Column { nullable: true, ..self }
    }

    /// The same, and rows can be sorted by it.
    pub(super) const fn sorts(self) -> Column<R> {
        Column { sorts: true, ..self }
    }
}

impl<'a> Value<'a> {
    pub(super) fn or_null(number: Option<f64>) -> Value<'a> {
        number.map_or(Value::Null, Value::Number)
    }

    /// No value comes before all values; two of different kinds never meet in a column.
    fn compare(&self, other: &Value<'_>) -> Ordering {
        match (self, other) {
            (Value::Text(a), Value::Text(b)) => (*a).cmp(b),
            (Value::Number(a), Value::Number(b)) => a.total_cmp(b),
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Value::Null => 0,
            Value::Bool(_) => 1,
            Value::Number(_) => 2,
            Value::Text(_) => 3,
        }
    }
}

/// A value that a request gave.
#[derive(Debug, Clone, PartialEq)]
enum FilterValue {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
}

impl FilterValue {
    /// Reads a value for a column; the error says what was expected.
    fn read<R>(column: &Column<R>, json: &Json) -> Result<FilterValue, &'static str> {
        match (column.kind, json) {
            (_, Json::Null) if column.nullable => Ok(FilterValue::Null),
            (Kind::Text, Json::String(text)) => Ok(FilterValue::Text(text.clone())),
            (Kind::Bool, Json::Bool(bool)) => Ok(FilterValue::Bool(*bool)),
            (Kind::Number, Json::Number(number)) => {
                number.as_f64().map(FilterValue::Number).ok_or("a number")
            }
            (Kind::Integer, Json::Number(number)) => {
                let whole = number.as_f64().filter(|number| number.fract() == 0.0);
                whole.map(FilterValue::Number).ok_or("a whole number")
            }
            (Kind::Text, _) => Err("text"),
            (Kind::Bool, _) => Err("true or false"),
            (Kind::Number, _) => Err("a number"),
            (Kind::Integer, _) => Err("a whole number"),
        }
    }

    fn as_value(&self) -> Value<'_> {
        match self {
            FilterValue::Null => Value::Null,
            FilterValue::Bool(bool) => Value::Bool(*bool),
            FilterValue::Number(number) => Value::Number(*number),
            FilterValue::Text(text) => Value::Text(text),
        }
    }
}

/// What is searched for.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    /// Conditions that all have to hold, by column.
    #[serde(default)]
    #[schema(value_type = Option<BTreeMap<String, FilterItem>>)]
    filters: Option<BTreeMap<String, Option<FilterItem>>>,
    /// The order, the most important first. A next page is asked for with the `next_page_sort` of the one before.
    #[serde(default)]
    sort: Option<Vec<SortItem>>,
    /// How many items at most; 100 unless said.
    #[serde(default)]
    limit: Option<u64>,
}

impl Search {
    /// The one text that a column has to be, if that is asked for: a search of one bar need not read the others.
    pub(super) fn exactly(&self, column: &str) -> Option<&str> {
        let item = self.filters.as_ref()?.get(column)?.as_ref()?;
        // What is no name at all finds nothing, which the filter sees to.
        item.exactly().filter(|text| (1..=PART_BYTES_MAX).contains(&text.len()))
    }
}

/// A page of what was found.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Page<T: ToSchema> {
    /// What was found.
    items: Vec<T>,
    /// The `sort` that gives the next page; null on the last one.
    next_page_sort: Option<Vec<SortItem>>,
}

/// The column by which rows are told apart.
const UNIQUE: &str = "uid";
/// The column that is always the caller's own, whatever a request says about it.
const OWNER: &str = "user_sub";
const LIMIT_DEFAULT: u64 = 100;

/// A kind of row that can be searched.
pub(super) struct Listing<R: 'static> {
    pub(super) columns: &'static [Column<R>],
    pub(super) limit_max: u64,
}

impl<R: 'static> Listing<R> {
    /// The page of `rows` that a request asks for.
    pub(super) fn page<T: ToSchema>(
        &self,
        search: Search,
        mut rows: Vec<R>,
        view: impl FnMut(R) -> T,
    ) -> Result<Page<T>, Problem> {
        let limit = self.limit(search.limit)?;
        let tests = self.tests(search.filters.unwrap_or_default())?;
        let order = Order::new(self, search.sort.unwrap_or_default())?;
        rows.retain(|row| tests.iter().all(|test| test.holds(row)) && order.is_after_cursor(row));
        let has_more = rows.len() > limit;
        if has_more {
            // The rest need not be in any order.
            rows.select_nth_unstable_by(limit, |a, b| order.compare(a, b));
            rows.truncate(limit);
        }
        rows.sort_unstable_by(|a, b| order.compare(a, b));
        let next_page_sort = match (rows.first(), rows.last()) {
            (Some(first), Some(last)) if has_more => Some(order.next_page(first, last)),
            _ => None,
        };
        Ok(Page { items: rows.into_iter().map(view).collect(), next_page_sort })
    }

    fn column(&self, name: &str) -> Option<&'static Column<R>> {
        self.columns.iter().find(|column| column.name == name)
    }

    fn limit(&self, limit: Option<u64>) -> Result<usize, Problem> {
        let limit = limit.unwrap_or(LIMIT_DEFAULT.min(self.limit_max));
        if !(1..=self.limit_max).contains(&limit) {
            return Err(invalid("limit", format!("{limit}; give 1 to {}", self.limit_max)));
        }
        Ok(usize::try_from(limit).unwrap_or(usize::MAX))
    }

    fn tests(
        &self,
        filters: BTreeMap<String, Option<FilterItem>>,
    ) -> Result<Vec<Test<R>>, Problem> {
        let given = filters.into_iter().filter_map(|(name, item)| Some((name, item?)));
        given
            .filter(|(name, _)| name != OWNER)
            .map(|(name, item)| {
                let field = format!("filters.{name}");
                let known = self.column(&name);
                let column = known.ok_or_else(|| invalid(&field, self.no_such_column(false)))?;
                Test::new(column, item, &field)
            })
            .collect()
    }

    /// What to say about a column that there is not.
    fn no_such_column(&self, to_sort: bool) -> String {
        let names = self.columns.iter().filter(|column| !to_sort || column.sorts);
        let names: Vec<&str> = names.map(|column| column.name).collect();
        format!("no such column; there are {}", names.join(", "))
    }
}

#[cfg(test)]
mod tests;
