//! Who may run: the handlers of a worker beside each other, and one at its last chance alone.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// What the handlers of all queue workers of a worker pass before they run.
#[derive(Debug, Clone, Default)]
pub(super) struct Quarantine {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<State>,
    /// Somebody may pass who could not before.
    opened: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Handlers that run, the lonely one included.
    n_running: usize,
    /// Whether the one that runs is to be alone.
    is_alone: bool,
    /// How many wait to be alone.
    n_waiting: usize,
}

/// The right to run, until it is dropped.
#[derive(Debug)]
pub(super) struct RunPermit {
    inner: Arc<Inner>,
}

/// Somebody who waits to be alone, or does so no longer.
struct Waiting<'a>(&'a Inner);

impl Quarantine {
    /// Waits until a handler may run beside others. Who wants to be alone comes first, or would never be; but a job that
    /// another has submitted does not wait for that, since the other may run and wait for it.
    pub(super) async fn beside_others(&self, has_parent: bool) -> RunPermit {
        self.permit(|state| {
            let may = !state.is_alone && (state.n_waiting == 0 || has_parent);
            state.n_running += usize::from(may);
            may
        })
        .await
    }

    /// Waits until nothing else runs, and nothing will.
    pub(super) async fn alone(&self) -> RunPermit {
        self.inner.state.lock().n_waiting += 1;
        let _waiting = Waiting(&self.inner);
        self.permit(|state| {
            let may = state.n_running == 0;
            if may {
                (state.n_running, state.is_alone) = (1, true);
            }
            may
        })
        .await
    }

    async fn permit(&self, mut enter: impl FnMut(&mut State) -> bool) -> RunPermit {
        loop {
            // Made before looking, so that it hears of what happens in between.
            let opened = self.inner.opened.notified();
            if enter(&mut self.inner.state.lock()) {
                return RunPermit { inner: Arc::clone(&self.inner) };
            }
            opened.await;
        }
    }
}

impl Drop for RunPermit {
    fn drop(&mut self) {
        let mut state = self.inner.state.lock();
        state.n_running -= 1;
        let others_wait = state.n_waiting > 0 || state.is_alone;
        state.is_alone = false;
        drop(state);
        if others_wait {
            self.inner.opened.notify_waiters();
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.state.lock().n_waiting -= 1;
        self.0.opened.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;

    use futures_util::FutureExt as _;

    use super::*;

    /// The pass, if it is there at once.
    fn at_once(pass: impl Future<Output = RunPermit>) -> Option<RunPermit> {
        pass.now_or_never()
    }

    #[test]
    fn any_number_run_beside_each_other_and_nobody_beside_who_is_alone() {
        let quarantine = Quarantine::default();
        let first = at_once(quarantine.beside_others(false)).expect("the first");
        let second = at_once(quarantine.beside_others(false)).expect("beside the first");
        assert!(at_once(quarantine.alone()).is_none(), "two run");
        drop(first);
        assert!(at_once(quarantine.alone()).is_none(), "one runs");
        drop(second);
        let lonely = at_once(quarantine.alone()).expect("nobody runs");
        assert!(at_once(quarantine.beside_others(false)).is_none());
        assert!(at_once(quarantine.beside_others(true)).is_none(), "not even for a parent");
        assert!(at_once(quarantine.alone()).is_none());
        drop(lonely);
        assert!(at_once(quarantine.beside_others(false)).is_some());
    }

    #[tokio::test]
    async fn who_waits_to_be_alone_is_next_but_for_jobs_that_others_wait_for() {
        let quarantine = Quarantine::default();
        let running = quarantine.beside_others(false).await;
        let waiting = quarantine.clone();
        let mut lonely = Box::pin(async move { waiting.alone().await });
        assert!((&mut lonely).now_or_never().is_none());
        assert!(at_once(quarantine.beside_others(false)).is_none(), "or they would never end");
        let child =
            at_once(quarantine.beside_others(true)).expect("the running one may wait for it");
        drop(running);
        assert!((&mut lonely).now_or_never().is_none());
        drop(child);
        drop(lonely.await);
        quarantine.beside_others(false).await;
    }

    #[test]
    fn who_does_not_wait_any_longer_keeps_nobody_out() {
        let quarantine = Quarantine::default();
        let running = at_once(quarantine.beside_others(false)).expect("the first");
        assert!(at_once(quarantine.alone()).is_none(), "and is dropped");
        assert!(at_once(quarantine.beside_others(false)).is_some());
        drop(running);
    }
}
