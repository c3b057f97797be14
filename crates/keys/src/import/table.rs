//! Tables of Markdown, row by row.

/// The table that is being read.
#[derive(Default)]
pub(super) struct Table {
    /// The row before this one, which is the head if dashes follow it.
    before: Vec<String>,
    head: Vec<String>,
}

impl Table {
    /// The cells of a row with the title of each column in lower case, or nothing for lines that are no such row.
    pub(super) fn row(&mut self, line: &str) -> Option<Vec<(String, String)>> {
        let Some(inside) = line.strip_prefix('|') else {
            *self = Self::default();
            return None;
        };
        let cells = cells(inside.strip_suffix('|').unwrap_or(inside));
        let is_rule = cells
            .iter()
            .all(|cell| cell.contains('-') && cell.chars().all(|letter| ":- ".contains(letter)));
        let row = if is_rule {
            self.head = self.before.iter().map(|cell| cell.to_lowercase()).collect();
            Vec::new()
        } else if self.head.is_empty() {
            Vec::new()
        } else {
            let titles = self.head.iter().cloned().chain(std::iter::repeat(String::new()));
            titles.zip(cells.clone()).collect()
        };
        self.before = cells;
        Some(row)
    }
}

/// What stands between bars; a bar in inline code or after a backslash divides nothing.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut cell) = (Vec::new(), String::new());
    let (mut is_code, mut is_escaped) = (false, false);
    for letter in line.chars() {
        match letter {
            '|' if is_escaped => {
                cell.pop();
                cell.push('|');
            }
            '|' if !is_code => cells.push(std::mem::take(&mut cell)),
            letter => cell.push(letter),
        }
        is_code ^= letter == '`';
        is_escaped = letter == '\\';
    }
    cells.push(cell);
    cells.into_iter().map(|cell| cell.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_titles_of_their_columns() {
        let mut table = Table::default();
        let mut row = |line| table.row(line);
        assert_eq!(row("no table"), None);
        assert_eq!(row("| Key | Type |"), Some(Vec::new()));
        assert_eq!(row("|:----|-----:|"), Some(Vec::new()));
        let pair = |title: &str, cell: &str| (title.to_owned(), cell.to_owned());
        let expected = vec![pair("key", "`a|b:{c}`"), pair("type", "a | b")];
        assert_eq!(row(r"| `a|b:{c}` | a \| b |"), Some(expected));
        assert_eq!(row(""), None);
        assert_eq!(row("| a | b |"), Some(Vec::new()));
    }
}
