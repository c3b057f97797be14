//! The loop of a worker at one queue.
//!
//! What has ended is settled in the same call that claims the next jobs. Two calls may be under way, each for half the
//! jobs, so that neither the store nor the handlers wait for the other; under load each call is a batch by itself. A
//! queue worker whose handlers are quick takes some jobs ahead, which wait in line for a moment, and takes them in reservations.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use keyrack_store::joined;
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::{Instant, sleep_until},
};

use super::{
    Duplicates, OnSettled, QueueRegistration, Settings,
    context::{Context, ForHandlers, Stop},
    maintenance::{follow_orders, maintain, wait_after, why_gone},
    places::PlacesOfQueue,
    prefetch::Prefetch,
    quarantine::Quarantine,
    registry::Registry,
    reservations::{Reservations, WorkerEvent},
    run::Runner,
    settle_call::{SettleCall, SettleReply, send},
    wakeups::{ClaimTime, Wakeups},
};
use crate::{
    Error,
    bee::{
        claim::Blocked,
        heartbeat::WorkerInfo,
        hive::Hive,
        job::Job,
        keys::{QueueName, WorkerId},
        settle::{End, Outcome, Settled, Verdict},
        sweep::WorkerTimeouts,
    },
};

/// Calls under way at once.
const CALLS_MAX: usize = 2;
/// The same for quick handlers: the store works on some calls while others are on their way.
const QUICK_CALLS_MAX: usize = 6;
/// Ends that go into one call, so that other clients are not kept waiting.
const OUTCOMES_PER_CALL: usize = 200;
/// Quick jobs that one task runs one after the other.
const IN_TURN: usize = 32;
/// A worker that hears nothing asks all the same, should a message have been lost.
const ASK_EVERY: Duration = Duration::from_secs(5);
/// Waits between attempts when the store cannot be reached.
const BACKOFF_MIN: Duration = Duration::from_millis(50);
const BACKOFF_MAX: Duration = Duration::from_millis(500);
/// How long a job that was claimed ahead may wait for a handler. Then others get it.
const IN_LINE_MAX: Duration = Duration::from_millis(50);
/// What a stopping worker waits for the store beyond the time its handlers have.
pub(super) const LAST_CALL: Duration = Duration::from_secs(2);

/// What the loop, its maintenance and its calls share.
pub(super) struct Shared {
    pub(super) hive: Hive,
    pub(super) queue: QueueName,
    pub(super) worker: WorkerId,
    pub(super) registry: Registry,
    pub(super) for_handlers: Arc<ForHandlers>,
    /// Who wants to know whether ends count.
    settled: Option<Arc<OnSettled>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("worker", &self.worker).finish_non_exhaustive()
    }
}

impl Shared {
    /// Tells whoever wants to know whether ends count.
    pub(super) fn tell_settled(&self, outcomes: &[Outcome], verdicts: &[Verdict]) {
        let Some(settled) = &self.settled else { return };
        for (outcome, verdict) in outcomes.iter().zip(verdicts) {
            settled(outcome, *verdict);
        }
    }
}

/// A worker at one queue.
pub(super) struct QueueWorker {
    shared: Arc<Shared>,
    settings: Arc<Settings>,
    runner: Arc<Runner>,
    timeouts: WorkerTimeouts,
    drain: Duration,
    wakeups: Wakeups,
    /// Ends that are not settled yet.
    outcomes: Vec<Outcome>,
    reservations: Reservations,
    events: mpsc::UnboundedReceiver<WorkerEvent>,
    /// Each in a task of its own: on an embedded store a call is work, which other cores can do meanwhile.
    calls: JoinSet<SettleReply>,
    /// Jobs whose handler runs.
    busy: usize,
    /// Jobs that were claimed ahead, and when, first to run first.
    line: VecDeque<(Instant, Context)>,
    prefetch: Prefetch,
    /// What it may use of the places of all queues of its worker, if they share them.
    places: Option<PlacesOfQueue>,
    /// Jobs that calls under way may still bring.
    reserved: usize,
    /// Whether there may be jobs to claim.
    hungry: bool,
    blocked: Option<Blocked>,
    ask_at: Instant,
    /// When a delayed job is due that was announced. Kept apart: the reply to an earlier call knows nothing of it.
    due_at: Option<Instant>,
    /// No call before that: the store could not be reached.
    not_before: Option<Instant>,
    backoff: Duration,
}

