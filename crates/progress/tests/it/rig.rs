//! A user with progress bars in a store, and what tests do with them.

use std::collections::BTreeMap;

use keyrack_engine::SimulatedHost;
use keyrack_keys::{Key, Registry, UserSub};
use keyrack_progress::{
    CountOutcome, Error, NewTrace, Progress, Sample, Samples, Trace, Update,
    keys::{self, BarName, StepPosition, TraceUid},
};
use keyrack_store::{ServiceError as _, Store};
use keyrack_testkit::on_every_store_at;
use redis::FromRedisValue;

/// The 8th of November 2022, 23:26:40 UTC.
pub(crate) const NOW_MS: u64 = 1_667_950_000_000;
pub(crate) const NOW: f64 = 1_667_950_000.0;
pub(crate) const BAR: &str = "import";
pub(crate) const TRACE: &str = "t1";

#[derive(Clone)]
pub(crate) struct ProgressTest {
    pub(crate) progress: Progress,
    pub(crate) clock: SimulatedHost,
    pub(crate) user: UserSub,
}

/// Runs a test on every kind of store, beginning at [`NOW`].
pub(crate) async fn everywhere(test: impl AsyncFn(ProgressTest)) {
    on_every_store_at(NOW_MS, async |store, clock| {
        let progress = Progress::seeded(store, hot_queue(), 1);
        let rig = ProgressTest { progress, clock, user: user("alice") };
        test(rig.clone()).await;
        rig.assert_as_declared().await;
    })
    .await;
}

pub(crate) fn hot_queue() -> Key {
    keyrack_jobs::hot::keys::hot()
}

pub(crate) fn user(sub: &str) -> UserSub {
    UserSub::new(sub).expect("a user")
}

/// A trace of [`BAR`] that begins now with a one-off step.
pub(crate) fn starts(step_name: &str) -> NewTrace {
    NewTrace {
        pbar_name: BAR.into(),
        uid: TRACE.into(),
        step_name: step_name.into(),
        iterations: None,
        now: NOW,
        reports_every: None,
    }
}

/// An update of [`TRACE`] for a one-off step that goes on.
pub(crate) fn goes_on(step_name: &str) -> Update {
    Update {
        pbar_name: BAR.into(),
        trace_uid: TRACE.into(),
        step_name: step_name.into(),
        iteration: None,
        iterations: None,
        done: false,
        now: NOW,
    }
}

pub(crate) fn iterated(step_name: &str, iteration: u64, iterations: u64) -> Update {
    Update { iteration: Some(iteration), iterations: Some(iterations), ..goes_on(step_name) }
}

pub(crate) fn done(update: Update) -> Update {
    Update { done: true, ..update }
}

/// A step of a whole run: its name, its iterations (0 for a one-off step), and how long it takes.
pub(crate) type Leg<'a> = (&'a str, u64, f64);

impl ProgressTest {
    /// The same store, with a user who has nothing yet.
    pub(crate) fn of(&self, sub: &str) -> ProgressTest {
        ProgressTest { user: user(sub), ..self.clone() }
    }

    /// Moves the clock on to a time, unless it is later already.
    pub(crate) fn wait_until(&self, at: f64) {
        let at_ms = (at * 1000.0).round() as u64;
        self.clock.advance_ms(at_ms.saturating_sub(self.clock.now_ms()));
    }

    pub(crate) fn store(&self) -> &Store {
        self.progress.store()
    }

    pub(crate) async fn create(&self, new: &NewTrace) -> Result<(), Error> {
        self.progress.create_trace(&self.user, new).await
    }

    pub(crate) async fn update(&self, update: &Update) -> Result<(), Error> {
        self.progress.update_trace(&self.user, update).await
    }

    /// Begins [`TRACE`] with a step.
    pub(crate) async fn start(&self, step_name: &str) {
        self.create(&starts(step_name)).await.expect("created");
    }

    pub(crate) async fn accept(&self, update: &Update) {
        self.update(update).await.unwrap_or_else(|error| panic!("{update:?}: {error}"));
    }

    /// Sends an update that is refused with this word, and proves that nothing has changed.
    pub(crate) async fn refuse(&self, update: &Update, word: &str) {
        let before = self.everything().await;
        let error = self.update(update).await.expect_err("a refusal");
        assert_eq!(error.code(), word, "{update:?}: {error}");
        assert_eq!(self.everything().await, before, "{update:?} left something behind");
    }

    pub(crate) async fn trace(&self) -> Trace {
        self.find(TRACE).await.expect("the trace is there")
    }

    pub(crate) async fn find(&self, uid: &str) -> Option<Trace> {
        self.progress.trace(&self.user, BAR, uid).await.expect("an answer")
    }

