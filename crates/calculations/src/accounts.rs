//! All accounts: their databases and their tokens.

use std::{collections::HashMap, sync::Arc};

use keyrack_store::{Script, Store, script};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::{
    error::Error,
    event,
    keys::{self, Account, Project, TokenDigest},
    ledger::Ledger,
};

static GIVE_DATABASE: Script = script!("accounts.lua");
static CREATE_TOKEN: Script = script!("create_token.lua");
static DELETE_TOKEN: Script = script!("delete_token.lua");

/// Accounts whose connections are kept open; each costs one on a server.
const LEDGERS_MAX: usize = 256;
/// The first database that belongs to an account.
const FIRST_DATABASE: i64 = 100;
/// The fewest and most characters of a token that somebody chooses.
const TOKEN_LEN: std::ops::RangeInclusive<usize> = 16..=256;

/// The calculations of all accounts in a store. Cheap to clone.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), keyrack_calculations::Error> {
/// use keyrack_calculations::{Accounts, Event, account, project, keys::{Calculation, Interval}};
///
/// let accounts = Accounts::open(keyrack_store::Store::open("embedded:memory").await?);
/// let (ledger, project) = (accounts.ledger(&account("7")?).await?, project("2")?);
/// let event = |value, at| Event::new("job-skills", "python", value, at, &["months"], &["sum"]);
/// let events = vec![event("8", "2014-10-17 21:34:07 -0400")?, event("5", "2014-10-08 06:57:22 -0400")?];
/// ledger.record(&project, events.clone()).await?;
///
/// let python = ledger.key(&project, &events[0].dimension, &events[0].key);
/// let sums = ledger.result(&python, Calculation::Sum, Interval::Months).await?;
/// assert_eq!(sums["2014-10"], "13");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Accounts {
    store: Store,
    ledgers: Arc<Mutex<HashMap<Account, Ledger>>>,
}

/// Whom a token speaks for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Grant {
    /// The account.
    pub account: Account,
    /// The project.
    pub project: Project,
}

impl Accounts {
    /// The accounts of a store.
    pub fn open(store: Store) -> Accounts {
        Accounts { store, ledgers: Arc::default() }
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// An account's data. An account that is new gets the next database; where the server has none left, it shares
    /// database 0 with others like it, each under a hash tag of its own, as on a cluster.
    ///
    /// # Errors
    /// When the store failed, or no longer has the account's database.
    pub async fn ledger(&self, account: &Account) -> Result<Ledger, Error> {
        if let Some(ledger) = self.ledgers.lock().get(account) {
            return Ok(ledger.clone());
        }
        let database = self.database(account).await?;
        let store = match database {
            0 => self.store.tagged(),
            number => self.store.database(number).await?,
        };
        let ledger = Ledger::new(self.store.clone(), store, account.clone());
        let mut ledgers = self.ledgers.lock();
        if ledgers.len() >= LEDGERS_MAX {
            ledgers.clear();
        }
        Ok(ledgers.entry(account.clone()).or_insert(ledger).clone())
    }

    /// An account's data, if there is such an account.
    ///
    /// # Errors
    /// When there is none, or the store failed.
    pub async fn existing(&self, account: &Account) -> Result<Ledger, Error> {
        let given: Option<i64> = self.given(account).await?;
        if given.is_none() {
            return Err(Error::NotFound { what: "account", name: account.to_string() });
        }
        self.ledger(account).await
    }

    /// All accounts, in order, with their databases.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn list(&self) -> Result<Vec<(Account, i64)>, Error> {
        let mut cmd = redis::cmd("HGETALL");
        cmd.arg(&*self.store.place(&keys::account_databases()));
        let all: HashMap<String, i64> = cmd.query_async(&mut self.store.connection()).await?;
        let named = all.into_iter().filter_map(|(name, db)| Some((Account::new(name).ok()?, db)));
        let mut all: Vec<_> = named.collect();
        all.sort_unstable();
        Ok(all)
    }

    async fn given(&self, account: &Account) -> Result<Option<i64>, Error> {
        let mut cmd = redis::cmd("HGET");
        cmd.arg(&*self.store.place(&keys::account_databases())).arg(account.as_str());
        Ok(cmd.query_async(&mut self.store.connection()).await?)
    }

    /// The account's database; a new account gets the next one.
    async fn database(&self, account: &Account) -> Result<i64, Error> {
        if let Some(given) = self.given(account).await? {
            return Ok(given);
        }
        loop {
            let mut cmd = redis::cmd("GET");
            cmd.arg(&*self.store.place(&keys::next_database()));
            let next: Option<i64> = cmd.query_async(&mut self.store.connection()).await?;
            let offered = self.offer(next.unwrap_or(FIRST_DATABASE)).await?;
            let given: i64 = GIVE_DATABASE
                .call(&self.store)
                .key("account_databases", &keys::account_databases())
                .key("next_database", &keys::next_database())
                .arg("account", account.as_str())
                .arg("offered", offered)
                .run()
                .await?;
            if given >= 0 {
                return Ok(given);
            }
        }
    }

