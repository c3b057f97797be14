//! The whole engine as one deterministic state machine: everything behind the lock.

use std::{
    collections::{HashMap, HashSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use foldhash::fast::FixedState;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{
    allocator, aof,
    blocking::Waiting,
    config::Config,
    connection::queue::CallQueue,
    db::Db,
    deferred::DeferredWork,
    effects::Effects,
    exec, fault,
    host::Host,
    pubsub::PubSub,
    reply::{Error, Reply},
    rewrite::RewriteState,
    script::Scripts,
    script_control::ScriptControl,
    session::{ClientIndex, ClientInfo, Clients, Mailbox, Session, mailbox},
    types::Value,
    unwinding::PANICKED,
};

/// Everything the engine knows.
pub(crate) struct State {
    pub(crate) dbs: Vec<Db>,
    pub(crate) clients: Clients,
    pub(crate) pubsub: PubSub,
    pub(crate) waiting: Waiting,
    pub(crate) watchers: Watchers,
    /// Taken out while a script runs.
    pub(crate) scripts: Option<Box<Scripts>>,
    pub(crate) script_control: Arc<ScriptControl>,
    /// Connections that wait for the state to be unlocked.
    pub(crate) call_queue: Arc<CallQueue>,
    /// What is to be done before anything else.
    pub(crate) deferred: Arc<DeferredWork>,
    /// The one in the settings, for doors that cannot wait for the state.
    pub(crate) password: Arc<Mutex<Option<String>>>,
    pub(crate) config: Config,
    pub(crate) stats: Stats,
    pub(crate) log: Option<Arc<aof::Log>>,
    /// The position of the last unit in the log: replies may show anything up to there.
    pub(crate) logged: u64,
    pub(crate) effects: Effects,
    pub(crate) rewrite: RewriteState,
    /// Told when a client sends SHUTDOWN.
    pub(crate) shutdown: Arc<Notify>,
    /// Changes so far; a command that leaves it alone has no effect to log.
    pub(crate) dirty: u64,
    /// The log is being replayed: keys do not expire and nothing is logged.
    pub(crate) loading: bool,
    /// Frozen while a command, transaction or script runs.
    now_us: u64,
    /// The last command took so little time that `now_us` still holds.
    pub(crate) is_time_fresh: bool,
    host: Box<dyn Host>,
    /// Seeds every table, so that outsiders cannot choose keys that collide.
    pub(crate) seed: u64,
}

/// What takes one unit of a log, or says why it cannot.
pub(crate) type Apply<'a> = dyn FnMut(&aof::Unit<'_>) -> Result<(), String> + 'a;

/// What INFO counts.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    pub(crate) started_us: u64,
    /// Bytes in use before there was any data.
    pub(crate) started_memory: usize,
    pub(crate) commands: u64,
    pub(crate) connections: u64,
    pub(crate) rejected_connections: u64,
    pub(crate) expired_keys: u64,
    pub(crate) keyspace_hits: u64,
    pub(crate) keyspace_misses: u64,
    pub(crate) input_bytes: u64,
    pub(crate) output_bytes: u64,
}

/// What became of a command.
#[derive(Debug)]
pub(crate) struct CommandOutcome {
    /// `None` while the client waits for data; the answer comes to its inbox.
    pub(crate) reply: Option<Reply>,
    /// The log position after which the reply may be sent; 0 if the command itself changed nothing.
    pub(crate) position: u64,
    /// Hang up after the reply.
    pub(crate) close: bool,
}

impl State {
    pub(crate) fn new(mut host: Box<dyn Host>, config: Config) -> State {
        let seed = host.random();
        let now_us = host.now_us();
        State {
            dbs: (0..config.databases).map(|_| Db::new(seed)).collect(),
            clients: Clients::default(),
            pubsub: PubSub::default(),
            waiting: Waiting::default(),
            watchers: Watchers::default(),
            scripts: Some(Box::new(Scripts::new(config.script_limits()))),
            script_control: Arc::default(),
            call_queue: Arc::default(),
            stats: Stats {
                started_us: now_us,
                started_memory: allocator::usage().map_or(0, |usage| usage.used),
                ..Stats::default()
            },
            deferred: Arc::default(),
            password: Arc::new(Mutex::new(config.password.clone())),
            log: None,
            logged: 0,
            effects: Effects::new(false),
            rewrite: RewriteState::default(),
            shutdown: Arc::default(),
            dirty: 0,
            loading: false,
            now_us,
            is_time_fresh: false,
            host,
            seed,
            config,
        }
    }

