//! Rows in columns.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use crate::terminal::{self, Color, Paint};
use keyrack_format as format;

/// Rows under titles, each column as wide as its widest cell.
#[derive(Debug)]
pub(crate) struct Table {
    titles: &'static [&'static str],
    rows: Vec<Vec<Cell>>,
}

/// One cell.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    color: Option<Color>,
    is_number: bool,
    keeps_end: bool,
}

impl Cell {
    /// A cell with its colour.
    pub(crate) fn painted(text: impl Into<String>, color: Option<Color>) -> Cell {
        let text = text.into();
        let text = match format::visible(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(shown) => shown,
        };
        Cell { text, color, is_number: false, keeps_end: false }
    }

    /// A cell that stands at the right of its column.
    pub(crate) fn number(text: impl Into<String>) -> Cell {
        Cell { is_number: true, ..Cell::painted(text, None) }
    }

    /// The same in this colour.
    pub(crate) fn in_color(self, color: Option<Color>) -> Cell {
        Cell { color, ..self }
    }

    /// The same, but if there is too little room its beginning is left out.
    pub(crate) fn keeping_end(self) -> Cell {
        Cell { keeps_end: true, ..self }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }

    /// As much as there is room for.
    fn cut(&self, room: Option<usize>) -> String {
        match room {
            Some(room) if self.keeps_end => {
                self.text.chars().skip(self.width().saturating_sub(room)).collect()
            }
            room => format::one_line(&self.text, room),
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell::painted(text, None)
    }
}

impl Table {
    pub(crate) fn new(titles: &'static [&'static str]) -> Table {
        Table { titles, rows: Vec::new() }
    }

    /// Adds a row: one cell for each title.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.titles.len(), "a row has a cell for each title");
        self.rows.push(cells);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Prints it. On a terminal the last column is cut where it would not fit.
    pub(crate) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        self.write(out, Paint::for_stdout(), terminal::width())
    }

    fn write(
        &self,
        out: &mut impl Write,
        paint: Paint,
        line_width: Option<usize>,
    ) -> io::Result<()> {
        let titles = self.titles.iter().enumerate().map(|(column, title)| Cell {
            // A title stands where its column does.
            is_number: self.rows.first().is_some_and(|row| row[column].is_number),
            ..Cell::painted(*title, Some(Color::Dim))
        });
        let titles: Vec<Cell> = titles.collect();
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].width());
            cells.chain([titles[column].width()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.titles.len()).map(width).collect();
        for row in [&titles].into_iter().chain(&self.rows) {
            writeln!(out, "{}", line(row, &widths, paint, line_width))?;
        }
        Ok(())
    }
}

/// What stands between two columns.
const GAP: &str = "  ";
/// Of the last column at least so much is shown, even if the terminal has to wrap the line.
const LAST_WIDTH_MIN: usize = 10;

fn line(row: &[Cell], widths: &[usize], paint: Paint, line_width: Option<usize>) -> String {
    let mut line = String::new();
    let mut used = 0;
    let (last, others) = row.split_last().expect("a row has cells");
    for (cell, width) in others.iter().zip(widths) {
        let pad = " ".repeat(width - cell.width());
        let text = paint.apply(cell.color, &cell.text);
        line += &if cell.is_number { pad + &text } else { text + &pad };
        line += GAP;
        used += width + GAP.len();
    }
    let room = line_width.map(|width| width.saturating_sub(used).max(LAST_WIDTH_MIN));
    let pad = if last.is_number { widths[widths.len() - 1] - last.width() } else { 0 };
    line += &" ".repeat(pad);
    line += &paint.apply(last.color, &last.cut(room));
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(width: Option<usize>) -> String {
        let mut table = Table::new(&["NAME", "N", "WORDS"]);
        table.row(vec!["a".into(), Cell::number("7"), "short".into()]);
        table.row(vec!["grüße".into(), Cell::number("1,000"), "rather long words".into()]);
        let mut out = Vec::new();
        table.write(&mut out, Paint::for_stdout(), width).expect("printed");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let expected = "\
NAME       N  WORDS
a          7  short
grüße  1,000  rather long words
";
        assert_eq!(printed(None), expected);
    }

    #[test]
    fn last_column_is_cut_to_the_line() {
        assert_eq!(printed(Some(30)).lines().last(), Some("grüße  1,000  rather long wor…"));
        assert_eq!(printed(Some(1)).lines().last(), Some("grüße  1,000  rather lo…"));
        assert_eq!(Cell::from("past present").keeping_end().cut(Some(7)), "present");
    }
}
