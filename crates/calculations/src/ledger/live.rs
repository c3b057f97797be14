//! Hearing of changes to a project's results.

use keyrack_store::{Event, Subscription};
use serde::{Deserialize, Serialize};

use super::Ledger;
use crate::{error::Error, keys, keys::Project};

/// What is heard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Changed {
    /// The dimension.
    pub dimension: String,
    /// The key whose results have changed.
    pub key: String,
    /// How often it has changed by now.
    pub version: u64,
}

/// Changes to a project's results as they happen.
#[derive(Debug)]
pub struct Live {
    subscription: Subscription,
}

impl Ledger {
    /// Listens to a project; what changes after this returns is heard.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn live(&self, project: &Project) -> Result<Live, Error> {
        let channel = keys::changes(self.account(), project);
        Ok(Live { subscription: self.store().subscribe(&[channel]).await? })
    }
}

impl Live {
    /// The next change; `None` in it when some may have been missed, and at the end when the store is gone.
    pub async fn next(&mut self) -> Option<Option<Changed>> {
        loop {
            match self.subscription.next().await? {
                Event::Gap => return Some(None),
                Event::Message(message) => {
                    if let Ok(changed) = serde_json::from_slice(&message.payload) {
                        return Some(Some(changed));
                    }
                }
            }
        }
    }
}