    /// Registers a client.
    pub(crate) fn connect(
        &mut self,
        db: usize,
        mailbox: Mailbox,
        trusted: bool,
        mut about: ClientInfo,
    ) -> ClientIndex {
        self.freeze_time();
        self.stats.connections += 1;
        (about.created_us, about.active_us) = (self.now_us, self.now_us);
        let authenticated = trusted || self.config.password.is_none();
        self.clients.add(db, mailbox, authenticated, about)
    }

    /// Forgets a client and everything it had going on.
    pub(crate) fn disconnect(&mut self, client: ClientIndex) {
        let Some(mut session) = self.clients.take(client) else { return };
        self.unblock(&mut session);
        self.unwatch(&mut session);
        self.pubsub.remove_client(&mut session);
        self.clients.forget(session);
    }

    /// Runs one command for a client, serves those who waited for its data, and hands its effects to the log.
    pub(crate) fn execute(&mut self, client: ClientIndex, args: &[&[u8]]) -> CommandOutcome {
        // Before anything is taken out: the host is not ours.
        self.freeze_time();
        self.execute_now(client, args)
    }

    /// Begins a turn: commands that run one after the other under one lock, by [`State::execute_next`].
    pub(crate) fn begin_turn(&mut self) {
        self.freeze_time();
        self.is_time_fresh = true;
    }

    /// Runs the next command of a turn. The clock is read again only after a command that can have taken long.
    pub(crate) fn execute_next(&mut self, client: ClientIndex, args: &[&[u8]]) -> CommandOutcome {
        if !self.is_time_fresh {
            self.freeze_time();
        }
        self.execute_now(client, args)
    }

    fn execute_now(&mut self, client: ClientIndex, args: &[&[u8]]) -> CommandOutcome {
        let Some(mut session) = self.clients.take(client) else {
            // Killed while its command was on the way.
            return CommandOutcome { reply: Some(Reply::None), position: 0, close: true };
        };
        // Whatever happens, the session goes back and the effects are a unit of their own.
        let reply = catch_unwind(AssertUnwindSafe(|| {
            fault::point();
            exec::process(self, &mut session, args)
        }))
        .unwrap_or(Reply::Error(PANICKED));
        let (blocked, close) = (session.wait.is_some(), session.closing);
        self.clients.put(session);
        let own = self.finish_unit();
        self.serve_waiting();
        CommandOutcome { reply: (!blocked).then_some(reply), position: own, close }
    }

