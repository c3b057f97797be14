//! The engine as its owner sees it: open it, connect to it, listen on it, close it.

use std::{
    ops::{Deref, DerefMut},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::{
    aof::{self, Fsync, Loading, Recovery},
    config::Config,
    connection::{Connection, queue::CallQueue},
    deferred::DeferredWork,
    host::{Host, SystemHost},
    housekeeping::{self, Wakeup},
    reply::Reply,
    script_control::ScriptControl,
    session::ClientIndex,
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
        Builder {
            config: Config::default(),
            fsync: Fsync::default(),
            host: None,
            loading: Arc::default(),
        }
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

    /// Ends a script that has been running for at least `time`, as SCRIPT KILL does, so that the program can stop.
    ///
    /// A script that has written goes on, because half of it must not stay. If the program ends meanwhile, nothing of it
    /// is found after a restart: what a script did goes to the log when it has ended, and all of it at once.
    pub fn end_script(&self, time: Duration) {
        if self.shared.script_control.has_run_for(time) {
            // Whoever has written goes on.
            let _: Result<Reply, _> = self.shared.script_control.kill();
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
    loading: Arc<Loading>,
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

    /// Where to tell how much of the log has been replayed while [`Builder::open`] runs.
    pub fn loading(mut self, loading: Arc<Loading>) -> Builder {
        self.loading = loading;
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
        let options =
            aof::Options { fsync: self.fsync, loading: self.loading, ..aof::Options::default() };
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
            pending_output_max: state.config.pending_output_max,
            log: state.log.clone(),
            script_control: state.script_control.clone(),
            shutdown: state.shutdown.clone(),
            call_queue: state.call_queue.clone(),
            deferred: state.deferred.clone(),
            password: state.password.clone(),
            client_ids: state.clients.ids(),
            bell: Arc::default(),
            state: Mutex::new(state),
            freed: Notify::new(),
            n_waiting: AtomicUsize::new(0),
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
    call_queue: Arc<CallQueue>,
    /// What is to be done by the next who has the lock.
    deferred: Arc<DeferredWork>,
    /// Rung when the state is unlocked, if anybody waits for that as a task.
    freed: Notify,
    n_waiting: AtomicUsize,
    databases: usize,
    /// Bytes of messages that a slow subscriber in process may leave lying.
    pending_output_max: usize,
    log: Option<Arc<aof::Log>>,
    script_control: Arc<ScriptControl>,
    /// What clients over TCP have to give.
    password: Arc<Mutex<Option<String>>>,
    client_ids: Arc<AtomicU64>,
    shutdown: Arc<Notify>,
    bell: Arc<Wakeup>,
    recovery: Option<Recovery>,
}

/// A script has been running for longer than `busy-reply-threshold`.
#[derive(Debug)]
pub(crate) struct Busy;

/// Why the state is not to be had now.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Somebody has it who takes longer than most; [`Shared::until_free`] waits for that.
    Held,
    /// A script has been running for longer than `busy-reply-threshold`.
    Busy,
}

/// The most that a thread of a runtime waits for the state. Commands take microseconds; only scripts take longer.
const WAIT_MAX: Duration = Duration::from_millis(10);

/// How often a task that waits for the state looks whether a script is to blame.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How often to look again before going to sleep: sleeping and being woken takes longer than most commands do.
const SPINS: u32 = 200;

/// How many connections somebody serves who has other things to do.
pub(crate) const SERVED_MAX: usize = 4;

impl Shared {
    /// Locks the state for a thread that has nothing else to do. Only a script that runs too long makes it give up.
    pub(crate) fn lock(&self) -> Result<Guard<'_>, Busy> {
        loop {
            match self.lock_briefly() {
                Ok(state) => return Ok(state),
                Err(Refused::Busy) => return Err(Busy),
                Err(Refused::Held) => {
                    if let Some(state) = self.state.try_lock_for(WAIT_MAX) {
                        return Ok(self.guard(state, SERVED_MAX));
                    }
                }
            }
        }
    }

    /// Locks the state for a thread of a runtime. It waits where that is a matter of microseconds, and not at all for a
    /// script that has been running for a while: others need the thread, and one of them may want to end the script.
    pub(crate) fn lock_briefly(&self) -> Result<Guard<'_>, Refused> {
        if let Some(state) = self.lock_at_once() {
            return Ok(state);
        }
        if !self.script_control.has_run_for(WAIT_MAX)
            && let Some(state) = self.state.try_lock_for(WAIT_MAX)
        {
            return Ok(self.guard(state, SERVED_MAX));
        }
        Err(if self.script_control.is_busy() { Refused::Busy } else { Refused::Held })
    }

    /// Waits, without a thread, until the state may be free or the one who has it may have had it for too long.
    pub(crate) async fn until_free(&self) {
        let _waiting = Waiting::new(&self.n_waiting);
        let freed = self.freed.notified();
        tokio::pin!(freed);
        freed.as_mut().enable();
        if self.state.is_locked() {
            let _ = tokio::time::timeout(LOOK_AGAIN, freed).await;
        }
    }

    /// Locks the state unless that would take longer than a command does.
    pub(crate) fn lock_at_once(&self) -> Option<Guard<'_>> {
        for _ in 0..SPINS {
            if let Some(state) = self.state.try_lock() {
                return Some(self.guard(state, SERVED_MAX));
            }
            if self.script_control.is_running() {
                return None;
            }
            std::hint::spin_loop();
        }
        None
    }

    /// Locks the state however long it takes: for the engine's own threads, never for one of a runtime.
    ///
    /// The holder does not serve the queue, because a script in it would delay the work of the thread.
    pub(crate) fn lock_blocking(&self) -> Guard<'_> {
        self.lock_and_serve(0)
    }

    fn lock_and_serve(&self, n_served_max: usize) -> Guard<'_> {
        loop {
            if let Some(state) = self.state.try_lock_for(LOOK_AGAIN) {
                return self.guard(state, n_served_max);
            }
            // The script may be inside one long call and tell nobody.
            if self.script_control.is_busy() {
                self.call_queue.refuse_all();
            }
        }
    }

    /// Locks the state however long it takes, and serves the queue afterwards.
    #[cfg(test)]
    pub(crate) fn lock_in_test(&self) -> Guard<'_> {
        self.lock_and_serve(SERVED_MAX)
    }

    /// Runs what connections have queued, unless somebody holds the lock, who will run it.
    pub(crate) fn serve_queue(&self) {
        drop(self.state.try_lock().map(|state| self.guard(state, SERVED_MAX)));
    }

    pub(crate) fn call_queue(&self) -> &CallQueue {
        &self.call_queue
    }

    /// Registers a client; `trusted` ones need no password.
    #[cfg(test)]
    pub(crate) fn connect(
        &self,
        db: usize,
        trusted: bool,
        about: crate::session::ClientInfo,
    ) -> (ClientIndex, crate::session::Inbox) {
        let mut state = self.lock_blocking();
        let (mailbox, inbox) = crate::session::mailbox(state.config.pending_output_max);
        (state.connect(db, mailbox, trusted, about), inbox)
    }

    /// Does something with the state before anybody does anything else with it. That can be by the next who has the
    /// lock, so nobody has to wait for it.
    pub(crate) fn do_soon(&self, work: impl FnOnce(&mut State) + Send + 'static) {
        match self.state.try_lock() {
            Some(state) => work(&mut self.guard(state, SERVED_MAX)),
            None => self.deferred.push(work),
        }
    }

    /// Forgets a client.
    pub(crate) fn leave(&self, client: ClientIndex) {
        self.do_soon(move |state| state.disconnect(client));
    }

    /// Ends a client's wait, because nobody waits for the answer any more.
    pub(crate) fn stop_waiting(&self, client: ClientIndex) {
        self.do_soon(move |state| state.stop_waiting(client));
    }

    fn guard<'a>(&'a self, mut state: MutexGuard<'a, State>, n_served_max: usize) -> Guard<'a> {
        self.deferred.carry_out(&mut state);
        Guard { shared: self, state: Some(state), n_served_max }
    }

    /// Lets go of the state, having served the queue.
    fn release<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        n_served_max: usize,
        let_go: fn(MutexGuard<'a, State>),
    ) {
        let n_max = if thread::panicking() { 0 } else { n_served_max };
        let mut n_served = 0;
        loop {
            while n_served < n_max && !self.call_queue.is_empty() {
                // A thread that waits for the lock comes first, and then serves the rest of the queue.
                MutexGuard::unlock_fair(state);
                let Some(locked) = self.state.try_lock() else { return };
                state = locked;
                self.deferred.carry_out(&mut state);
                if let Some(order) = self.call_queue.next() {
                    order.run(&mut state);
                    n_served += 1;
                }
            }
            let_go(state);
            if self.n_waiting.load(Ordering::SeqCst) > 0 {
                self.freed.notify_waiters();
            }
            // Somebody may have lined up in between, having found the state locked.
            if self.call_queue.is_empty() {
                return;
            }
            if n_served >= n_max {
                return self.call_queue.wake_first();
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

    /// The password that clients over TCP have to give.
    pub(crate) fn password(&self) -> Option<String> {
        self.password.lock().clone()
    }

    pub(crate) fn pending_output_max(&self) -> usize {
        self.pending_output_max
    }

    /// A number for a client that cannot be made known to the state yet.
    pub(crate) fn next_client_id(&self) -> u64 {
        self.client_ids.fetch_add(1, Ordering::Relaxed) + 1
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

    pub(crate) fn bell(&self) -> &Arc<Wakeup> {
        &self.bell
    }
}

/// One more task that waits for the state.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(n_waiting: &'a AtomicUsize) -> Waiting<'a> {
        n_waiting.fetch_add(1, Ordering::SeqCst);
        Waiting(n_waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The state, locked. Letting go of it serves the connections that found it so.
pub(crate) struct Guard<'a> {
    shared: &'a Shared,
    /// There until it is let go.
    state: Option<MutexGuard<'a, State>>,
    /// How many calls of the queue are served before it is unlocked.
    n_served_max: usize,
}

impl Guard<'_> {
    /// Lets go of the state, and threads that wait for it come first.
    pub(crate) fn unlock_fair(mut self) {
        if let Some(state) = self.state.take() {
            self.shared.release(state, self.n_served_max, MutexGuard::unlock_fair);
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
            self.shared.release(state, self.n_served_max, drop);
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
