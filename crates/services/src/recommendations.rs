//! The recommender, and the app's tables that it is loaded from.

use std::{fmt, pin::Pin, sync::Arc};

use keyrack_recommender::{Error, Recommender, Row, Synced};
use tokio::sync::Mutex;

/// A recommender, and where its app's tables are.
#[derive(Debug, Clone)]
pub struct Recommendations {
    /// The recommender itself.
    pub recommender: Recommender,
    tables: Option<Arc<dyn AppTables>>,
    /// Held while a load runs: a second one would only be in its way.
    loading: Arc<Mutex<()>>,
}

impl Recommendations {
    /// A recommender that is told everything, or loaded by others.
    pub fn new(recommender: Recommender) -> Recommendations {
        Recommendations { recommender, tables: None, loading: Arc::default() }
    }

    /// The same, loading from these tables.
    #[must_use]
    pub fn with_tables(self, tables: Arc<dyn AppTables>) -> Recommendations {
        Recommendations { tables: Some(tables), ..self }
    }

    /// The app's tables, if the server knows where they are.
    pub fn tables(&self) -> Option<&dyn AppTables> {
        self.tables.as_deref()
    }

    /// Loads what is new in the app's tables, unless a load runs. `None` if nobody knows where they are.
    ///
    /// # Errors
    /// [`Error::Busy`] while a load runs, and those of the load.
    pub async fn load(&self) -> Option<Result<Synced, Error>> {
        let tables = self.tables()?;
        let Ok(_loading) = self.loading.try_lock() else { return Some(Err(Error::Busy)) };
        Some(tables.load(&self.recommender).await)
    }
}

/// What comes of a question to the app's tables.
pub type TablesFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// The app's tables, wherever they are: the server itself reads no database.
pub trait AppTables: fmt::Debug + Send + Sync {
    /// Loads what is new.
    fn load<'a>(&'a self, into: &'a Recommender) -> TablesFuture<'a, Synced>;

    /// Posts by their ids, in any order; those that are not there are left out.
    fn posts<'a>(&'a self, ids: &'a [u64]) -> TablesFuture<'a, Vec<Row>>;
}
