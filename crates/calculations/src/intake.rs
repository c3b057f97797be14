//! Taking events in from a Redis list, into which any program puts them.
//!
//! Any number of processes may work on a list, and nothing is lost: each keeps what it has taken in a list of its own until
//! it is stored, and what a process has that was not heard of for a while is put back by the others. An entry
//! whose process died between storing and forgetting it is stored again, which changes nothing unless values of one time
//! are added up.

mod channel;

use std::time::Duration;

use keyrack_keys::Key;
use keyrack_store::{Script, script};

use crate::{
    accounts::Accounts,
    error::Error,
    keys::{self, IntakeName, Taker},
    line::Line,
};

static TAKE: Script = script!("intake/take.lua", "intake/put_back.lua");
static PUT_AWAY: Script = script!("intake/put_away.lua");
static LEAVE: Script = script!("intake/leave.lua", "intake/put_back.lua");

/// Entries that are stored at once.
const ENTRIES_AT_ONCE: usize = 500;
/// Refused entries that are kept; older ones go.
const REFUSED_MAX: usize = 10_000;
/// How long to wait for the next entry before saying that one is still alive.
const WAIT_S: f64 = 0.5;
/// How often to say so while entries are stored.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// A process that was not heard of for this long is taken to be dead: five heartbeats.
const PATIENCE_MS: u64 = 10_000;
/// How long to wait before trying again when the store is away.
const STORE_RETRY: Duration = Duration::from_millis(500);

/// What an intake has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IntakeCounts {
    /// Events that were stored.
    pub stored: u64,
    /// Entries that were refused.
    pub refused: u64,
}

impl std::ops::AddAssign for IntakeCounts {
    fn add_assign(&mut self, more: IntakeCounts) {
        self.stored += more.stored;
        self.refused += more.refused;
    }
}

/// One of those who take events in from a list.
#[derive(Debug)]
pub struct Intake {
    accounts: Accounts,
    name: IntakeName,
    taker: Taker,
}

impl Intake {
    /// Somebody new who takes events in from the list of that name.
    ///
    /// # Errors
    /// Never, for a name that a list can have.
    pub fn new(accounts: Accounts, name: IntakeName) -> Result<Intake, Error> {
        Ok(Intake { accounts, name, taker: Taker::new(uuid::Uuid::new_v4().to_string())? })
    }

    /// Takes events in until `stop` resolves; `tell` hears of each batch.
    ///
    /// # Errors
    /// When the store refused; while it is away, the intake waits.
    pub async fn run(
        &self,
        stop: impl Future<Output = ()>,
        mut tell: impl FnMut(IntakeCounts),
    ) -> Result<IntakeCounts, Error> {
        let mut stop = std::pin::pin!(stop);
        let mut all = IntakeCounts::default();
        loop {
            let step = async {
                match self.step().await {
                    Err(error) if error.is_transient() => {
                        tokio::time::sleep(STORE_RETRY).await;
                        Ok(IntakeCounts::default())
                    }
                    done => done,
                }
            };
            let done = tokio::select! {
                biased;
                () = &mut stop => break,
                done = step => done?,
            };
            if done != IntakeCounts::default() {
                all += done;
                tell(all);
            }
        }
        // So that others need not wait until this one is taken to be dead.
        let _ = self.leave().await;
        Ok(all)
    }

    /// Takes in what is there, waits for what others have taken and may leave behind, and returns.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn drain(&self) -> Result<IntakeCounts, Error> {
        let mut all = IntakeCounts::default();
        loop {
            let (mut entries, with_others) = self.take().await?;
            if entries.is_empty() && with_others == 0 {
                self.leave().await?;
                return Ok(all);
            }
            if entries.is_empty() {
                entries.extend(self.wait().await?);
            }
            all += self.store(entries).await?;
        }
    }

    /// Takes some entries in, after waiting for the first.
    async fn step(&self) -> Result<IntakeCounts, Error> {
        let (mut entries, _) = self.take().await?;
        if entries.is_empty() {
            entries.extend(self.wait().await?);
        }
        self.store(entries).await
    }

    /// The next entries, and how many others have taken when there are none.
    async fn take(&self) -> Result<(Vec<Vec<u8>>, u64), Error> {
        let store = self.accounts.store();
        let taken = TAKE
            .call(store)
            .key("waiting", &keys::intake(&self.name))
            .key("taken", &self.taken())
            .key("takers", &keys::intake_takers(&self.name))
            .arg("taker", self.taker.as_str())
            .arg("now", store.now_ms())
            .arg("patience_ms", PATIENCE_MS)
            .arg("max", ENTRIES_AT_ONCE)
            .run()
            .await?;
        Ok(taken)
    }

    async fn wait(&self) -> Result<Option<Vec<u8>>, Error> {
        let store = self.accounts.store();
        let mut cmd = redis::cmd("BLMOVE");
        cmd.arg(&*store.place(&keys::intake(&self.name))).arg(&*store.place(&self.taken()));
        cmd.arg("LEFT").arg("RIGHT").arg(WAIT_S);
        Ok(cmd.query_async(&mut store.blocking()).await?)
    }

    /// Stores entries that were taken, and puts them away.
    async fn store(&self, entries: Vec<Vec<u8>>) -> Result<IntakeCounts, Error> {
        if entries.is_empty() {
            return Ok(IntakeCounts::default());
        }
        let texts: Vec<String> =
            entries.iter().map(|entry| String::from_utf8_lossy(entry).into_owned()).collect();
        let mut storing = std::pin::pin!(record(&self.accounts, &texts));
        let (stored, refused) = loop {
            tokio::select! {
                done = &mut storing => break done?,
                () = tokio::time::sleep(HEARTBEAT) => self.heartbeat().await?,
            }
        };
        let taken = IntakeCounts { stored, refused: refused.len() as u64 };
        let is_away: bool = PUT_AWAY
            .call(self.accounts.store())
            .key("taken", &self.taken())
            .key("refused", &keys::intake_refused(&self.name))
            .arg("count", entries.len())
            .arg("refused_max", REFUSED_MAX)
            .args("refused", refused)
            .run()
            .await?;
        // Whoever sees to them counts them.
        Ok(if is_away { taken } else { IntakeCounts::default() })
    }

    async fn heartbeat(&self) -> Result<(), Error> {
        let store = self.accounts.store();
        let mut cmd = redis::cmd("ZADD");
        cmd.arg(&*store.place(&keys::intake_takers(&self.name))).arg("XX");
        cmd.arg(store.now_ms()).arg(self.taker.as_str());
        Ok(cmd.query_async(&mut store.connection()).await?)
    }

    async fn leave(&self) -> Result<(), Error> {
        let left = LEAVE
            .call(self.accounts.store())
            .key("waiting", &keys::intake(&self.name))
            .key("taken", &self.taken())
            .key("takers", &keys::intake_takers(&self.name))
            .arg("taker", self.taker.as_str())
            .run()
            .await;
        Ok(left?)
    }

    fn taken(&self) -> Key {
        keys::intake_taken(&self.name, &self.taker)
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