impl QueueWorker {
    pub(super) fn new(
        hive: &Hive,
        registration: QueueRegistration,
        timeouts: WorkerTimeouts,
        drain: Duration,
        quarantine: Quarantine,
        places: Option<PlacesOfQueue>,
        settled: Option<Arc<OnSettled>>,
    ) -> Result<QueueWorker, Error> {
        let worker = hive.new_worker(&registration.queue)?;
        let (finish, events) = mpsc::unbounded_channel();
        let wakeups = Wakeups::new(hive.clone(), registration.queue.clone());
        let shared = Shared {
            hive: hive.clone(),
            queue: registration.queue,
            worker,
            registry: Registry::default(),
            for_handlers: Arc::new(ForHandlers::new(hive)),
            settled,
        };
        let concurrency = registration.settings.concurrency;
        let ahead_max = (QUICK_CALLS_MAX * OUTCOMES_PER_CALL).saturating_sub(concurrency);
        let prefetch = Prefetch::new(concurrency, ahead_max, Instant::now());
        let (shared, settings) = (Arc::new(shared), Arc::new(registration.settings));
        let runner = Runner {
            shared: Arc::clone(&shared),
            settings: Arc::clone(&settings),
            timeouts,
            handler: registration.handler,
            quarantine,
            finish,
        };
        Ok(QueueWorker {
            shared,
            settings,
            runner: Arc::new(runner),
            timeouts,
            drain,
            wakeups,
            outcomes: Vec::new(),
            reservations: Reservations::default(),
            events,
            calls: JoinSet::new(),
            busy: 0,
            line: VecDeque::new(),
            prefetch,
            places,
            reserved: 0,
            hungry: true,
            blocked: None,
            ask_at: Instant::now(),
            due_at: None,
            not_before: None,
            backoff: BACKOFF_MIN,
        })
    }

    /// Serves the queue until told to stop, then finishes or gives back what is under way.
    pub(super) async fn run(mut self, mut stopping: watch::Receiver<bool>) {
        let shared = Arc::clone(&self.shared);
        let info = WorkerInfo {
            started_at: shared.hive.now_ms(),
            concurrency: self.settings.concurrency as u64,
            lock_ms: self.timeouts.lock.as_millis() as u64,
            listens: true,
            isolates: true,
            stop_ms: Some((self.settings.stop_grace + LAST_CALL).as_millis() as u64),
            version: self.settings.version.clone(),
        };
        let timeouts = self.timeouts;
        let shares_queue = self.shares_queue();
        if !self.register(&info, &mut stopping).await {
            return;
        }
        tokio::select! {
            () = self.serve(&mut stopping) => {}
            () = maintain(&shared, timeouts, info) => {}
            () = follow_orders(&shared, shares_queue) => {}
        }
        if let Err(error) = shared.hive.leave(&shared.queue, &shared.worker).await {
            tracing::warn!(queue = %shared.queue, %error, "could not give jobs back; others will take them in a moment");
        }
    }

    /// Makes the worker known before it has jobs, so that others notice should it go. False if it is to stop first.
    async fn register(&mut self, info: &WorkerInfo, stopping: &mut watch::Receiver<bool>) -> bool {
        let shared = Arc::clone(&self.shared);
        while let Err(error) = shared
            .hive
            .heartbeat(&shared.queue, &shared.worker, self.timeouts.lock, Some(info))
            .await
        {
            tracing::debug!(queue = %shared.queue, %error, "the store cannot be reached; will try again");
            tokio::select! {
                () = tokio::time::sleep(BACKOFF_MAX) => {}
                _ = stopping.wait_for(|stopping| *stopping) => return false,
            }
        }
        true
    }

