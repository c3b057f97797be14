//! What `keyrack serve` needs to recommend: its settings, and the app's tables.

use std::{ops::ControlFlow, sync::Arc};

use keyrack_recommender::{Mapping, Names, Recommender, Row, Source as _, Synced};
use keyrack_services::{AppTables, Recommendations, TablesFuture};
use keyrack_store::Store;
use tokio::sync::Mutex;

use super::{settings, source::SourceTables};
use crate::{Globals, settings::RECOMMEND_FROM};

/// What to show to whom, as the settings say.
pub(crate) fn recommendations(store: &Store, globals: &Globals) -> anyhow::Result<Recommendations> {
    let settings = settings::of(&globals.settings)?;
    let recommendations = Recommendations::new(Recommender::new(store.clone(), settings));
    let names = settings::names(&globals.settings)?;
    let Some(from) = &globals.settings.get(&RECOMMEND_FROM).value else {
        return Ok(recommendations);
    };
    let mapping = settings::map(&globals.settings)?;
    let tables = ServerTables { from: from.clone(), names, mapping, open: Mutex::new(None) };
    Ok(recommendations.with_tables(Arc::new(tables)))
}

/// The app's tables, opened when they are first needed, and again after a failure.
struct ServerTables {
    from: String,
    names: Names,
    mapping: Option<Mapping>,
    open: Mutex<Option<SourceTables>>,
}

impl std::fmt::Debug for ServerTables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The URL may hold a password.
        f.debug_struct("ServerTables").finish_non_exhaustive()
    }
}

impl AppTables for ServerTables {
    fn load<'a>(&'a self, into: &'a Recommender) -> TablesFuture<'a, Synced> {
        Box::pin(async {
            // Opened anew: files are read when they are opened. Posts can be asked for meanwhile.
            let mut tables = SourceTables::open(&self.from, self.names.clone()).await?;
            if let Some(mapping) = &self.mapping {
                into.apply(mapping).await?;
            }
            let synced = into.sync(&mut tables, &mut |_| ControlFlow::Continue(())).await?;
            *self.open.lock().await = Some(tables);
            Ok(synced)
        })
    }

    fn posts<'a>(&'a self, ids: &'a [u64]) -> TablesFuture<'a, Vec<Row>> {
        Box::pin(async {
            let mut open = self.open.lock().await;
            let mut tables = match open.take() {
                Some(tables) => tables,
                None => SourceTables::open(&self.from, self.names.clone()).await?,
            };
            let found = match tables.posts(ids).await {
                Ok(found) => found,
                // The connection may have been closed while nobody used it.
                Err(_) => {
                    tables = SourceTables::open(&self.from, self.names.clone()).await?;
                    tables.posts(ids).await?
                }
            };
            *open = Some(tables);
            Ok(found)
        })
    }
}
