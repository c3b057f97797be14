//! Webhooks: what happens is handed to them, and they are delivered, for as long as the server runs.

use std::{sync::Arc, time::Duration};

use keyrack_services::{Forwarder, Services};
use keyrack_webhooks::Deliverer;

/// How often to look. An event is sent within about so long.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Hands on and delivers. It may be dropped at any moment, and any number of servers may do it.
pub(super) async fn deliver_forever(services: Arc<Services>) {
    let mut forwarder = Forwarder::new(services.clone(), uuid::Uuid::new_v4().to_string());
    let mut deliverer = Deliverer::new(services.webhooks.clone());
    loop {
        if let Err(error) = forwarder.round().await {
            tracing::debug!(%error, "events could not be handed to webhooks; will try again");
        }
        if let Err(error) = deliverer.round().await {
            tracing::debug!(%error, "webhooks could not be looked at; will try again");
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
