//! What a server does again and again: what is due for each webhook.

use std::{collections::HashSet, sync::Arc};

use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::{error::Error, keys::HookId, webhooks::Webhooks};

/// Delivers to all webhooks, each for itself, so that a slow one keeps no other waiting. Dropping
/// it breaks off what is on its way, which is then delivered again.
#[derive(Debug)]
pub struct Deliverer {
    webhooks: Webhooks,
    /// The webhooks that are being delivered to.
    busy: Arc<Mutex<HashSet<HookId>>>,
    tasks: JoinSet<()>,
}

impl Deliverer {
    /// A deliverer of these webhooks.
    pub fn new(webhooks: Webhooks) -> Deliverer {
        Deliverer { webhooks, busy: Arc::default(), tasks: JoinSet::new() }
    }

    /// Lets each webhook that is not busy deliver what is due. Does not wait for the receivers.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn round(&mut self) -> Result<(), Error> {
        while self.tasks.try_join_next().is_some() {}
        self.webhooks.finish_deletions().await?;
        for (hook, settings) in self.webhooks.all().await? {
            if !settings.enabled || !self.busy.lock().insert(hook.clone()) {
                continue;
            }
            let (webhooks, busy) = (self.webhooks.clone(), self.busy.clone());
            self.tasks.spawn(async move {
                if let Err(error) = webhooks.deliver_due(&hook).await {
                    tracing::warn!(%error, %hook, "could not deliver; will try again");
                }
                busy.lock().remove(&hook);
            });
        }
        Ok(())
    }
}
