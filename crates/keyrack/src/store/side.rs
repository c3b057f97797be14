//! One of the two stores that are copied or compared: which key of it is which, and where a key belongs.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use keyrack_calculations::Accounts;
use keyrack_contract::registry;
use keyrack_jobs::bee::keys::{Jid, QueueName};
use keyrack_keys::{Database, Family, Layout, Origin, Parsed};
use keyrack_lint::Recogniser;
use keyrack_store::{Connection, Keyspace, Kind, Store};
use redis::{Pipeline, Value, aio::ConnectionLike as _};

/// Families that say where accounts are, which differs between stores.
const ACCOUNTS: &str = "calculations.account_databases";
const NEXT_DATABASE: &str = "calculations.next_database";
/// Families that are of no use elsewhere.
const PROBE: &str = "store.probe";
/// What webhooks are still to be told. Servers of each store write and empty it by themselves.
const OUTBOX: [&str; 3] = ["jobs.bee.outbox_kinds", "jobs.bee.outbox", "jobs.bee.outbox_dropped"];

/// A store, and what its names depend on.
pub(super) struct Side {
    pub(super) store: Store,
    recogniser: Recogniser,
    /// The database of each account of the calculations; 0 for those that share the main one.
    accounts: BTreeMap<String, i64>,
    databases: RefCell<HashMap<i64, Target>>,
}

/// What a key of a store is.
#[derive(Debug, Clone)]
pub(super) enum Met {
    /// A key of a declared family, where it belongs.
    Key(KnownKey),
    /// The declared accounts, which are placed anew in each store.
    Accounts,
    /// A key that says something about this store only, or that another program renews.
    OfThisStore,
    /// No declaration fits its name and place, but it lies in the store's own database.
    Undeclared,
    /// It lies in a database that is none of the store's.
    Elsewhere,
}

/// A key, whatever store it lies in.
#[derive(Debug, Clone)]
pub(super) struct KnownKey {
    pub(super) family: &'static Family,
    pub(super) parsed: Parsed,
    /// Whose it is, for the families of which each account has its own.
    account: Option<String>,
}

/// What the slot of a key follows from, in a family whose names do not show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ShardBy {
    /// The name of the key is enough.
    Name,
    /// It is this one.
    Shard(String),
    /// It is that of a job's queue.
    Job(String),
    /// The key is one set in a store without slots, and one for each group of queues on a cluster: each member is a
    /// job, which has its group.
    Members,
    /// Nothing that is stored says it.
    Unknown,
}

impl Side {
    pub(super) async fn new(store: Store) -> anyhow::Result<Side> {
        let recogniser = Recogniser::new(&store, registry()).await?;
        let accounts = Accounts::open(store.clone()).list().await?;
        let accounts = accounts.into_iter().map(|(account, db)| (account.to_string(), db));
        Ok(Side { recogniser, accounts: accounts.collect(), databases: RefCell::default(), store })
    }

    pub(super) fn layout(&self) -> Layout {
        self.store.layout()
    }

