//! Rules of the calculations whose conditions have to hold for a while: they speak without another event.

use std::time::Duration;

use keyrack_calculations::Accounts;
use keyrack_store::Store;

/// How often to look: hold times are rarely shorter than some seconds.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Lets rules speak when their time has come, for as long as the server runs. It may be dropped at any moment, and any
/// number of servers may do it.
pub(super) async fn judge_forever(store: Store) {
    let accounts = Accounts::open(store);
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        match accounts.judge_due().await {
            Ok(0) => {}
            Ok(spoke) => tracing::debug!(spoke, "rules have waited for long enough"),
            Err(error) => tracing::warn!(%error, "rules that wait could not be looked at"),
        }
    }
}