    async fn serve(&mut self, stopping: &mut watch::Receiver<bool>) {
        let mut deadline = None;
        let mut told_handlers = false;
        loop {
            if *stopping.borrow_and_update() && deadline.is_none() {
                deadline = Some(Instant::now() + self.drain);
                self.shared.for_handlers.shutdown.begin();
                self.give_line_back();
            }
            if let Some(deadline) = deadline {
                let is_idle = self.busy == 0
                    && self.outcomes.is_empty()
                    && self.reservations.is_empty()
                    && self.calls.is_empty();
                if is_idle || deadline + self.settings.stop_grace + LAST_CALL <= Instant::now() {
                    return;
                }
                if !told_handlers && deadline <= Instant::now() {
                    told_handlers = true;
                    self.shared.registry.stop_all(Stop::Shutdown);
                }
            }
            self.gather().await;
            if self.call_if_worthwhile(deadline.is_some()) {
                continue;
            }
            let any_end = self.blocked == Some(Blocked::Concurrency);
            let wakes_at = self.wakes_at(deadline.filter(|_| !told_handlers));
            tokio::select! {
                Some(events) = self.events.recv() => self.note(events),
                Some(reply) = self.calls.join_next() => {
                    let reply = joined(reply).await;
                    self.take(reply).await;
                }
                ask = self.wakeups.next(any_end) => self.note_wakeup(ask),
                () = PlacesOfQueue::changed(&mut self.places) => {}
                () = sleep_until(wakes_at) => self.wake(),
                _ = stopping.changed(), if deadline.is_none() => {}
            }
        }
    }

    fn wakes_at(&self, deadline: Option<Instant>) -> Instant {
        let line_until = self.line.front().map(|(claimed_at, _)| *claimed_at + IN_LINE_MAX);
        deadline
            .into_iter()
            .chain(self.not_before)
            .chain(line_until)
            .chain(self.due_at)
            .chain(self.reservations.due_at())
            .fold(self.ask_at, Instant::min)
    }

    /// Collects what has ended. Handlers that are about to end get a chance to be in the same call.
    async fn gather(&mut self) {
        self.note_all();
        while self.busy > 0 && (1..OUTCOMES_PER_CALL).contains(&self.n_ended()) {
            let n_before = self.n_ended();
            tokio::task::yield_now().await;
            self.note_all();
            if self.n_ended() == n_before {
                return;
            }
        }
    }

    fn n_ended(&self) -> usize {
        self.outcomes.len() + self.reservations.n_ended()
    }

    fn note_all(&mut self) {
        while let Ok(events) = self.events.try_recv() {
            self.note(events);
        }
    }

    fn note(&mut self, events: WorkerEvent) {
        match events {
            WorkerEvent::Ended(outcomes) => {
                self.busy -= outcomes.len();
                self.prefetch.note_ends(outcomes.len());
                outcomes.into_iter().for_each(|outcome| self.keep(outcome));
                // The handlers' places are for the next in line.
                self.run_line();
            }
            WorkerEvent::Hurry(reservation) => self.reservations.hurry(reservation),
        }
    }

    /// Keeps an end for the next call, or for the one that closes its reservation.
    fn keep(&mut self, outcome: Outcome) {
        self.outcomes.extend(self.reservations.note(outcome));
    }

    fn run_line(&mut self) {
        let n_free = self.settings.concurrency.saturating_sub(self.busy);
        let n_next = n_free.min(self.line.len());
        self.busy += n_next;
        let mut next = self.line.drain(..n_next).map(|(_, context)| context).peekable();
        while let Some(context) = next.next() {
            let runner = Arc::clone(&self.runner);
            if !context.is_of_reservation() {
                tokio::spawn(runner.run(context));
                continue;
            }
            let mut in_turn = vec![context];
            while in_turn.len() < IN_TURN
                && let Some(context) = next.next_if(Context::is_of_reservation)
            {
                in_turn.push(context);
            }
            tokio::spawn(runner.run_in_turn(in_turn));
        }
    }

    /// Gives back what was claimed ahead.
    fn give_line_back(&mut self) {
        for (_, context) in std::mem::take(&mut self.line) {
            self.keep(Outcome::of(context.job(), End::Released));
        }
        self.prefetch.rest(Instant::now());
    }

    fn wake(&mut self) {
        let now = Instant::now();
        if self.line.front().is_some_and(|(claimed_at, _)| *claimed_at + IN_LINE_MAX <= now) {
            self.give_line_back();
        }
        if self.not_before.is_some_and(|at| at <= now) {
            self.not_before = None;
        }
        if self.due_at.is_some_and(|at| at <= now) {
            self.due_at = None;
            self.hungry = true;
        }
        if self.ask_at <= now {
            self.ask_at = now + ASK_EVERY;
            self.hungry = true;
        }
    }