    /// Applies a log: `source` is given what takes each unit of it.
    ///
    /// Units are replayed as they were logged, without expiry and without logging them again.
    pub(crate) fn replay<T>(&mut self, source: impl FnOnce(&mut Apply<'_>) -> T) -> T {
        let (mailbox, _inbox) = mailbox(0);
        let client = self.connect(0, mailbox, true, ClientInfo::default());
        self.loading = true;
        let result = source(&mut |unit| {
            for args in unit.commands() {
                if let Some(Reply::Error(error)) = self.execute(client, args).reply {
                    let name = String::from_utf8_lossy(args[0]);
                    return Err(format!("the command {name:?} was refused: {error}"));
                }
            }
            Ok(())
        });
        self.loading = false;
        self.disconnect(client);
        result
    }

    /// Reads what a client's next commands will read, given their keys.
    pub(crate) fn fetch(&self, client: ClientIndex, keys: &[&[u8]]) {
        if let Some(session) = self.clients.get(client) {
            self.dbs[session.db].fetch(keys);
        }
    }

    /// The protocol version that a client speaks.
    pub(crate) fn resp(&self, client: ClientIndex) -> u8 {
        self.clients.get(client).map_or(2, |session| session.resp)
    }

    /// Whether a client is between MULTI and EXEC.
    pub(crate) fn is_queueing(&self, client: ClientIndex) -> bool {
        self.clients.get(client).is_some_and(|session| session.transaction.is_some())
    }

    /// Makes a client's EXEC refuse, if there is a transaction, because a command for it was refused.
    pub(crate) fn spoil_transaction(&mut self, client: ClientIndex) {
        let session = self.clients.get_mut(client);
        if let Some(transaction) = session.and_then(|session| session.transaction.as_mut()) {
            transaction.broken = true;
        }
    }

    /// Ends a client's wait, because nobody waits for the answer any more.
    pub(crate) fn stop_waiting(&mut self, client: ClientIndex) {
        if let Some(mut session) = self.clients.take(client) {
            self.unblock(&mut session);
            self.clients.put(session);
        }
    }

    /// Hands the effects so far to the log as one unit. Returns the position that the answer has to wait for, 0 if it
    /// need not.
    pub(crate) fn finish_unit(&mut self) -> u64 {
        let Some(log) = &self.log else { return 0 };
        let position = self.effects.finish(|unit| log.append(unit)).unwrap_or(0);
        self.logged = self.logged.max(position);
        position
    }

    /// Takes the host's time as the time for everything until the next call.
    pub(crate) fn freeze_time(&mut self) {
        self.now_us = self.host.now_us();
    }

    pub(crate) fn now_us(&self) -> u64 {
        self.now_us
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.now_us / 1000
    }

    pub(crate) fn random(&mut self) -> u64 {
        self.host.random()
    }

    /// The scripts, which are away only while one runs.
    pub(crate) fn scripts_mut(&mut self) -> Result<&mut Scripts, Error> {
        self.scripts.as_deref_mut().ok_or(Error::fixed("ERR a script is running"))
    }

    pub(crate) fn host_log(&mut self, level: u8, message: &[u8]) {
        self.host.log(level, &String::from_utf8_lossy(message));
    }

    pub(crate) fn host_is_live(&self) -> bool {
        self.host.is_live()
    }

    /// Whether a key is past its time though still stored.
    pub(crate) fn is_due(&self, db: usize, key: &[u8]) -> bool {
        !self.loading && self.dbs[db].expires_at(key).is_some_and(|at| at <= self.now_ms())
    }

    /// Removes a key if its time has come, and logs the removal.
    pub(crate) fn expire_if_due(&mut self, db: usize, key: &[u8]) -> bool {
        let due = self.is_due(db, key);
        if due {
            self.remove(db, key);
            self.stats.expired_keys += 1;
            self.effects.push_expired(db, key);
            self.touch(db, key);
        }
        due
    }

    pub(crate) fn remove(&mut self, db: usize, key: &[u8]) -> Option<Value> {
        self.save_for_rewrite(db, key);
        self.dbs[db].remove(key)
    }

    /// Tells clients that watch `key` that it has changed.
    pub(crate) fn touch(&mut self, db: usize, key: &[u8]) {
        self.watchers.touch(db, key);
    }

    /// Ends all of a session's watches.
    pub(crate) fn unwatch(&mut self, session: &mut Session) {
        self.watchers.remove(session);
    }

    /// Removes keys whose time has come, for at most `budget` table buckets; true when it has seen all.
    pub(crate) fn expire_some(&mut self, db: usize, budget: usize) -> bool {
        for _ in 0..budget {
            if self.dbs[db].n_volatile() == 0 {
                return true;
            }
            let now_ms = self.now_ms();
            let due = self.dbs[db].collect_due(now_ms);
            for key in &due.keys {
                self.expire_if_due(db, key);
            }
            if due.wrapped {
                return true;
            }
        }
        false
    }
}

/// Who watches which key, and whose watched keys have changed.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    by_key: HashMap<(usize, Box<[u8]>), Vec<ClientIndex>, FixedState>,
    touched: HashSet<ClientIndex, FixedState>,
}

impl Watchers {
    pub(crate) fn add(&mut self, session: &mut Session, watch: crate::session::Watch) {
        let clients = self.by_key.entry((watch.db, watch.key.clone())).or_default();
        // A client can watch far more keys than a key has clients that watch it.
        if !clients.contains(&session.index) {
            clients.push(session.index);
            session.watching.push(watch);
        }
    }

    /// Whether a key that the client watches has changed.
    pub(crate) fn is_touched(&self, client: ClientIndex) -> bool {
        self.touched.contains(&client)
    }

    /// Counts the keys that a client watches as changed.
    pub(crate) fn touch_client(&mut self, client: ClientIndex) {
        self.touched.insert(client);
    }

    fn touch(&mut self, db: usize, key: &[u8]) {
        if self.by_key.is_empty() {
            return;
        }
        if let Some(clients) = self.by_key.get(&(db, key.into())) {
            self.touched.extend(clients);
        }
    }

    /// Marks the watchers of every key in `db` that `holds` accepts, as FLUSHDB must.
    pub(crate) fn touch_all(&mut self, db: usize, holds: impl Fn(&[u8]) -> bool) {
        let watched = self.by_key.iter().filter(|((in_db, key), _)| *in_db == db && holds(key));
        self.touched.extend(watched.flat_map(|(_, clients)| clients));
    }

    fn remove(&mut self, session: &mut Session) {
        for watch in session.watching.drain(..) {
            let key = (watch.db, watch.key);
            if let Some(clients) = self.by_key.get_mut(&key) {
                clients.retain(|client| *client != session.index);
                if clients.is_empty() {
                    self.by_key.remove(&key);
                }
            }
        }
        self.touched.remove(&session.index);
    }
}
