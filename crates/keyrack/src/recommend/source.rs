//! Where the app's tables are: a database, or a folder of files.

use std::path::Path;

use keyrack_recommender::{Error, Files, From, Names, Row, Source, Sql, Table};

/// Tables of any kind.
#[derive(Debug)]
pub(super) enum Tables {
    Sql(Box<Sql>),
    Files(Files),
}

impl Tables {
    /// Opens a database by its URL, or a folder.
    pub(super) async fn open(from: &str, names: Names) -> Result<Tables, Error> {
        let is_url = ["sqlite:", "postgres:", "postgresql:", "mysql:", "mariadb:"];
        if is_url.iter().any(|scheme| from.starts_with(scheme)) {
            return Ok(Tables::Sql(Box::new(Sql::open(from, names).await?)));
        }
        Ok(Tables::Files(Files::open(Path::new(from), &names)?))
    }
}

impl Source for Tables {
    async fn page(&mut self, table: Table, from: From, limit: usize) -> Result<Vec<Row>, Error> {
        match self {
            Tables::Sql(sql) => sql.page(table, from, limit).await,
            Tables::Files(files) => files.page(table, from, limit).await,
        }
    }

    async fn posts(&mut self, ids: &[u64]) -> Result<Vec<Row>, Error> {
        match self {
            Tables::Sql(sql) => sql.posts(ids).await,
            Tables::Files(files) => files.posts(ids).await,
        }
    }

    async fn len(&mut self, table: Table) -> Result<u64, Error> {
        match self {
            Tables::Sql(sql) => sql.len(table).await,
            Tables::Files(files) => files.len(table).await,
        }
    }
}