    fn note_wakeup(&mut self, ask: ClaimTime) {
        match ask {
            ClaimTime::Now => self.hungry = true,
            ClaimTime::At(ms) => {
                let wait = Duration::from_millis(ms.saturating_sub(self.shared.hive.now_ms()));
                let at = Instant::now() + wait;
                self.due_at = Some(self.due_at.map_or(at, |earlier| earlier.min(at)));
            }
        }
    }

    /// Begins a call if there is something to settle or to ask for. True if it did.
    fn call_if_worthwhile(&mut self, is_stopping: bool) -> bool {
        let now = Instant::now();
        self.note_places();
        if is_stopping {
            self.rest();
        }
        if self.not_before.is_some_and(|at| at > now) {
            self.rest();
            return false;
        }
        // What is shared with others is not for holding jobs that do not run.
        let is_shared = self.blocked.is_some() || self.places.is_some();
        let ahead = if is_shared { 0 } else { self.prefetch.ahead(now) };
        let calls_max = if ahead > 0 { QUICK_CALLS_MAX } else { CALLS_MAX };
        if self.calls.len() >= calls_max {
            return false;
        }
        let places = self.settings.concurrency + ahead;
        let free = places.saturating_sub(self.busy + self.line.len() + self.reserved);
        let batch = places.div_ceil(calls_max).min(OUTCOMES_PER_CALL);
        let reserves = self.reservations.has_unsure() || (ahead > 0 && self.may_reserve());
        // A reservation is worth its calls when it is a large one.
        let is_waiting = self.busy == 0 && self.line.is_empty();
        let wants_jobs = !is_stopping && (!reserves || 2 * free >= batch || is_waiting);
        let wanted = if wants_jobs { free.min(batch) } else { 0 };
        let has_due = self.reservations.has_due(now);
        let has_ends = !self.outcomes.is_empty() || has_due;
        // A settlement may as well ask for jobs, unless other queues would have to wait for the answer.
        let asks = self.hungry || (has_ends && self.places.is_none());
        let max = if asks { self.granted(wanted) } else { 0 };
        if !has_ends && max == 0 {
            return false;
        }
        let (closes, mut outcomes) = match self.reservations.take_due(now) {
            Some((closing, ended)) => (Some(closing), ended),
            None => (None, Vec::new()),
        };
        let room = OUTCOMES_PER_CALL.saturating_sub(outcomes.len()).min(self.outcomes.len());
        outcomes.extend(self.outcomes.drain(..room));
        let reserve = (reserves && max > 0).then(|| self.reservations.number());
        self.reserved += max;
        self.hungry &= max == 0;
        let call = SettleCall { outcomes, max, reserve, closes };
        let (shared, settings) = (Arc::clone(&self.shared), Arc::clone(&self.settings));
        self.calls.spawn(send(shared, settings, call, self.timeouts.lock));
        true
    }

    /// How many of so many jobs there are places for.
    fn granted(&mut self, wanted: usize) -> usize {
        match &mut self.places {
            Some(places) if wanted > 0 => places.grant(wanted),
            _ => wanted,
        }
    }

    /// Lets the other queues of the worker have what this one cannot use now.
    fn rest(&self) {
        self.places.iter().for_each(PlacesOfQueue::rest);
    }

    fn note_places(&self) {
        if let Some(places) = &self.places {
            places.set_used(self.busy + self.line.len() + self.reserved);
        }
    }

    /// Whether Node's programs may use the queue too, as its timings tell.
    fn shares_queue(&self) -> bool {
        self.timeouts.waits_max > 0
    }

    /// Whether others would make sense of reserved jobs: Node's programs do not, and duplicates are found while they run.
    fn may_reserve(&self) -> bool {
        !self.shares_queue()
            && matches!(self.settings.duplicates, Duplicates::Run)
            && self.shared.hive.writes_history()
    }

