//! Tables in a folder of CSV or NDJSON files, one for each table: `post.csv` or `post.ndjson`.

use std::{fs, path::Path};

use super::{From, Memory, Names, Row, Source, Table, csv, unreadable};
use crate::error::Error;

/// Tables read from files. They are held in memory, because files have no order to go on from.
#[derive(Debug)]
pub struct Files {
    tables: Memory,
}

impl Files {
    /// Reads a folder. A table without a file has no rows; a folder without any file is refused.
    ///
    /// # Errors
    /// When a file cannot be read, lacks a column or is not well formed.
    pub fn open(folder: &Path, names: &Names) -> Result<Files, Error> {
        let mut tables = Memory::default();
        let mut files = 0;
        for table in Table::ALL.into_iter().filter(|table| names.has(*table)) {
            for (ending, read) in [("csv", from_csv as Read), ("ndjson", from_ndjson)] {
                let path = folder.join(format!("{}.{ending}", names.table(table)));
                let failed =
                    |reason: String| Error::Source { table: path.display().to_string(), reason };
                if !path.exists() {
                    continue;
                }
                files += 1;
                let bytes = fs::read(&path).map_err(|error| failed(error.to_string()))?;
                let columns: Vec<&str> = names.columns(table).collect();
                let rows = read(&marked(&bytes), &columns).map_err(failed)?;
                // A CSV file has a header; of objects, only all together tell that a name is not used.
                let missing = never_there(table, &columns, &rows).filter(|_| ending == "ndjson");
                if let Some(column) = missing {
                    return Err(failed(format!("no row has \"{column}\"")));
                }
                tables.rows(table).extend(rows.into_iter().map(|row| {
                    let mut row = checked(row);
                    // A row that could not be read stays so: it is left out and counted.
                    if names.completes() && row.get(1).is_some_and(Option::is_some) {
                        names.complete(table, &mut row);
                    }
                    row
                }));
            }
        }
        if !folder.is_dir() {
            let reason = "there is no such folder".into();
            return Err(Error::Source { table: folder.display().to_string(), reason });
        }
        if files == 0 {
            let reason = "it has no file such as \"post.csv\" or \"post.ndjson\"".into();
            return Err(Error::Source { table: folder.display().to_string(), reason });
        }
        tables.sort();
        Ok(Files { tables })
    }
}

/// Stands where a file is not UTF-8: a code point that no text holds.
const NOT_UTF8: char = '\u{fdd0}';

/// The text of a file, with [`NOT_UTF8`] where it is none.
fn marked(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(NOT_UTF8);
        }
    }
    text
}

/// The row, or only its id if it could not be read.
fn checked(row: Row) -> Row {
    let is_bad =
        |value: &Option<String>| value.as_ref().is_some_and(|text| text.contains(NOT_UTF8));
    if !row.iter().any(is_bad) {
        return row;
    }
    let mut row = unreadable(row);
    row.iter_mut().filter(|value| is_bad(value)).for_each(|value| *value = None);
    row
}

/// A column that the table needs and none of its rows has.
fn never_there<'a>(table: Table, columns: &[&'a str], rows: &[Row]) -> Option<&'a str> {
    let has = |at: usize| rows.iter().any(|row| row.get(at).is_some_and(Option::is_some));
    let is_there = |at: usize| columns.get(at).is_none_or(|column| column.is_empty()) || has(at);
    let missing = table.needed().iter().find(|at| !rows.is_empty() && !is_there(**at));
    missing.and_then(|at| columns.get(*at).copied())
}

type Read = fn(&str, &[&str]) -> Result<Vec<Row>, String>;

fn from_csv(text: &str, columns: &[&str]) -> Result<Vec<Row>, String> {
    let mut records = csv::parse(text)?.into_iter();
    let Some(header) = records.next() else { return Ok(Vec::new()) };
    let place = |column: &&str| {
        if column.is_empty() {
            return Ok(None);
        }
        let found = header.iter().position(|name| name.as_deref() == Some(*column));
        found.map(Some).ok_or_else(|| format!("it has no column \"{column}\""))
    };
    let places: Vec<Option<usize>> = columns.iter().map(place).collect::<Result<_, _>>()?;
    let row = |record: Vec<Option<String>>| {
        places.iter().map(|at| record.get((*at)?).cloned().flatten()).collect()
    };
    Ok(records.map(row).collect())
}

fn from_ndjson(text: &str, columns: &[&str]) -> Result<Vec<Row>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let row = |(at, line): (usize, &str)| -> Result<Row, String> {
        let object: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(line).map_err(|error| format!("line {}: {error}", at + 1))?;
        Ok(columns.iter().map(|column| object.get(*column).and_then(as_text)).collect())
    };
    lines.map(row).collect()
}

fn as_text(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::Null => None,
        serde_json::Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

impl Source for Files {
    async fn page(&mut self, table: Table, from: From, limit: usize) -> Result<Vec<Row>, Error> {
        self.tables.page(table, from, limit).await
    }

    async fn posts(&mut self, ids: &[u64]) -> Result<Vec<Row>, Error> {
        self.tables.posts(ids).await
    }

    async fn len(&mut self, table: Table) -> Result<u64, Error> {
        self.tables.len(table).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_file_give_the_same_rows() {
        let columns = ["id", "text"];
        let csv = from_csv("text,more,id\nhello,x,1\n,y,2\n", &columns).expect("good text");
        let json = "{\"id\":1,\"text\":\"hello\"}\n\n{\"text\":null,\"id\":2}\n";
        assert_eq!(csv, from_ndjson(json, &columns).expect("good text"));
        assert_eq!(csv[1], [Some("2".to_owned()), None]);
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = from_csv("id\n1\n", &["id", "text"]).expect_err("no column");
        assert_eq!(error, "it has no column \"text\"");
        assert!(from_ndjson("{}\n[]\n", &["id"]).expect_err("no object").starts_with("line 2"));
        let folder = std::env::temp_dir().join("keyrack-no-such-folder");
        let error = Files::open(&folder, &Names::default()).expect_err("no files");
        assert!(error.to_string().contains("there is no such folder"), "{error}");
        let folder = tempfile::tempdir().expect("a folder");
        let error = Files::open(folder.path(), &Names::default()).expect_err("no files");
        assert!(error.to_string().contains("it has no file"), "{error}");
        fs::write(
            folder.path().join("post.ndjson"),
            "{\"id\":1,\"userid\":2,\"challenge_id\":3}\n",
        )
        .expect("a file");
        let error = Files::open(folder.path(), &Names::default()).expect_err("a column");
        assert!(error.to_string().contains("no row has \"user_id\""), "{error}");
    }

    #[test]
    fn rows_that_are_not_utf8_keep_their_id_only() {
        let text = marked(b"id,text\n1,good\n2,b\xffd\n\xfe3,good\n4,good\n");
        let rows = from_csv(&text, &["id", "text"]).expect("records").into_iter().map(checked);
        let rows: Vec<Row> = rows.collect();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(rows[1], [some("2"), None]);
        assert_eq!(rows[2], [None, None]);
        assert_eq!(rows[3], [some("4"), some("good")]);
    }
}
