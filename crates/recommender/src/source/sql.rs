//! Tables in a database: SQLite, PostgreSQL or MySQL.
//!
//! Every value is asked for as text, so that one way of reading serves all three and columns may have any type.

use sqlx::{AnyConnection, Connection as _, Row as _};

use super::{From, Names, Row, Source, Table};
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
            reason: error.to_string(),
        })?;
        Ok(Sql { connection, kind, names })
    }

    fn select(&self, table: Table, from: From, limit: usize) -> String {
        let names: Vec<String> = self.names.columns(table).map(|name| self.quoted(name)).collect();
        let columns: Vec<String> = names.iter().map(|name| self.as_text(name)).collect();
        let (columns, table) = (columns.join(", "), self.quoted(self.names.table(table)));
        match from {
            From::Id(after) => {
                let id = &names[0];
                format!(
                    "SELECT {columns} FROM {table} WHERE {id} > {after} ORDER BY {id} LIMIT {limit}"
                )
            }
            From::Row(skip) => {
                let order = names.join(", ");
                format!(
                    "SELECT {columns} FROM {table} ORDER BY {order} LIMIT {limit} OFFSET {skip}"
                )
            }
        }
    }

    fn as_text(&self, column: &str) -> String {
        let text = if self.kind == Kind::MySql { "CHAR" } else { "TEXT" };
        format!("CAST({column} AS {text})")
    }

    /// A name that may hold a schema: `app.posts`. [`Names`] lets no quotes through.
    fn quoted(&self, name: &str) -> String {
        let quote = if self.kind == Kind::MySql { '`' } else { '"' };
        let words: Vec<String> =
            name.split('.').map(|word| format!("{quote}{word}{quote}")).collect();
        words.join(".")
    }

    fn failed(&self, table: Table, error: &sqlx::Error) -> Error {
        Error::Source { table: self.names.table(table).to_owned(), reason: error.to_string() }
    }
}

impl Source for Sql {
    async fn page(&mut self, table: Table, from: From, limit: usize) -> Result<Vec<Row>, Error> {
        let query = self.select(table, from, limit);
        let found = sqlx::query(&query).fetch_all(&mut self.connection).await;
        let width = table.columns().len();
        let row = |row: &sqlx::any::AnyRow| -> Result<Row, sqlx::Error> {
            (0..width).map(|at| row.try_get::<Option<String>, _>(at)).collect()
        };
        let rows = found.and_then(|rows| rows.iter().map(row).collect());
        rows.map_err(|error| self.failed(table, &error))
    }

    async fn len(&mut self, table: Table) -> Result<u64, Error> {
        let count = self.as_text("COUNT(*)");
        let query = format!("SELECT {count} FROM {}", self.quoted(self.names.table(table)));
        let found = sqlx::query(&query).fetch_one(&mut self.connection).await;
        let rows = found.and_then(|row| row.try_get::<String, _>(0));
        Ok(rows.map_err(|error| self.failed(table, &error))?.parse().unwrap_or(0))
    }
}
