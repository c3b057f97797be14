//! Tables in a database: SQLite, PostgreSQL or MySQL.
//!
//! Every value is asked for as text, so that one way of reading serves all three and columns may have any type.

use sqlx::{AnyConnection, Connection as _, Row as _};

use super::{From, Names, Row, Source, Table, unreadable};
use crate::error::Error;

/// Tables in a database. Nothing is ever written to it.
#[derive(Debug)]
pub struct Sql {
    connection: AnyConnection,
    kind: Kind,
    names: Names,
}

/// Whose dialect is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sqlite,
    Postgres,
    MySql,
}

impl Kind {
    fn of(url: &str) -> Option<Kind> {
        match url.split(':').next()? {
            "sqlite" => Some(Kind::Sqlite),
            "postgres" | "postgresql" => Some(Kind::Postgres),
            "mysql" | "mariadb" => Some(Kind::MySql),
            _ => None,
        }
    }
}

impl Sql {
    /// Connects to `sqlite:FILE`, `postgres://…` or `mysql://…`.
    ///
    /// # Errors
    /// When the URL is of another kind, or the database does not answer. The message does not show the password.
    pub async fn open(url: &str, names: Names) -> Result<Sql, Error> {
        sqlx::any::install_default_drivers();
        let kind = Kind::of(url).ok_or_else(|| Error::Invalid {
            what: "the database's URL is of no known kind; use \"sqlite:\", \"postgres://\" or \"mysql://\"".into(),
        })?;
        let connection = AnyConnection::connect(url).await.map_err(|error| Error::Source {
            table: format!("{kind:?}").to_lowercase(),
            reason: missing_file(url, kind).unwrap_or_else(|| error.to_string()),
        })?;
        Ok(Sql { connection, kind, names })
    }

    /// All columns of a table as text, up to where conditions begin.
    fn select(&self, table: Table, names: &[String]) -> String {
        let columns: Vec<String> = names.iter().map(|name| self.as_text(name)).collect();
        format!("SELECT {} FROM {}", columns.join(", "), self.quoted(self.names.table(table)))
    }

    fn column_names(&self, table: Table) -> Vec<String> {
        let column = |name: &str| if name.is_empty() { "NULL".into() } else { self.quoted(name) };
        self.names.columns(table).map(column).collect()
    }

    async fn rows(&mut self, table: Table, query: &str) -> Result<Vec<Row>, Error> {
        let found = sqlx::query(query).fetch_all(&mut self.connection).await;
        let width = table.columns().len();
        let row = |row: &sqlx::any::AnyRow| -> Result<Row, sqlx::Error> {
            let mut is_readable = true;
            let mut values = Row::with_capacity(width);
            for at in 0..width {
                let value = text(row, at)?;
                is_readable &= value.is_ok();
                values.push(value.ok().flatten());
            }
            if !is_readable {
                return Ok(unreadable(values));
            }
            if self.names.completes() {
                self.names.complete(table, &mut values);
            }
            Ok(values)
        };
        let rows = found.and_then(|rows| rows.iter().map(row).collect());
        rows.map_err(|error| self.failed(table, &error))
    }

    /// A value as text. SQLite stores any bytes as text, so they are asked for as bytes: one bad text must not spoil a page.
    fn as_text(&self, column: &str) -> String {
        match self.kind {
            Kind::Sqlite => format!("CAST(CAST({column} AS TEXT) AS BLOB)"),
            Kind::Postgres => format!("CAST({column} AS TEXT)"),
            Kind::MySql => format!("CAST({column} AS CHAR)"),
        }
    }

    /// A name that may hold a schema: `app.posts`. [`Names`] lets no quotes through.
    ///
    /// SQLite takes a column in double quotes that does not exist for a text. In brackets it says that there is none.
    fn quoted(&self, name: &str) -> String {
        let (open, close) = match self.kind {
            Kind::Sqlite => ('[', ']'),
            Kind::Postgres => ('"', '"'),
            Kind::MySql => ('`', '`'),
        };
        let words: Vec<String> =
            name.split('.').map(|word| format!("{open}{word}{close}")).collect();
        words.join(".")
    }

    fn failed(&self, table: Table, error: &sqlx::Error) -> Error {
        let mut reason = error.to_string();
        if matches!(error, sqlx::Error::Database(_)) && reason.contains("column") {
            reason.push_str(&format!(
                "; \"--rename {}.COLUMN=NAME\" says what it is called",
                table.name()
            ));
        }
        Error::Source { table: self.names.table(table).to_owned(), reason }
    }
}

impl Source for Sql {
    async fn page(&mut self, table: Table, from: From, limit: usize) -> Result<Vec<Row>, Error> {
        if !self.names.has(table) {
            return Ok(Vec::new());
        }
        let names = self.column_names(table);
        let select = self.select(table, &names);
        let query = match from {
            From::Id(after) => {
                let id = &names[0];
                format!("{select} WHERE {id} > {after} ORDER BY {id} LIMIT {limit}")
            }
            From::Row(skip) => {
                let order: Vec<&str> =
                    names.iter().map(String::as_str).filter(|name| *name != "NULL").collect();
                format!("{select} ORDER BY {} LIMIT {limit} OFFSET {skip}", order.join(", "))
            }
        };
        self.rows(table, &query).await
    }

    async fn posts(&mut self, ids: &[u64]) -> Result<Vec<Row>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let names = self.column_names(Table::Posts);
        let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
        let select = self.select(Table::Posts, &names);
        let query = format!("{select} WHERE {} IN ({})", names[0], ids.join(", "));
        self.rows(Table::Posts, &query).await
    }

    async fn len(&mut self, table: Table) -> Result<u64, Error> {
        if !self.names.has(table) {
            return Ok(0);
        }
        let count = self.as_text("COUNT(*)");
        let query = format!("SELECT {count} FROM {}", self.quoted(self.names.table(table)));
        let found = sqlx::query(&query).fetch_one(&mut self.connection).await;
        let rows = found.and_then(|row| text(&row, 0));
        let rows = rows.map_err(|error| self.failed(table, &error))?;
        Ok(rows.ok().flatten().and_then(|rows| rows.parse().ok()).unwrap_or(0))
    }
}

/// A value that was asked for as text, which may not be UTF-8. SQLite gives bytes, and MySQL calls long text a blob.
type Text = Result<Option<String>, std::string::FromUtf8Error>;

fn text(row: &sqlx::any::AnyRow, at: usize) -> Result<Text, sqlx::Error> {
    match row.try_get::<Option<String>, _>(at) {
        Ok(text) => Ok(Ok(text)),
        Err(error) => match row.try_get::<Option<Vec<u8>>, _>(at) {
            Ok(bytes) => Ok(bytes.map(String::from_utf8).transpose()),
            Err(_) => Err(error),
        },
    }
}

/// Says that there is no such file, which SQLite calls "unable to open database file".
fn missing_file(url: &str, kind: Kind) -> Option<String> {
    let path = url.strip_prefix("sqlite:").filter(|_| kind == Kind::Sqlite)?;
    let path = path.strip_prefix("//").unwrap_or(path);
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let is_missing = !std::path::Path::new(path).exists();
    is_missing.then(|| format!("there is no file \"{path}\""))
}
