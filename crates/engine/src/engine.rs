//! The engine as its owner sees it: open it, connect to it, listen on it, close it.

use std::{
    ops::{Deref, DerefMut},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};

use crate::{
    aof::{self, Fsync, Recovery},
    config::Config,
    connection::{Connection, line::Line},
    host::{Host, SystemHost},
    housekeeping::{self, Bell},
    script_control::ScriptControl,
    session::{About, ClientIndex, Inbox, mailbox},
    state::State,
    subscriber::Subscriber,
};

/// An in-process Redis. Cheap to clone; all clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

impl Engine {
    /// An engine that keeps nothing on disk.
    pub fn in_memory() -> Engine {
        Engine::builder().open_in_memory()
    }

    /// An engine whose data lives in the folder `dir`, with every acknowledged write on disk.
    ///
    /// # Errors
    /// When another process has the folder open, when the log is damaged, or when the disk refuses.
    pub fn open(dir: impl AsRef<Path>) -> Result<Engine, OpenError> {
        Engine::builder().open(dir)
    }

    /// An engine with settings of your own.
    pub fn builder() -> Builder {
        Builder { config: Config::default(), fsync: Fsync::default(), host: None }
    }

    /// A connection to database `db`, for everything written for the `redis` crate.
    ///
    /// # Errors
    /// When there is no such database.
    pub fn connection(&self, db: usize) -> Result<Connection, NoSuchDatabase> {
        let databases = self.shared.databases;
        if db >= databases {
            return Err(NoSuchDatabase { db, databases });
        }
        Ok(Connection::new(self.shared.clone(), db))
    }

    /// A subscriber without subscriptions yet.
    pub fn subscribe(&self) -> Subscriber {
        Subscriber::new(self.shared.clone())
    }

    /// Does what the housekeeping thread does when time passes by itself: ends overdue waits, removes expired keys.
    ///
    /// Needed only with a host whose clock is moved by hand.
    pub fn tick(&self) {
        housekeeping::tick(&self.shared);
    }

    /// What was found on disk when the engine was opened; `None` in memory.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.shared.recovery.as_ref()
    }

    /// Writes everything to disk and closes the log; later writes are refused.
    ///
    /// Dropping the last handle does the same but cannot report an error.
    ///
    /// # Errors
    /// When the disk refuses the last write.
    pub fn close(&self) -> Result<(), aof::Error> {
        match &self.shared.log {
            Some(log) => log.close(),
            None => Ok(()),
        }
    }

    /// Waits until a client has sent SHUTDOWN.
    pub async fn shutdown_requested(&self) {
        self.shared.shutdown.notified().await;
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("databases", &self.shared.databases).finish_non_exhaustive()
    }
}

/// Settings for an [`Engine`].
pub struct Builder {
    config: Config,
    fsync: Fsync,
    host: Option<Box<dyn Host>>,
}

impl Builder {
    /// How many numbered databases there are; 1,024 unless set.
    pub fn databases(mut self, n: usize) -> Builder {
        self.config.databases = n.max(1);
        self
    }

    /// When a write counts as done; [`Fsync::Always`] unless set.
    pub fn fsync(mut self, fsync: Fsync) -> Builder {
        self.fsync = fsync;
        self
    }

    /// The password that clients over TCP have to give. Connections in process need none.
    pub fn password(mut self, password: impl Into<String>) -> Builder {
        self.config.password = Some(password.into()).filter(|password| !password.is_empty());
        self
    }

    /// How many clients may be connected over TCP at once.
    pub fn clients_max(mut self, n: usize) -> Builder {
        self.config.clients_max = n;
        self
    }

    /// Time and chance from elsewhere, as tests want them.
    pub fn host(mut self, host: Box<dyn Host>) -> Builder {
        self.host = Some(host);
        self
    }

    /// Starts an engine that keeps nothing on disk.
    pub fn open_in_memory(self) -> Engine {
        let host = self.host.unwrap_or_else(|| Box::new(SystemHost::new()));
        Engine::start(State::new(host, self.config), None)
    }

