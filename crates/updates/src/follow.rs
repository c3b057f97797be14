//! Hearing of updates.

use std::time::Duration;

use futures_util::FutureExt as _;
use keyrack_store::{Event, Subscription};
use tokio::time::sleep;

use crate::{
    error::Error,
    keys::{self, Repo},
    updates::Updates,
};

/// How soon a store that did not answer is asked again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Somebody who wants to hear of the updates of a repository.
#[derive(Debug)]
pub struct Follower {
    updates: Updates,
    repo: Repo,
    heard: Subscription,
}

/// Why it is time to update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Somebody said that there is something new.
    Announced,
    /// The connection was lost for a while, so that somebody may have.
    MayHaveMissed,
}

impl Updates {
    /// Follows a repository: what is announced from now on is heard.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn follow(&self, repo: Repo) -> Result<Follower, Error> {
        let heard = self.store().subscribe(&[keys::updates(&repo)]).await?;
        Ok(Follower { updates: self.clone(), repo, heard })
    }
}

impl Follower {
    /// Waits for the next update. However many were announced since the last call, they are one.
    pub async fn next(&mut self) -> Reason {
        let mut reason = match self.heard.next().await {
            Some(event) => Reason::of(&event),
            None => {
                self.subscribe_again().await;
                Reason::MayHaveMissed
            }
        };
        while let Some(Some(event)) = self.heard.next().now_or_never() {
            if Reason::of(&event) == Reason::Announced {
                reason = Reason::Announced;
            }
        }
        reason
    }

    /// Whether something was announced since the last call, or may have been. What was is the next thing to be heard no more.
    pub fn take_pending(&mut self) -> bool {
        let mut pending = false;
        while let Some(Some(_)) = self.heard.next().now_or_never() {
            pending = true;
        }
        pending
    }

    async fn subscribe_again(&mut self) {
        loop {
            match self.updates.store().subscribe(&[keys::updates(&self.repo)]).await {
                Ok(heard) => {
                    self.heard = heard;
                    return;
                }
                Err(error) => {
                    tracing::warn!(%error, "could not listen for updates");
                    sleep(RETRY_PAUSE).await;
                }
            }
        }
    }
}

impl Reason {
    fn of(event: &Event) -> Reason {
        match event {
            Event::Message(_) => Reason::Announced,
            Event::Gap => Reason::MayHaveMissed,
        }
    }
}
