//! Taking events in from a channel, which is heard only while somebody listens.

use keyrack_store::Event as StoreEvent;

use super::{IntakeCounts, record};
use crate::{
    accounts::Accounts,
    error::Error,
    keys::{self, IntakeName},
};

impl Accounts {
    /// Takes in what is published on a channel, one event on each line of a message, until `stop` resolves.
    ///
    /// # Errors
    /// When the store failed at the start. Later, messages that cannot be stored are counted as refused.
    pub async fn listen(
        &self,
        name: &IntakeName,
        stop: impl Future<Output = ()>,
        mut tell: impl FnMut(IntakeCounts),
    ) -> Result<IntakeCounts, Error> {
        let mut stop = std::pin::pin!(stop);
        let mut heard = self.store().subscribe(&[keys::intake_channel(name)]).await?;
        let mut all = IntakeCounts::default();
        loop {
            let event = tokio::select! {
                biased;
                () = &mut stop => return Ok(all),
                event = heard.next() => event,
            };
            let Some(event) = event else { return Ok(all) };
            let StoreEvent::Message(message) = event else { continue };
            let text = String::from_utf8_lossy(&message.payload);
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let lines: Vec<String> = lines.map(str::to_owned).collect();
            match record(self, &lines).await {
                Ok((stored, refused)) => {
                    all += IntakeCounts { stored, refused: refused.len() as u64 };
                }
                // Nobody sends it again.
                Err(_) => all.refused += lines.len() as u64,
            }
            tell(all);
        }
    }
}
