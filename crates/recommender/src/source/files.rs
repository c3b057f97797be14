//! Tables in a folder of CSV or NDJSON files, one for each table: `post.csv` or `post.ndjson`.

use std::{fs, path::Path};

use super::{From, Memory, Names, Row, Source, Table, csv};
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
        for table in Table::ALL {
            for (ending, read) in [("csv", from_csv as Read), ("ndjson", from_ndjson)] {
                let path = folder.join(format!("{}.{ending}", names.table(table)));
                let failed =
                    |reason: String| Error::Source { table: path.display().to_string(), reason };
                if !path.exists() {
                    continue;
                }
                files += 1;
                let text = fs::read_to_string(&path).map_err(|error| failed(error.to_string()))?;
                let columns: Vec<&str> = names.columns(table).collect();
                tables.rows(table).extend(read(&text, &columns).map_err(failed)?);
            }
        }
        if files == 0 {
            let reason = "it has no file such as \"post.csv\" or \"post.ndjson\"".into();
            return Err(Error::Source { table: folder.display().to_string(), reason });
        }
        tables.sort();
        Ok(Files { tables })
    }
}

type Read = fn(&str, &[&str]) -> Result<Vec<Row>, String>;

fn from_csv(text: &str, columns: &[&str]) -> Result<Vec<Row>, String> {
    let mut records = csv::parse(text)?.into_iter();
    let Some(header) = records.next() else { return Ok(Vec::new()) };
    let place = |column: &&str| {
        let found = header.iter().position(|name| name.as_deref() == Some(*column));
        found.ok_or_else(|| format!("it has no column \"{column}\""))
    };
    let places: Vec<usize> = columns.iter().map(place).collect::<Result<_, _>>()?;
    let row = |record: Vec<Option<String>>| {
        places.iter().map(|&at| record.get(at).cloned().flatten()).collect()
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
        assert!(error.to_string().contains("it has no file"), "{error}");
    }
}
