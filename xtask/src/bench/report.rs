//! Results as people read them: Markdown, on the terminal and in `docs/benchmarks.md`.

use std::fmt;

use anyhow::{Result, ensure};

/// One part of the benchmark: what was measured and what had to hold.
pub(super) struct Section {
    pub(super) title: &'static str,
    /// What was done, so that the numbers can be understood without the code.
    pub(super) words: String,
    pub(super) table: Table,
    pub(super) limits: Vec<Limit>,
}

impl Section {
    /// The limits that were not kept.
    pub(super) fn missed(&self) -> impl Iterator<Item = &Limit> {
        self.limits.iter().filter(|limit| !limit.is_kept())
    }
}

/// Fails when a limit was not kept.
pub(super) fn check(sections: &[Section]) -> Result<()> {
    let missed: Vec<&str> =
        sections.iter().flat_map(Section::missed).map(|limit| limit.what.as_str()).collect();
    ensure!(missed.is_empty(), "missed: {}", missed.join("; "));
    Ok(())
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "### {}\n\n{}\n\n{}", self.title, self.words, self.table)?;
        for limit in &self.limits {
            writeln!(f, "- {limit}")?;
        }
        Ok(())
    }
}

/// Something that has to hold.
pub(super) struct Limit {
    pub(super) what: String,
    pub(super) measured: f64,
    pub(super) bound: Bound,
}

/// Where a number has to stay.
#[derive(Clone, Copy)]
pub(super) enum Bound {
    AtLeast(f64),
    AtMost(f64),
    Within(f64, f64),
    /// Nowhere: told for comparison.
    None,
}

impl Limit {
    fn is_kept(&self) -> bool {
        match self.bound {
            Bound::AtLeast(bound) => self.measured >= bound,
            Bound::AtMost(bound) => self.measured <= bound,
            Bound::Within(low, high) => (low..=high).contains(&self.measured),
            Bound::None => true,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let required = match self.bound {
            Bound::AtLeast(bound) => format!("at least {bound}"),
            Bound::AtMost(bound) => format!("at most {bound}"),
            Bound::Within(low, high) => format!("{low} to {high}"),
            Bound::None => return write!(f, "{}: {:.2}", self.what, self.measured),
        };
        let missed = if self.is_kept() { "" } else { "; **missed**" };
        write!(f, "{}: {:.2}, required {required}{missed}", self.what, self.measured)
    }
}

/// Rows under headings; the first column has names, the others numbers.
pub(super) struct Table {
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(headings: &[&str]) -> Table {
        let headings = headings.iter().map(|heading| (*heading).to_owned()).collect();
        Table { headings, rows: Vec::new() }
    }

    /// Adds a row with a cell for each heading.
    pub(super) fn add(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.headings.len(), "a row has a cell under each heading");
        self.rows.push(cells);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.chain([self.headings[column].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.headings.len()).map(width).collect();
        write_row(f, &self.headings, &widths)?;
        for (column, width) in widths.iter().enumerate() {
            let right = if column == 0 { "-" } else { ":" };
            write!(f, "|{}{right}", "-".repeat(width + 1))?;
        }
        writeln!(f, "|")?;
        self.rows.iter().try_for_each(|row| write_row(f, row, &widths))
    }
}

fn write_row(f: &mut fmt::Formatter<'_>, cells: &[String], widths: &[usize]) -> fmt::Result {
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        match column {
            0 => write!(f, "| {cell:width$} ")?,
            _ => write!(f, "| {cell:>width$} ")?,
        }
    }
    writeln!(f, "|")
}

/// A whole number with its thousands apart.
pub(super) fn whole(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with one place after the point.
pub(super) fn tenths(number: f64) -> String {
    format!("{number:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_markdown_and_lines_up() {
        let mut table = Table::new(&["system", "jobs/s"]);
        table.add(vec!["BullMQ".to_owned(), whole(25_726.4)]);
        let expected = "\
| system | jobs/s |
|--------|-------:|
| BullMQ | 25,726 |
";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn thousands_are_apart() {
        let texts = [0.0, 999.0, 1_000.0, 1_234_567.0].map(whole);
        assert_eq!(texts, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn missed_limit_stands_out() {
        let limit = |measured| Limit {
            what: "drain against BullMQ".to_owned(),
            measured,
            bound: Bound::AtLeast(4.0),
        };
        assert_eq!(limit(4.0).to_string(), "drain against BullMQ: 4.00, required at least 4");
        assert_eq!(
            limit(3.999).to_string(),
            "drain against BullMQ: 4.00, required at least 4; **missed**"
        );
    }
}
