//! Where the app's tables are: a database, or a folder of files.

use std::path::Path;

use keyrack_recommender::{Error, Files, From, Names, Row, Source, Sql, Table};

/// Tables of any kind.
#[derive(Debug)]
pub(super) enum SourceTables {
    Sql(Box<Sql>),
    Files(Files),
}

impl SourceTables {
    /// Opens a database by its URL, or a folder.
    pub(super) async fn open(from: &str, names: Names) -> Result<SourceTables, Error> {
        let is_url = ["sqlite:", "postgres:", "postgresql:", "mysql:", "mariadb:"];
        if is_url.iter().any(|scheme| from.starts_with(scheme)) {
            return Ok(SourceTables::Sql(Box::new(Sql::open(from, names).await?)));
        }
        Ok(SourceTables::Files(Files::open(Path::new(from), &names)?))
    }
}

impl Source for SourceTables {
    async fn page(&mut self, table: Table, from: From, limit: usize) -> Result<Vec<Row>, Error> {
        match self {
            SourceTables::Sql(sql) => sql.page(table, from, limit).await,
            SourceTables::Files(files) => files.page(table, from, limit).await,
        }
    }

    async fn posts(&mut self, ids: &[u64]) -> Result<Vec<Row>, Error> {
        match self {
            SourceTables::Sql(sql) => sql.posts(ids).await,
            SourceTables::Files(files) => files.posts(ids).await,
        }
    }

    async fn len(&mut self, table: Table) -> Result<u64, Error> {
        match self {
            SourceTables::Sql(sql) => sql.len(table).await,
            SourceTables::Files(files) => files.len(table).await,
        }
    }
}
