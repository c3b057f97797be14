//! Where the app's tables are: a database, or a folder of files.

use std::path::Path;

use anyhow::Context as _;
use keyrack_recommender::{Error, Files, From, Names, Row, Source, Sql, Table};

/// Tables of any kind.
pub(super) enum Tables {
    Sql(Box<Sql>),
    Files(Files),
}

impl Tables {
    /// Opens a database by its URL, or a folder.
    pub(super) async fn open(from: &str, rename: &[String]) -> anyhow::Result<Tables> {
        let names = Names::parse(rename)?;
        let is_url = ["sqlite:", "postgres:", "postgresql:", "mysql:", "mariadb:"];
        if is_url.iter().any(|scheme| from.starts_with(scheme)) {
            let sql = Sql::open(from, names).await.context("could not open the app's database")?;
            return Ok(Tables::Sql(Box::new(sql)));
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

    async fn len(&mut self, table: Table) -> Result<u64, Error> {
        match self {
            Tables::Sql(sql) => sql.len(table).await,
            Tables::Files(files) => files.len(table).await,
        }
    }
}