    /// Starts an engine on the folder `dir`, replaying what is there.
    ///
    /// # Errors
    /// When another process has the folder open, when the log is damaged, or when the disk refuses.
    pub fn open(self, dir: impl AsRef<Path>) -> Result<Engine, OpenError> {
        let dir = dir.as_ref();
        let host = self.host.unwrap_or_else(|| Box::new(SystemHost::new()));
        let mut state = State::new(host, self.config);
        let options = aof::Options { fsync: self.fsync, ..aof::Options::default() };
        let (log, recovery) = state
            .replay(|apply| aof::open(dir, options, apply))
            .map_err(|source| OpenError { dir: dir.to_owned(), source })?;
        state.log = Some(Arc::new(log));
        state.effects.enable();
        Ok(Engine::start(state, Some(recovery)))
    }
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Engine {
    fn start(state: State, recovery: Option<Recovery>) -> Engine {
        let is_live = state.host_is_live();
        let shared = Arc::new(Shared {
            databases: state.dbs.len(),
            log: state.log.clone(),
            script_control: state.script_control.clone(),
            shutdown: state.shutdown.clone(),
            line: state.line.clone(),
            bell: Arc::default(),
            state: Mutex::new(state),
            leavers: Mutex::default(),
            recovery,
        });
        if is_live {
            housekeeping::start(&shared);
        }
        Engine { shared }
    }
}

/// There is no database of this number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no database {db}: the engine has {databases}, numbered from 0")]
pub struct NoSuchDatabase {
    db: usize,
    databases: usize,
}

/// A data folder could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("could not open the data folder \"{}\"", dir.display())]
pub struct OpenError {
    dir: PathBuf,
    #[source]
    source: aof::Error,
}

impl OpenError {
    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether another process has the folder open.
    pub fn is_in_use(&self) -> bool {
        matches!(self.source, aof::Error::InUse { .. })
    }

    /// What was wrong with the log.
    pub fn reason(&self) -> &aof::Error {
        &self.source
    }
}

/// What all doors share: the state behind its lock, and what must be reachable while the lock is held.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Connections whose commands are run by whoever has the lock.
    line: Arc<Line>,
    /// Clients that left while somebody else had the lock.
    leavers: Mutex<Vec<ClientIndex>>,
    databases: usize,
    log: Option<Arc<aof::Log>>,
    script_control: Arc<ScriptControl>,
    shutdown: Arc<tokio::sync::Notify>,
    bell: Arc<Bell>,
    recovery: Option<Recovery>,
}

/// A script has been running for longer than `busy-reply-threshold`.
#[derive(Debug)]
pub(crate) struct Busy;

/// How often somebody who waits for the lock looks whether a script is to blame.
const BUSY_CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// How often to look again before going to sleep: sleeping and being woken takes longer than most commands do.
const SPINS: u32 = 200;

/// How many connections somebody serves who has other things to do.
pub(crate) const SERVED_MAX: usize = 4;

