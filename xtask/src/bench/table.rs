//! Ratios as a table, and whether each is good enough.

use std::fmt;

use anyhow::{Result, bail};

/// One measured thing; both numbers in the same unit.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) subject: f64,
    pub(super) reference: f64,
    /// The middle of the ratios of all pairs of runs, where it is taken instead of the one of both numbers.
    pub(super) paired: Option<f64>,
    /// The ratio again, per second of processor time: what else goes on in the machine hardly touches it.
    pub(super) per_cpu: Option<f64>,
}

impl Row {
    fn ratio(&self) -> f64 {
        self.paired.unwrap_or(self.subject / self.reference)
    }
}

/// Measurements of a subject beside those of its reference.
#[derive(Debug)]
pub(super) struct Table {
    subject: String,
    reference: String,
    rows: Vec<Row>,
}

impl Table {
    /// An empty table with the names of both.
    pub(super) fn new(subject: &str, reference: &str) -> Self {
        Self { subject: subject.to_owned(), reference: reference.to_owned(), rows: Vec::new() }
    }

    /// Adds a line at the end.
    pub(super) fn add(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// The names of the lines in order.
    #[cfg(test)]
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|row| row.name.as_str())
    }

    /// The rows with these names, as a table.
    pub(super) fn only(&self, names: &[&str]) -> Self {
        let rows = self.rows.iter().filter(|row| names.contains(&row.name.as_str()));
        Self { rows: rows.cloned().collect(), ..Self::new(&self.subject, &self.reference) }
    }

    /// Fails with the names of all rows whose ratio lies outside `range`.
    pub(super) fn require(&self, range: std::ops::RangeInclusive<f64>) -> Result<()> {
        let outside: Vec<String> = self
            .rows
            .iter()
            .filter(|row| !range.contains(&row.ratio()))
            .map(|row| format!("{} ({:.2})", row.name, row.ratio()))
            .collect();
        if !outside.is_empty() {
            let (low, high) = range.into_inner();
            bail!("not within {low:.2} and {high:.2}: {}", outside.join(", "));
        }
        Ok(())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.rows.iter().map(|row| row.name.len());
        let name = names.max().unwrap_or(0).max("test".len());
        let subject = self.subject.len().max(12);
        let reference = self.reference.len().max(12);
        let has_cpu = self.rows.iter().any(|row| row.per_cpu.is_some());
        write!(
            f,
            "{:name$}  {:>reference$}  {:>subject$}  {:>6}",
            "test", self.reference, self.subject, "ratio"
        )?;
        writeln!(f, "{}", if has_cpu { "  per cpu" } else { "" })?;
        for row in &self.rows {
            write!(
                f,
                "{:name$}  {:>reference$.0}  {:>subject$.0}  {:>6.2}",
                row.name,
                row.reference,
                row.subject,
                row.ratio()
            )?;
            match row.per_cpu {
                Some(ratio) => writeln!(f, "  {ratio:>7.2}")?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("ours", "redis-server");
        let row = |name: &str, subject, reference| Row {
            name: name.into(),
            subject,
            reference,
            paired: None,
            per_cpu: None,
        };
        table.add(row("SET -P 16", 900.4, 1000.0));
        table.add(row("GET", 3000.0, 1500.0));
        table
    }

    #[test]
    fn columns_line_up_under_their_names() {
        let expected = "\
test       redis-server          ours   ratio
SET -P 16          1000           900    0.90
GET                1500          3000    2.00
";
        assert_eq!(table().to_string(), expected);
    }

    #[test]
    fn processor_time_has_a_column_of_its_own() {
        let mut table = Table::new("ours", "redis-server");
        let (name, per_cpu) = ("GET".into(), Some(1.25));
        table.add(Row { name, subject: 3000.0, reference: 1500.0, paired: None, per_cpu });
        let expected = "\
test  redis-server          ours   ratio  per cpu
GET           1500          3000    2.00     1.25
";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn requirement_of_one_row_leaves_the_others_alone() {
        table().only(&["GET"]).require(2.0..=2.0).unwrap();
        table().only(&["SET -P 16"]).require(2.0..=2.0).unwrap_err();
    }

    #[test]
    fn rows_outside_the_range_are_named() {
        table().require(0.9..=f64::INFINITY).unwrap();
        let error = table().require(0.95..=1.05).unwrap_err().to_string();
        assert_eq!(error, "not within 0.95 and 1.05: SET -P 16 (0.90), GET (2.00)");
    }
}
