//! Rows of a table: the little of CSV that events need.

use std::{collections::HashMap, io::BufRead, path::Path};

use keyrack_calculations::Line;

use crate::{Exit, Failure};

/// How the events of a file are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// A row for each event, under a row with the names of the columns
    Csv,
    /// A JSON object on each line
    Ndjson,
}

impl Format {
    /// What a file's name says.
    pub(super) fn of(file: &Path) -> Format {
        let is_csv =
            file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
        if is_csv { Format::Csv } else { Format::Ndjson }
    }
}

/// The columns of a table.
#[derive(Debug)]
pub(super) struct Columns {
    names: Vec<String>,
    /// Bytes of the row that names them.
    pub(super) bytes: u64,
}

impl Columns {
    /// Reads the first row.
    pub(super) fn read(reader: &mut (impl BufRead + ?Sized)) -> anyhow::Result<Columns> {
        let mut text = String::new();
        let bytes = reader.read_line(&mut text)? as u64;
        // Spreadsheets put a mark in front that says nothing.
        let names = cells(text.trim_start_matches('\u{feff}').trim_end())
            .map_err(|reason| Failure::new(Exit::Failed, format!("line 1: {reason}")))?;
        Ok(Columns { names: names.iter().map(|name| name.trim().to_owned()).collect(), bytes })
    }

    /// The event in a row.
    pub(super) fn event(&self, row: &str) -> Result<Line, String> {
        let cells = cells(row)?;
        if cells.len() != self.names.len() {
            return Err(format!("{} cells under {} columns", cells.len(), self.names.len()));
        }
        let cells: HashMap<&str, &str> =
            self.names.iter().map(String::as_str).zip(cells.iter().map(String::as_str)).collect();
        Line::from_cells(&cells).map_err(|error| error.to_string())
    }
}

/// The cells of a row. In quotes, commas stand for themselves and two quotes for one.
fn cells(row: &str) -> Result<Vec<String>, String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = row.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
    }
    if quoted {
        return Err("a quote is not closed on its line".into());
    }
    cells.push(cell);
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_split_at_commas_outside_of_quotes() {
        assert_eq!(cells("a,,\"b,c\",\"say \"\"hi\"\"\"").unwrap(), ["a", "", "b,c", "say \"hi\""]);
        assert_eq!(cells("").unwrap(), [""]);
        assert!(cells("a,\"b").is_err());
    }
}
