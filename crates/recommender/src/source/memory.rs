//! Tables in memory, for tests and for evaluation.

use std::collections::HashSet;

use super::{From, Row, Source, Table};
use crate::error::Error;

/// Tables in memory. Rows can be added and taken away at will.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    tables: [Vec<Row>; 5],
}

impl Memory {
    /// Adds a row; an empty text stands for a null.
    pub fn push(&mut self, table: Table, values: &[&str]) {
        let row = values.iter().map(|value| (!value.is_empty()).then(|| (*value).to_owned()));
        self.rows(table).push(row.collect());
    }

    /// The rows of a table, to be changed as one likes.
    pub fn rows(&mut self, table: Table) -> &mut Vec<Row> {
        &mut self.tables[table as usize]
    }

    /// Puts tables that are read by id into the order of their ids.
    pub(super) fn sort(&mut self) {
        for table in [Table::Challenges, Table::Posts, Table::Reactions] {
            self.rows(table).sort_by_key(id);
        }
    }
}

impl Source for Memory {
    async fn page(&mut self, table: Table, from: From, limit: usize) -> Result<Vec<Row>, Error> {
        let rows = &self.tables[table as usize];
        Ok(match from {
            From::Id(after) => {
                rows.iter().filter(|row| id(row) > after).take(limit).cloned().collect()
            }
            From::Row(skip) => {
                let skip = usize::try_from(skip).unwrap_or(usize::MAX);
                rows.iter().skip(skip).take(limit).cloned().collect()
            }
        })
    }

    async fn posts(&mut self, ids: &[u64]) -> Result<Vec<Row>, Error> {
        let rows = self.tables[Table::Posts as usize].iter();
        let ids: HashSet<u64> = ids.iter().copied().collect();
        Ok(rows.filter(|row| ids.contains(&id(row))).cloned().collect())
    }

    async fn len(&mut self, table: Table) -> Result<u64, Error> {
        Ok(self.tables[table as usize].len() as u64)
    }
}

/// The id of a row, 0 when it has none: such a row is never after anything.
fn id(row: &Row) -> u64 {
    row.first().and_then(Option::as_deref).and_then(|id| id.parse().ok()).unwrap_or(0)
}