    async fn take(&mut self, reply: SettleReply) {
        let SettleReply { call, result, n_claimed } = reply;
        self.reserved -= call.max;
        if let Some(places) = &self.places
            && n_claimed < call.max
        {
            places.not_filled(call.max - n_claimed);
        }
        match result {
            Ok(settled) => {
                if self.backoff > BACKOFF_MIN {
                    tracing::info!(queue = %self.shared.queue, "the store is back");
                }
                self.backoff = BACKOFF_MIN;
                self.shared.registry.forget(&call.outcomes);
                self.shared.tell_settled(&call.outcomes, &settled.verdicts);
                if let Some(closing) = &call.closes {
                    self.closed(closing.reservation, &settled.not_begun).await;
                }
                self.take_claimed(settled, &call, n_claimed).await;
            }
            Err(error) => {
                if let Some(closing) = &call.closes {
                    self.reservations.not_closed(closing.reservation);
                }
                if let Some(reservation) = call.reserve {
                    self.reservations.is_unsure(reservation);
                }
                for outcome in call.outcomes {
                    self.keep(outcome);
                }
                // Told when it begins, not every time.
                if self.backoff == BACKOFF_MIN {
                    tracing::warn!(queue = %self.shared.queue, %error, "the store cannot be reached; trying again until it can");
                }
                self.not_before = Some(Instant::now() + self.backoff);
                self.backoff = (self.backoff * 2).min(BACKOFF_MAX);
                self.hungry = true;
            }
        }
    }

    /// The jobs of a reservation run for everybody now, or have ended, or are not ours any more.
    async fn closed(&mut self, reservation: u64, not_begun: &[String]) {
        let (late, jobs) = self.reservations.closed(reservation);
        self.outcomes.extend(late);
        if not_begun.is_empty() {
            return;
        }
        for context in
            jobs.iter().filter(|context| not_begun.iter().any(|jid| jid == context.job().jid()))
        {
            context.stop(why_gone(&self.shared, context.job().jid()).await);
        }
    }

    async fn take_claimed(&mut self, settled: Settled, call: &SettleCall, n_claimed: usize) {
        if call.max == 0 {
            return;
        }
        let Settled { claimed, reserved, .. } = settled;
        // An end that was heard before we knew that ends matter is found by asking once more.
        let full = Some(Blocked::Concurrency);
        self.hungry |= claimed.blocked == full && self.blocked != full;
        self.blocked = claimed.blocked;
        let wait =
            wait_after(&claimed, self.shared.hive.now_ms()).unwrap_or(ASK_EVERY).min(ASK_EVERY);
        self.ask_at = Instant::now() + wait;
        // Jobs that turned out to be duplicates were claimed too: there may be others behind them.
        let is_full = n_claimed.max(reserved.len()) == call.max;
        let reservation = call.reserve.filter(|_| !reserved.is_empty());
        let queue_timeout = claimed.timeout_ms.map(Duration::from_millis);
        self.take_in(claimed.jobs, reservation, queue_timeout);
        if is_full {
            self.hungry = true;
            self.wakeups.note_full_claim();
            return;
        }
        // What was submitted before we listened is found by asking once more.
        match self.wakeups.listen().await {
            Ok(was_closed) => self.hungry |= was_closed,
            Err(_) => self.ask_at = Instant::now() + BACKOFF_MAX,
        }
    }

    /// Lets jobs run, or wait in line when all handlers are busy.
    fn take_in(
        &mut self,
        jobs: Vec<Job>,
        reservation: Option<u64>,
        queue_timeout: Option<Duration>,
    ) {
        let claimed_at = Instant::now();
        let handle = reservation
            .map(|reservation| Reservations::handle(reservation, self.runner.finish.clone()));
        let Shared { hive, for_handlers, .. } = &*self.shared;
        let context = |job| {
            let (handle, shared) = (handle.clone(), Arc::clone(for_handlers));
            Context::new(hive.clone(), job, handle, shared, queue_timeout)
        };
        let contexts: Vec<Context> = jobs.into_iter().map(context).collect();
        self.shared.registry.add(&contexts);
        self.line.extend(contexts.iter().map(|context| (claimed_at, context.clone())));
        if let Some(handle) = handle {
            self.reservations.open(handle, contexts, claimed_at);
        }
        self.run_line();
    }
}