    /// Gives each account of the other store a place in this one, in the order of their databases there.
    pub(super) async fn take_accounts(&mut self, from: &Side) -> anyhow::Result<()> {
        let mut missing: Vec<(&String, &i64)> =
            from.accounts.iter().filter(|(name, _)| !self.accounts.contains_key(*name)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        missing.sort_unstable_by_key(|(name, db)| (**db, (*name).clone()));
        let accounts = Accounts::open(self.store.clone());
        for (name, _) in missing {
            accounts.ledger(&keyrack_calculations::account(name)?).await?;
        }
        *self = Side::new(self.store.clone()).await?;
        Ok(())
    }

    /// How many accounts the other store has that this one has not.
    pub(super) fn missing_accounts(&self, from: &Side) -> usize {
        from.accounts.keys().filter(|name| !self.accounts.contains_key(*name)).count()
    }

    /// The names of all accounts.
    pub(super) fn accounts(&self) -> impl Iterator<Item = &str> {
        self.accounts.keys().map(String::as_str)
    }

    /// The parts of the store that may hold keys of keyrack: all of them, as accounts have databases of their own.
    pub(super) async fn keyspaces(&self) -> anyhow::Result<Vec<Keyspace>> {
        Ok(self.store.keyspaces().await?)
    }

    /// Whether SCAN goes on where another process was.
    pub(super) fn keeps_cursors(&self) -> bool {
        self.store.kind() != Kind::Embedded
    }

    /// What these keys of a keyspace are.
    pub(super) async fn recognise(
        &self,
        keyspace: &Keyspace,
        keys: &[Vec<u8>],
    ) -> anyhow::Result<Vec<Met>> {
        let mut parsed: Vec<Option<Parsed>> =
            keys.iter().map(|key| registry().parse(key)).collect();
        let named: Vec<(&[u8], Option<&'static Family>)> = keys
            .iter()
            .zip(&parsed)
            .map(|(key, parsed)| (key.as_slice(), parsed.as_ref().map(|parsed| parsed.family)))
            .collect();
        let ask = async |pipeline: &Pipeline| keyspace.pipeline(pipeline).await;
        let belong = self.recogniser.belong(registry(), keyspace.db(), &named, ask).await?;
        let met = belong.into_iter().zip(parsed.iter_mut()).map(|(family, parsed)| {
            let parsed = family.and_then(|_| parsed.take());
            self.met(keyspace.db(), parsed)
        });
        Ok(met.collect())
    }

    fn met(&self, db: i64, parsed: Option<Parsed>) -> Met {
        let stray = || match db == self.store.db() {
            true => Met::Undeclared,
            false => Met::Elsewhere,
        };
        let Some(parsed) = parsed else { return stray() };
        let family = parsed.family;
        if family.origin == Origin::Foreign {
            return Met::OfThisStore;
        }
        match family.id().as_str() {
            ACCOUNTS => return Met::Accounts,
            NEXT_DATABASE | PROBE => return Met::OfThisStore,
            id if OUTBOX.contains(&id) => return Met::OfThisStore,
            _ => {}
        }
        let (main, tagged) = (self.store.db(), parsed.layout == Layout::Cluster);
        let is_cluster = self.layout() == Layout::Cluster;
        let account = match (family.database, tagged) {
            (Database::Account, true) if db == main => parsed.shard.clone(),
            (Database::Account, false) => {
                let account = self.accounts.iter().find(|(_, own)| **own == db && db != 0);
                account.map(|(name, _)| name.clone())
            }
            _ => None,
        };
        let is_at_home = match family.database {
            Database::Account => {
                account.as_ref().is_some_and(|name| self.accounts.contains_key(name))
            }
            Database::Number(number) if !is_cluster => db == i64::from(number),
            Database::Main | Database::Number(_) => db == main,
        };
        let is_named_so = family.database == Database::Account
            || tagged == is_cluster
            || (is_cluster && !family.tagged());
        match is_at_home && is_named_so {
            true => Met::Key(KnownKey { family, parsed, account }),
            false => stray(),
        }
    }

    /// Where a key is in this store: the database and the name. `shard` is needed on a cluster if [`KnownKey::shard_by`]
    /// says more than the name. `None` if it has no place.
    pub(super) fn locate(&self, key: &KnownKey, shard: Option<&str>) -> Option<(i64, String)> {
        let main = self.store.db();
        let parts: Vec<&str> = key.parsed.parts.iter().map(String::as_str).collect();
        let name = |layout, shard| key.family.render(layout, shard, &parts).ok();
        match (key.family.database, &key.account) {
            (Database::Account, account) => {
                let account = account.as_deref()?;
                match *self.accounts.get(account)? {
                    0 => Some((main, name(Layout::Cluster, Some(account))?)),
                    db => Some((db, name(Layout::Documented, None)?)),
                }
            }
            (Database::Number(number), _) if self.layout() == Layout::Documented => {
                Some((i64::from(number), name(Layout::Documented, None)?))
            }
            _ => Some((main, name(self.layout(), shard)?)),
        }
    }

    /// A connection to a database of the store.
    pub(super) async fn connection(&self, db: i64) -> anyhow::Result<Target> {
        let open = self.databases.borrow().get(&db).cloned();
        if let Some(target) = open {
            return Ok(target);
        }
        let connection = match db == self.store.db() {
            true => self.store.connection(),
            false => self.store.database(db).await?.connection(),
        };
        let target = Target { connection, is_cluster: self.layout() == Layout::Cluster };
        self.databases.borrow_mut().insert(db, target.clone());
        Ok(target)
    }

    /// The groups of these jobs, in a store whose names do not show them: each is that of its job's queue, or as the id
    /// says if there is no such job any more.
    pub(super) async fn groups_of_jobs(&self, jids: &[&str]) -> anyhow::Result<Vec<String>> {
        let jobs = registry().get("jobs.bee.job");
        let mut ask = Pipeline::with_capacity(jids.len());
        for jid in jids {
            let name = jobs.and_then(|jobs| jobs.render(Layout::Documented, None, &[jid]).ok());
            ask.cmd("HGET").arg(name.unwrap_or_default()).arg("queue");
        }
        let replies = send(&self.connection(self.store.db()).await?, &ask).await?;
        let groups = jids.iter().zip(replies).map(|(jid, reply)| {
            let queue = match reply {
                Value::BulkString(queue) => String::from_utf8(queue).ok(),
                _ => None,
            };
            let of_queue = queue.and_then(|queue| QueueName::new(queue).ok());
            let of_id = || Jid::new(*jid).map(|jid| jid.group().to_string()).unwrap_or_default();
            of_queue.map_or_else(of_id, |queue| queue.group().to_string())
        });
        Ok(groups.collect())
    }
}

impl KnownKey {
    /// The documented name, and whose it is: the same in every store.
    pub(super) fn identity(&self) -> Vec<u8> {
        let name = self.parsed.render(Layout::Documented).unwrap_or_default();
        let account = self.account.as_deref().unwrap_or_default();
        [account.as_bytes(), b"\0", name.as_bytes()].concat()
    }

    /// What its slot on a cluster follows from.
    pub(super) fn shard_by(&self) -> ShardBy {
        let family = self.family;
        if family.outside.is_empty() || family.database == Database::Account {
            return ShardBy::Name;
        }
        if let Some(shard) = &self.parsed.shard {
            return ShardBy::Shard(shard.clone());
        }
        if family.owner != "jobs.bee" {
            return ShardBy::Unknown;
        }
        if let Some(queue) = self.parsed.part("queue") {
            return match QueueName::new(queue) {
                Ok(queue) => ShardBy::Shard(queue.group().to_string()),
                Err(_) => ShardBy::Unknown,
            };
        }
        match self.parsed.part("jid").or_else(|| self.parsed.part("parent")) {
            Some(jid) => ShardBy::Job(jid.to_owned()),
            None => ShardBy::Members,
        }
    }

    /// Whether a cluster may have several keys of this name, one for each group.
    pub(super) fn is_divided(&self) -> bool {
        let bare =
            KnownKey { parsed: Parsed { shard: None, ..self.parsed.clone() }, ..self.clone() };
        bare.shard_by() == ShardBy::Members
    }
}

/// Where commands are sent.
#[derive(Clone)]
pub(super) struct Target {
    connection: Connection,
    is_cluster: bool,
}

/// Sends commands, each of which may fail by itself and names its key first.
pub(super) async fn send(target: &Target, pipeline: &Pipeline) -> anyhow::Result<Vec<Value>> {
    if !target.is_cluster {
        return send_to_slot(target.connection.clone(), pipeline.clone()).await;
    }
    // A pipeline is for one slot, and keys of one tag share theirs.
    let mut by_tag: HashMap<Vec<u8>, (Vec<usize>, Pipeline)> = HashMap::new();
    for (i, cmd) in pipeline.cmd_iter().enumerate() {
        let (at, some) = by_tag.entry(tag(cmd)).or_default();
        at.push(i);
        some.add_command(cmd.clone());
    }
    let mut replies = vec![Value::Nil; pipeline.len()];
    let sent = stream::iter(by_tag.into_values()).map(async |(at, some)| {
        send_to_slot(target.connection.clone(), some).await.map(|replies| (at, replies))
    });
    let sent: Vec<_> = sent.buffer_unordered(SLOTS_AT_ONCE).try_collect().await?;
    for (at, of_slot) in sent {
        at.into_iter().zip(of_slot).for_each(|(i, reply)| replies[i] = reply);
    }
    Ok(replies)
}

/// Pipelines for different slots that are under way at once.
const SLOTS_AT_ONCE: usize = 32;

async fn send_to_slot(
    mut connection: Connection,
    pipeline: Pipeline,
) -> anyhow::Result<Vec<Value>> {
    if pipeline.is_empty() {
        return Ok(Vec::new());
    }
    let replies = connection.req_packed_commands(&pipeline, 0, pipeline.len()).await;
    Ok(replies.map_err(keyrack_store::Error::from)?)
}

/// What decides the slot of a command's first key.
fn tag(cmd: &redis::Cmd) -> Vec<u8> {
    let key = match cmd.args_iter().nth(1) {
        Some(redis::Arg::Simple(key)) => key,
        _ => return Vec::new(),
    };
    let open = key.iter().position(|&byte| byte == b'{');
    let tag = open.and_then(|open| {
        let rest = &key[open + 1..];
        rest.iter().position(|&byte| byte == b'}').map(|close| &rest[..close])
    });
    tag.filter(|tag| !tag.is_empty()).unwrap_or(key).to_vec()
}

/// Sends commands that have to be carried out.
pub(super) async fn send_all(target: &Target, pipeline: &Pipeline) -> anyhow::Result<Vec<Value>> {
    let replies = send(target, pipeline).await?;
    let replies = replies.into_iter().map(|reply| reply.extract_error());
    Ok(replies.collect::<Result<_, _>>().map_err(keyrack_store::Error::from)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_declared_key_has_a_place_on_a_cluster() {
        for family in keyrack_contract::own().into_iter().flatten() {
            if family.is_channel() || OUTBOX.contains(&family.id().as_str()) {
                continue;
            }
            let parsed = registry().parse(family.example.as_bytes()).expect("an example");
            let key = KnownKey { family, parsed, account: None };
            let by = key.shard_by();
            assert_ne!(by, ShardBy::Unknown, "{}", family.id());
            if by == ShardBy::Members {
                let keyrack_keys::Content::Set(member) = family.content else {
                    panic!("{} is no set of jobs", family.id());
                };
                let target = member.encoding.target().expect("members are jobs");
                assert_eq!(target.id(), "jobs.bee.job", "{}", family.id());
            }
        }
    }
}
