//! Reading before anything changes: a source that fails must not cost the pool a day.

use super::{Load, NewDay, PAGE};
use crate::{
    error::Error,
    rows,
    source::{From, Row, Source, Table},
};

impl Load<'_> {
    /// Reads from every table, so that a missing column or a database that does not answer is noticed first.
    ///
    /// A new day takes old posts out of the pool. So before it begins, the challenges and posts that should take their
    /// places are read to the end: a night in which that fails changes nothing.
    pub(super) async fn check(&self, source: &mut impl Source) -> Result<(), Error> {
        for table in Table::ALL {
            let start = if table.is_read_by_id() { From::Id(0) } else { From::Row(0) };
            source.page(table, start, 1).await?;
        }
        if !self.begins_day(&NewDay::after(&self.parameters, self.today)) {
            return Ok(());
        }
        let mark = self.watermark("post").await?.unwrap_or(0);
        let pool = self.service.pool().await?;
        let oldest = pool.keys().min().map_or(mark, |oldest| oldest.saturating_sub(1).min(mark));
        // What a first load reads comes into an empty pool, so there is nothing to lose.
        let starts =
            [(Table::Challenges, Some(0)), (Table::Posts, (!pool.is_empty()).then_some(oldest))];
        for (table, start) in starts {
            let Some(mut after) = start else { continue };
            loop {
                let page = source.page(table, From::Id(after), PAGE).await?;
                after = last_id(table, after, &page)?;
                if page.len() < PAGE {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Where to go on after a page of a table that is read by id.
///
/// A full page without a readable id could only be read again and again.
pub(super) fn last_id(table: Table, after: u64, page: &[Row]) -> Result<u64, Error> {
    match page.iter().filter_map(rows::id_of).max() {
        Some(id) => Ok(id.max(after)),
        None if page.len() < PAGE => Ok(after),
        None => Err(Error::Source {
            table: table.name().to_owned(),
            reason: format!("no id of {PAGE} rows after {after} can be read"),
        }),
    }
}