    /// Reports a whole run of [`BAR`] that begins at a time, without counting it.
    pub(crate) async fn report(&self, uid: &str, begins: f64, legs: &[Leg<'_>]) {
        self.wait_until(begins);
        let given = |n: u64| (n > 0).then_some(n);
        let (first, _) = legs.split_first().expect("a step");
        let new = NewTrace {
            uid: uid.into(),
            iterations: given(first.1),
            now: begins,
            ..starts(first.0)
        };
        self.create(&new).await.expect("created");
        let mut now = begins;
        for (at, (name, iterations, seconds)) in legs.iter().enumerate() {
            now += seconds;
            self.wait_until(now);
            let update = match legs.get(at + 1) {
                Some(next) => Update {
                    iteration: given(next.1).map(|_| 0),
                    iterations: given(next.1),
                    ..goes_on(next.0)
                },
                None => done(Update {
                    iteration: given(*iterations),
                    iterations: given(*iterations),
                    ..goes_on(name)
                }),
            };
            self.accept(&Update { trace_uid: uid.into(), now, ..update }).await;
        }
    }

    pub(crate) async fn count(&self, uid: &str) -> CountOutcome {
        self.progress.handle_completed(&self.user, BAR, uid, None).await.expect("handled")
    }

    /// Reports a whole run and counts it.
    pub(crate) async fn run(&self, uid: &str, begins: f64, legs: &[Leg<'_>]) -> CountOutcome {
        self.report(uid, begins, legs).await;
        self.count(uid).await
    }

    pub(crate) async fn samples(&self) -> Samples {
        self.progress.samples(&self.user, BAR).await.expect("an answer").expect("the bar")
    }

    /// When the retained traces began, as seconds after [`NOW`].
    pub(crate) async fn retained(&self) -> Vec<f64> {
        let began = |sample: &Sample| sample.created_at - NOW;
        self.samples().await.traces.iter().map(began).collect()
    }

    pub(crate) fn trace_key(&self) -> Key {
        keys::trace(&self.user, &bar(), &trace_uid(TRACE))
    }

    pub(crate) fn step_key(&self, position: u64) -> Key {
        let position = StepPosition::new(position).expect("a position");
        keys::step(&self.user, &bar(), &trace_uid(TRACE), &position)
    }

    pub(crate) async fn hash(&self, key: &Key) -> BTreeMap<String, String> {
        self.ask("HGETALL", key, &[]).await
    }

    /// Runs a command on a key.
    pub(crate) async fn ask<T: FromRedisValue>(&self, name: &str, key: &Key, args: &[&str]) -> T {
        let mut cmd = redis::cmd(name);
        cmd.arg(&*self.store().place(key)).arg(args);
        cmd.query_async(&mut self.store().connection()).await.expect("a reply")
    }

    pub(crate) async fn exists(&self, key: &Key) -> bool {
        self.ask("EXISTS", key, &[]).await
    }

    /// Asserts that a key expires in about so many seconds, by the server's clock.
    pub(crate) async fn assert_expires_in(&self, key: &Key, seconds: i64) {
        let left: i64 = self.ask("TTL", key, &[]).await;
        assert!((seconds - 10..=seconds).contains(&left), "{key} expires in {left} s");
    }

    /// The entries of the hot queue.
    pub(crate) async fn queued(&self) -> Vec<String> {
        self.ask("LRANGE", &hot_queue(), &["0", "-1"]).await
    }

    /// What a change of [`TRACE`] could leave behind.
    async fn everything(&self) -> impl PartialEq + std::fmt::Debug {
        let trace = self.hash(&self.trace_key()).await;
        let mut steps = Vec::new();
        for position in 1..=4 {
            steps.push(self.hash(&self.step_key(position)).await);
        }
        let outbox: Vec<String> = self.ask("LRANGE", &keys::outbox(&self.user), &["0", "-1"]).await;
        (trace, steps, self.queued().await, outbox)
    }

    /// Proves that the store holds nothing but what is declared.
    pub(crate) async fn assert_as_declared(&self) {
        let registry = Registry::new(&[keys::FAMILIES, keyrack_jobs::hot::keys::FAMILIES]);
        let report = keyrack_lint::lint(self.store(), &registry, &Default::default(), |_| {}).await;
        let findings = report.expect("a report").findings;
        assert!(findings.is_empty(), "{findings:?}");
    }
}

pub(crate) fn bar() -> BarName {
    BarName::new(BAR).expect("a name")
}

pub(crate) fn trace_uid(uid: &str) -> TraceUid {
    TraceUid::new(uid).expect("a uid")
}

/// The fields of a hash.
pub(crate) fn fields<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}
