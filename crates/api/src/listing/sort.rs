//! Orders, and cursors into them.

use std::cmp::Ordering;

use keyrack_web::{Problem, error::invalid};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use utoipa::ToSchema;

use super::{Column, FilterValue, Kind, Listing, UNIQUE, Value};

/// One column of an order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SortItem {
    /// The column.
    key: String,
    dir: Dir,
    /// What the page before this one ended before. Not looked at in requests.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    before: Json,
    /// Only rows after the one that has these values are given.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    after: Json,
}

/// A direction; with `_eq` the row at the cursor is given too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Dir {
    Asc,
    AscEq,
    Desc,
    DescEq,
}

impl Dir {
    fn applied(self, ordering: Ordering) -> Ordering {
        match self {
            Dir::Asc | Dir::AscEq => ordering,
            Dir::Desc | Dir::DescEq => ordering.reverse(),
        }
    }

    fn exclusive(self) -> Dir {
        match self {
            Dir::Asc | Dir::AscEq => Dir::Asc,
            Dir::Desc | Dir::DescEq => Dir::Desc,
        }
    }
}

/// An order that leaves no two rows equal.
pub(super) struct Order<R: 'static> {
    columns: Vec<(&'static Column<R>, Dir)>,
    /// A value for each column, if the page is not the first.
    cursor: Option<Vec<FilterValue>>,
}

impl<R> Order<R> {
    pub(super) fn new(listing: &Listing<R>, items: Vec<SortItem>) -> Result<Order<R>, Problem> {
        let mut columns: Vec<(&'static Column<R>, Dir)> = Vec::new();
        for (place, item) in items.iter().enumerate() {
            let field = || format!("sort[{place}].key");
            let column = listing.column(&item.key).filter(|column| column.sorts);
            let column = column.ok_or_else(|| invalid(field(), listing.no_such_column(true)))?;
            if columns.iter().any(|(other, _)| other.name == column.name) {
                return Err(invalid(field(), "the column is there twice"));
            }
            columns.push((column, item.dir));
        }
        let cursor = read_cursor(&columns, &items)?;
        // What comes after it would never decide anything.
        match columns.iter().position(|(column, _)| column.name == UNIQUE) {
            Some(place) => columns.truncate(place + 1),
            None => {
                let unique = listing.column(UNIQUE).expect("every listing has a uid");
                columns.push((unique, Dir::Asc));
            }
        }
        Ok(Order { columns, cursor })
    }

    pub(super) fn compare(&self, a: &R, b: &R) -> Ordering {
        let by_column = self
            .columns
            .iter()
            .map(|(column, dir)| dir.applied((column.value)(a).compare(&(column.value)(b))));
        by_column.fold(Ordering::Equal, Ordering::then)
    }

    pub(super) fn is_after_cursor(&self, row: &R) -> bool {
        let Some(cursor) = &self.cursor else { return true };
        for ((column, dir), given) in self.columns.iter().zip(cursor) {
            match dir.applied((column.value)(row).compare(&given.as_value())) {
                Ordering::Greater => return true,
                Ordering::Less => return false,
                Ordering::Equal => {}
            }
        }
        matches!(self.columns.last(), Some((_, Dir::AscEq | Dir::DescEq)))
    }

    /// The order with which the page after this one begins.
    pub(super) fn next_page(&self, first: &R, last: &R) -> Vec<SortItem> {
        let item = |(column, dir): &(&'static Column<R>, Dir)| SortItem {
            key: column.name.to_owned(),
            dir: dir.exclusive(),
            before: match self.cursor {
                Some(_) => json(column, first),
                None => Json::Null,
            },
            after: json(column, last),
        };
        self.columns.iter().map(item).collect()
    }
}

/// The row at which to go on. All its values have to be there, or it would not be one row.
fn read_cursor<R>(
    columns: &[(&'static Column<R>, Dir)],
    items: &[SortItem],
) -> Result<Option<Vec<FilterValue>>, Problem> {
    if items.iter().all(|item| item.after.is_null()) {
        return Ok(None);
    }
    if !columns.iter().any(|(column, _)| column.name == UNIQUE) {
        let reason = format!("a cursor needs \"{UNIQUE}\" too; give next_page_sort as it came");
        return Err(invalid("sort", reason));
    }
    let given = columns.iter().zip(items).enumerate().map(|(place, ((column, _), item))| {
        FilterValue::read(column, &item.after).map_err(|wanted| {
            let reason = format!("give {wanted}, or next_page_sort as it came");
            invalid(format!("sort[{place}].after"), reason)
        })
    });
    given.collect::<Result<Vec<FilterValue>, Problem>>().map(Some)
}

fn json<R>(column: &Column<R>, row: &R) -> Json {
    match (column.value)(row) {
        Value::Null => Json::Null,
        Value::Bool(bool) => bool.into(),
        Value::Number(number) if column.kind == Kind::Integer => (number as i64).into(),
        Value::Number(number) => number.into(),
        Value::Text(text) => text.into(),
    }
}
