//! Rules that wait for their time, of all accounts: what a server does every second.
//!
//! Each account has the rules that wait in a key of its own, and the accounts stand in one list by when to look at them. A
//! rule that begins to wait moves its account forward there; should that get lost with a process that dies, the account is
//! looked at within a minute all the same.

use keyrack_store::{Script, script};

use crate::{
    accounts::Accounts,
    error::Error,
    keys::{self, Account},
};

static DUE: Script = script!("due.lua");

/// Accounts that are taken on at once.
const ACCOUNTS_AT_ONCE: usize = 100;
/// How soon an account is looked at again at the latest.
const AGAIN_MS: u64 = 60_000;

impl Accounts {
    /// Lets the rules speak whose conditions have held, or ceased to, for long enough; returns how many did.
    ///
    /// Any number of processes may do this, as often as they like: a rule speaks once.
    ///
    /// # Errors
    /// When the store failed. An account that cannot be read does not keep the others waiting.
    pub async fn judge_due(&self) -> Result<u64, Error> {
        let (mut spoke, mut failed) = (0, None);
        loop {
            let accounts = self.take_on().await?;
            for account in &accounts {
                match self.judge_account(account).await {
                    Ok(some) => spoke += some,
                    Err(error) => failed = Some(error),
                }
            }
            if accounts.len() < ACCOUNTS_AT_ONCE {
                return failed.map_or(Ok(spoke), Err);
            }
        }
    }

    async fn judge_account(&self, account: &Account) -> Result<u64, Error> {
        let ledger = self.existing(account).await?;
        let (spoke, next) = ledger.speak().await?;
        if let Some(next) = next {
            ledger.announce_due(next).await?;
        }
        Ok(spoke)
    }

    async fn take_on(&self) -> Result<Vec<Account>, Error> {
        let now = self.store().now_ms();
        let names: Vec<String> = DUE
            .call(self.store())
            .key("due_accounts", &keys::due_accounts())
            .arg("now", now)
            .arg("again_at", now + AGAIN_MS)
            .arg("max", ACCOUNTS_AT_ONCE)
            .run()
            .await?;
        // A name that another program has put there is none of ours.
        Ok(names.into_iter().filter_map(|name| Account::new(name).ok()).collect())
    }
}