    /// The database if there is one of that number, else 0.
    async fn offer(&self, number: i64) -> Result<i64, Error> {
        match self.store.database(number).await {
            Ok(_) => Ok(number),
            Err(keyrack_store::Error::NoSuchDatabase { .. }) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a token for a project and returns it; it is stored nowhere and cannot be shown again.
    ///
    /// # Errors
    /// When the project has one already, or the store failed.
    pub async fn create_token(&self, grant: &Grant) -> Result<String, Error> {
        let token = uuid::Uuid::new_v4().to_string();
        self.add_token(grant, &token).await?;
        Ok(token)
    }

    /// Gives a project a token that somebody has chosen.
    ///
    /// # Errors
    /// When it is too short or taken, the project has one already, or the store failed.
    pub async fn add_token(&self, grant: &Grant, token: &str) -> Result<(), Error> {
        let digest = digest(token)?;
        // The account's database is given out now, so that its first events find it.
        self.ledger(&grant.account).await?;
        let made: Result<(), keyrack_store::Error> = CREATE_TOKEN
            .call(&self.store)
            .key("token", &keys::token(&digest))
            .key("tokens", &keys::tokens(&grant.account))
            .arg("account", grant.account.as_str())
            .arg("project", grant.project.as_str())
            .arg("digest", digest.as_str())
            .arg("now", self.store.now_ms())
            .run()
            .await;
        made.map_err(|error| match error {
            keyrack_store::Error::Refused { .. } => Error::TokenExists {
                account: grant.account.to_string(),
                project: grant.project.to_string(),
            },
            error => error.into(),
        })
    }

    /// Takes a project's token away; the account keeps its database.
    ///
    /// # Errors
    /// When it has none, or the store failed.
    pub async fn delete_token(&self, grant: &Grant) -> Result<(), Error> {
        let not_found =
            || Error::NotFound { what: "token of the project", name: grant.project.to_string() };
        let mut cmd = redis::cmd("HGET");
        cmd.arg(&*self.store.place(&keys::tokens(&grant.account))).arg(grant.project.as_str());
        let digest: Option<String> = cmd.query_async(&mut self.store.connection()).await?;
        let digest = TokenDigest::new(digest.ok_or_else(not_found)?)?;
        let done: u64 = DELETE_TOKEN
            .call(&self.store)
            .key("token", &keys::token(&digest))
            .key("tokens", &keys::tokens(&grant.account))
            .arg("project", grant.project.as_str())
            .arg("digest", digest.as_str())
            .run()
            .await?;
        if done == 1 { Ok(()) } else { Err(not_found()) }
    }

    /// Whom a token speaks for.
    ///
    /// # Errors
    /// When nobody knows it, or the store failed.
    pub async fn grant(&self, token: &str) -> Result<Grant, Error> {
        let digest = digest(token).map_err(|_| Error::UnknownToken)?;
        let mut cmd = redis::cmd("HMGET");
        cmd.arg(&*self.store.place(&keys::token(&digest))).arg("account").arg("project");
        let (account, project): (Option<String>, Option<String>) =
            cmd.query_async(&mut self.store.connection()).await?;
        let (Some(account), Some(project)) = (account, project) else {
            return Err(Error::UnknownToken);
        };
        Ok(Grant { account: event::account(&account)?, project: event::project(&project)? })
    }

    /// Lets a token make and delete tokens.
    ///
    /// # Errors
    /// When it is too short, or the store failed.
    pub async fn add_admin(&self, token: &str) -> Result<(), Error> {
        let digest = digest(token)?;
        let mut cmd = redis::cmd("HSET");
        cmd.arg(&*self.store.place(&keys::admin_tokens()))
            .arg(digest.as_str())
            .arg(self.store.now_ms());
        Ok(cmd.query_async(&mut self.store.connection()).await?)
    }

    /// Takes that right away; says whether it had it.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn remove_admin(&self, token: &str) -> Result<bool, Error> {
        let Ok(digest) = digest(token) else { return Ok(false) };
        let mut cmd = redis::cmd("HDEL");
        cmd.arg(&*self.store.place(&keys::admin_tokens())).arg(digest.as_str());
        Ok(cmd.query_async(&mut self.store.connection()).await?)
    }

    /// Makes sure that a token is an admin's, and notes that it was used.
    ///
    /// # Errors
    /// When it is not, or the store failed.
    pub async fn check_admin(&self, token: &str) -> Result<(), Error> {
        let digest = digest(token).map_err(|_| Error::NotAdmin)?;
        let mut cmd = redis::cmd("HEXISTS");
        cmd.arg(&*self.store.place(&keys::admin_tokens())).arg(digest.as_str());
        let is_admin: bool = cmd.query_async(&mut self.store.connection()).await?;
        if !is_admin {
            return Err(Error::NotAdmin);
        }
        self.add_admin(token).await
    }
}

/// Tokens are looked up by their digest, so that reading the store gives nobody a token, and how long a look-up takes says
/// nothing about the tokens that there are.
fn digest(token: &str) -> Result<TokenDigest, Error> {
    if !TOKEN_LEN.contains(&token.chars().count()) {
        let reason = format!("a token has {} to {} characters", TOKEN_LEN.start(), TOKEN_LEN.end());
        return Err(Error::invalid("token", reason));
    }
    let hex: String =
        Sha256::digest(token.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(TokenDigest::new(hex)?)
}