impl Shared {
    /// Locks the state. Commands take microseconds, so waiting for the lock blocks the thread; only a long
    /// script makes it give up.
    pub(crate) fn lock(&self) -> Result<Guard<'_>, Busy> {
        if let Some(state) = self.lock_at_once() {
            return Ok(state);
        }
        loop {
            if self.script_control.is_busy() {
                return Err(Busy);
            }
            if let Some(state) = self.state.try_lock_for(BUSY_CHECK_INTERVAL) {
                return Ok(self.see_off(state));
            }
        }
    }

    /// Locks the state unless that would take longer than a command does.
    pub(crate) fn lock_at_once(&self) -> Option<Guard<'_>> {
        for _ in 0..SPINS {
            if let Some(state) = self.state.try_lock() {
                return Some(self.see_off(state));
            }
            if self.script_control.is_running() {
                return None;
            }
            std::hint::spin_loop();
        }
        None
    }

    /// Locks the state however long it takes.
    pub(crate) fn lock_patiently(&self) -> Guard<'_> {
        self.see_off(self.state.lock())
    }

    /// Runs what connections have left in the line, unless somebody has the lock, who will.
    pub(crate) fn serve_line(&self) {
        drop(self.state.try_lock().map(|state| self.see_off(state)));
    }

    pub(crate) fn line(&self) -> &Line {
        &self.line
    }

    /// Registers a client; `trusted` ones need no password.
    pub(crate) fn connect(&self, db: usize, trusted: bool, about: About) -> (ClientIndex, Inbox) {
        let mut state = self.lock_patiently();
        let (mailbox, inbox) = mailbox(state.config.pending_output_max);
        (state.connect(db, mailbox, trusted, about), inbox)
    }

    /// Forgets a client, before anybody does anything else. That can be by the next who has the lock, so nobody has to
    /// wait for it in order to go.
    pub(crate) fn leave(&self, client: ClientIndex) {
        match self.state.try_lock() {
            Some(state) => self.see_off(state).disconnect(client),
            None => self.leavers.lock().push(client),
        }
    }

    fn see_off<'a>(&'a self, mut state: MutexGuard<'a, State>) -> Guard<'a> {
        self.forget_leavers(&mut state);
        Guard { shared: self, state: Some(state) }
    }

    fn forget_leavers(&self, state: &mut State) {
        self.leavers.lock().drain(..).for_each(|client| state.disconnect(client));
    }

    /// Lets go of the state, having served those in line.
    fn release<'a>(&'a self, mut state: MutexGuard<'a, State>, let_go: fn(MutexGuard<'a, State>)) {
        let n_max = if thread::panicking() { 0 } else { SERVED_MAX };
        let mut n_served = 0;
        loop {
            while n_served < n_max && !self.line.is_empty() {
                // A thread that waits for the lock comes first, and then the rest of the line is for it to serve.
                MutexGuard::unlock_fair(state);
                let Some(locked) = self.state.try_lock() else { return };
                state = locked;
                self.forget_leavers(&mut state);
                if let Some(order) = self.line.next() {
                    order.run(&mut state);
                    n_served += 1;
                }
            }
            let_go(state);
            // Somebody may have lined up in between, having found the state locked.
            if self.line.is_empty() {
                return;
            }
            if n_served >= n_max {
                return self.line.wake_first();
            }
            match self.state.try_lock() {
                Some(locked) => state = locked,
                None => return,
            }
        }
    }

    /// Waits until everything up to `position` is as durable as the settings ask for.
    ///
    /// Where there is nothing to wait for, a task that calls this often still lets others run from time to time.
    pub(crate) async fn committed(&self, position: u64) -> Result<(), aof::Error> {
        tokio::task::coop::consume_budget().await;
        match &self.log {
            Some(log) if position > 0 => log.committed(position).await,
            _ => Ok(()),
        }
    }

    /// Waits until everything up to `position` is on disk, where writes wait for that too: a reply must not tell of
    /// what a crash may still undo.
    ///
    /// While the disk refuses writes there is nothing to wait for; those who wrote are told, and reads go on.
    pub(crate) async fn shown(&self, position: u64) {
        if let Some(log) = &self.log
            && log.fsync() == Fsync::Always
        {
            log.shown(position).await;
        }
    }

    pub(crate) fn script_control(&self) -> &ScriptControl {
        &self.script_control
    }

    /// Tells the owner that a client has sent SHUTDOWN.
    pub(crate) fn request_shutdown(&self) {
        self.shutdown.notify_one();
    }

    /// Wakes the housekeeper, as a client that has begun to wait must.
    pub(crate) fn ring(&self) {
        self.bell.ring();
    }

    pub(crate) fn bell(&self) -> &Arc<Bell> {
        &self.bell
    }
}

/// The state, locked. Letting go of it serves the connections that found it so.
pub(crate) struct Guard<'a> {
    shared: &'a Shared,
    /// There until it is let go.
    state: Option<MutexGuard<'a, State>>,
}

impl Guard<'_> {
    /// Lets go of the state, and threads that wait for it come first.
    pub(crate) fn unlock_fair(mut self) {
        if let Some(state) = self.state.take() {
            self.shared.release(state, MutexGuard::unlock_fair);
        }
    }
}

impl Deref for Guard<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        self.state.as_ref().expect("it is there until it is let go")
    }
}

impl DerefMut for Guard<'_> {
    fn deref_mut(&mut self) -> &mut State {
        self.state.as_mut().expect("it is there until it is let go")
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            self.shared.release(state, drop);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.bell.ring();
    }
}

#[cfg(test)]
mod tests;
