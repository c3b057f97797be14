//! Telling every process what is void, and hearing it.

use std::{sync::Arc, time::Duration};

use keyrack_keys::UserSub;
use keyrack_store::{Event, Store, Subscription};
use serde::{Deserialize, Serialize};

use crate::{
    counters::{Counters, count},
    error::Error,
    keys,
    lookup::Local,
    python,
    service::Entitlements,
};

/// How long to wait before listening is tried again. Until it works, nothing is answered from memory.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// What goes through the channel: what was checked before a moment is void.
#[derive(Debug, Serialize, Deserialize)]
struct Message {
    user_sub: String,
    min_checked_at: f64,
}

impl Entitlements {
    /// Forgets what is known about a user, in the store and in every process. The next read asks the source.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn purge(&self, user: &UserSub) -> Result<(), Error> {
        let mut cmd = redis::cmd("DEL");
        cmd.arg(&*self.store().place(&keys::entitlements(user)));
        cmd.exec_async(&mut self.store().connection()).await?;
        let now = self.now();
        self.inner.local.purge(user, now);
        self.publish(user, now).await
    }

    /// Tells every process of what was just stored. Those who do not hear it are behind until their copy expires, which is no
    /// reason to keep the answer from whoever asked.
    pub(crate) async fn tell(&self, user: &UserSub, min_checked_at: f64) {
        if let Err(error) = self.publish(user, min_checked_at).await {
            tracing::warn!(error = %error, "other processes could not be told of a new entitlement");
        }
    }

    async fn publish(&self, user: &UserSub, min_checked_at: f64) -> Result<(), Error> {
        let message = Message { user_sub: user.as_str().to_owned(), min_checked_at };
        self.store().publish(&keys::purge(), python::json(&message)).await?;
        Ok(())
    }
}

/// Listens to purges for as long as it is polled.
pub(crate) async fn listen(store: Store, local: Arc<Local>, counters: Arc<Counters>) {
    loop {
        match store.subscribe(&[keys::purge()]).await {
            Ok(subscription) => follow(subscription, &local, &counters).await,
            Err(error) => tracing::debug!(%error, "purges of entitlements cannot be heard yet"),
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

async fn follow(mut subscription: Subscription, local: &Local, counters: &Counters) {
    local.clear();
    local.set_listening(true);
    while let Some(event) = subscription.next().await {
        match event {
            Event::Gap => local.clear(),
            Event::Message(message) => {
                count(&counters.purges);
                obey(&message.payload, local);
            }
        }
    }
    local.set_listening(false);
}

fn obey(payload: &[u8], local: &Local) {
    let message = serde_json::from_slice::<Message>(payload).ok();
    let purge = message
        .and_then(|message| Some((UserSub::new(message.user_sub).ok()?, message.min_checked_at)));
    match purge {
        Some((user, min_checked_at)) => local.purge(&user, min_checked_at),
        // Somebody was to be purged, and nobody knows who.
        None => local.clear(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_written_as_python_writes_them() {
        let message = Message { user_sub: "zoë".into(), min_checked_at: 1_669_852_800.5 };
        let text = r#"{"user_sub": "zo\u00eb", "min_checked_at": 1669852800.5}"#;
        assert_eq!(python::json(&message), text);
        let read: Message = serde_json::from_str(text).expect("a message");
        assert_eq!((&*read.user_sub, read.min_checked_at), ("zoë", 1_669_852_800.5));
    }
}
