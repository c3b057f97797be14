//! Taking events in from a Redis list or channel, into which any program puts them.
//!
//! From a list nothing is lost: entries are kept aside until they are stored, and whoever dies with some leaves them to
//! the next start. A channel is heard only while somebody listens.

use std::time::Duration;

use keyrack_keys::Key;
use keyrack_store::{Event as Heard, Script, script};

use crate::{
    accounts::Accounts,
    error::Error,
    keys::{self, IntakeName},
    line::Line,
};

static TAKE: Script = script!("take.lua");
static PUT_AWAY: Script = script!("put_away.lua");

/// Entries that are stored at once.
const ENTRIES_AT_ONCE: usize = 500;
/// Refused entries that are kept; older ones go.
const REFUSED_MAX: usize = 10_000;
/// How long to wait for the next entry before looking whether to stop.
const WAIT_S: f64 = 0.5;
/// How long to wait before trying again when the store is away.
const STORE_RETRY: Duration = Duration::from_millis(500);

/// What an intake has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// Events that were stored.
    pub stored: u64,
    /// Entries that were refused.
    pub refused: u64,
}

/// A list of events to be taken in. One process at a time works on a list.
#[derive(Debug)]
pub struct Intake {
    accounts: Accounts,
    name: IntakeName,
}

impl Intake {
    /// The list of that name.
    pub fn new(accounts: Accounts, name: IntakeName) -> Intake {
        Intake { accounts, name }
    }

    /// Takes events in until `stop` resolves; `tell` hears of each batch.
    ///
    /// # Errors
    /// When the store refused; while it is away, the intake waits.
    pub async fn run(
        &self,
        stop: impl Future<Output = ()>,
        mut tell: impl FnMut(Taken),
    ) -> Result<Taken, Error> {
        let mut stop = std::pin::pin!(stop);
        let mut all = Taken::default();
        // What somebody who died had taken comes first.
        let mut left_over = true;
        loop {
            let step = async {
                match if left_over { self.recover().await } else { self.step().await } {
                    Err(error) if error.is_transient() => {
                        tokio::time::sleep(STORE_RETRY).await;
                        Ok(None)
                    }
                    done => done.map(Some),
                }
            };
            let done = tokio::select! {
                // A batch under way is dropped: its entries are kept aside and come first at the next start.
                biased;
                () = &mut stop => return Ok(all),
                done = step => done?,
            };
            let Some(done) = done else { continue };
            left_over = false;
            all = Taken { stored: all.stored + done.stored, refused: all.refused + done.refused };
            if done != Taken::default() {
                tell(all);
            }
        }
    }

    /// Takes in what is there and returns; for tests and for those who have a loop of their own.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn drain(&self) -> Result<Taken, Error> {
        let mut all = self.recover().await?;
        loop {
            let entries = self.take().await?;
            if entries.is_empty() {
                return Ok(all);
            }
            let done = self.store(entries).await?;
            all = Taken { stored: all.stored + done.stored, refused: all.refused + done.refused };
        }
    }

    /// What had been taken and not stored.
    async fn recover(&self) -> Result<Taken, Error> {
        let store = self.accounts.store();
        let mut all = Taken::default();
        loop {
            let mut cmd = redis::cmd("LRANGE");
            cmd.arg(&*store.place(&keys::intake_taken(&self.name))).arg(0).arg(ENTRIES_AT_ONCE - 1);
            let entries: Vec<Vec<u8>> = cmd.query_async(&mut store.connection()).await?;
            if entries.is_empty() {
                return Ok(all);
            }
            let done = self.store(entries).await?;
            all = Taken { stored: all.stored + done.stored, refused: all.refused + done.refused };
        }
    }

    /// Takes some entries in, after waiting for the first.
    async fn step(&self) -> Result<Taken, Error> {
        let mut entries = self.take().await?;
        if entries.is_empty() {
            entries.extend(self.wait().await?);
        }
        if entries.is_empty() { Ok(Taken::default()) } else { self.store(entries).await }
    }

    async fn take(&self) -> Result<Vec<Vec<u8>>, Error> {
        let entries = TAKE
            .call(self.accounts.store())
            .key("waiting", &keys::intake(&self.name))
            .key("taken", &keys::intake_taken(&self.name))
            .arg("max", ENTRIES_AT_ONCE)
            .run()
            .await?;
        Ok(entries)
    }

    async fn wait(&self) -> Result<Option<Vec<u8>>, Error> {
        let store = self.accounts.store();
        let place = |key: Key| store.place(&key).into_owned();
        let mut cmd = redis::cmd("BLMOVE");
        cmd.arg(place(keys::intake(&self.name))).arg(place(keys::intake_taken(&self.name)));
        cmd.arg("LEFT").arg("RIGHT").arg(WAIT_S);
        Ok(cmd.query_async(&mut store.blocking()).await?)
    }

    /// Stores entries that were taken, and puts them away.
    async fn store(&self, entries: Vec<Vec<u8>>) -> Result<Taken, Error> {
        let n = entries.len();
        let texts: Vec<String> =
            entries.iter().map(|entry| String::from_utf8_lossy(entry).into_owned()).collect();
        let (stored, refused) = record(&self.accounts, &texts).await?;
        let taken = Taken { stored, refused: refused.len() as u64 };
        let () = PUT_AWAY
            .call(self.accounts.store())
            .key("taken", &keys::intake_taken(&self.name))
            .key("refused", &keys::intake_refused(&self.name))
            .arg("count", n)
            .arg("refused_max", REFUSED_MAX)
            .args("refused", refused)
            .run()
            .await?;
        Ok(taken)
    }
}

/// Stores the events of some texts; returns how many, and the others with what is wrong with them.
async fn record(accounts: &Accounts, texts: &[String]) -> Result<(u64, Vec<String>), Error> {
    let refusal = |text: &str, error: &Error| {
        serde_json::json!({ "entry": text, "error": error.to_string() }).to_string()
    };
    let (mut lines, mut places, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for text in texts {
        match Line::from_json(text) {
            Ok(line) => {
                places.push(text);
                lines.push(line);
            }
            Err(error) => refused.push(refusal(text, &error)),
        }
    }
    let told = accounts.record(lines).await?;
    let stored = told.iter().filter(|outcome| outcome.is_ok()).count() as u64;
    for (text, outcome) in places.into_iter().zip(told) {
        refused.extend(outcome.err().map(|error| refusal(text, &error)));
    }
    Ok((stored, refused))
}

impl Accounts {
    /// Takes in what is published on a channel, one event on each line of a message, until `stop` resolves.
    ///
    /// # Errors
    /// When the store failed at the start. Later, messages that cannot be stored are counted as refused.
    pub async fn listen(
        &self,
        name: &IntakeName,
        stop: impl Future<Output = ()>,
        mut tell: impl FnMut(Taken),
    ) -> Result<Taken, Error> {
        let mut stop = std::pin::pin!(stop);
        let mut heard = self.store().subscribe(&[keys::intake_channel(name)]).await?;
        let mut all = Taken::default();
        loop {
            let event = tokio::select! {
                biased;
                () = &mut stop => return Ok(all),
                event = heard.next() => event,
            };
            let Some(event) = event else { return Ok(all) };
            let Heard::Message(message) = event else { continue };
            let text = String::from_utf8_lossy(&message.payload);
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let lines: Vec<String> = lines.map(str::to_owned).collect();
            match record(self, &lines).await {
                Ok((stored, refused)) => {
                    all.stored += stored;
                    all.refused += refused.len() as u64;
                }
                // Nobody sends it again.
                Err(_) => all.refused += lines.len() as u64,
            }
            tell(all);
        }
    }
}
