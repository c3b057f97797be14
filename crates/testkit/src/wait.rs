//! Waiting for something that another process does in its own time.
//!
//! Polling with a deadline, for events that give no signal of their own. A test waits for a
//! condition and never for a length of time.

use std::thread;
use std::time::{Duration, Instant};

/// Far more than anything takes on an idle machine: only a test that would fail anyway waits it out.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Waits until `condition` holds, and fails the test when it does not come true.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    wait_for(what, || condition().then_some(()));
}

/// Like [`wait_until`], and says what `describe` tells about the state of things when it gives up.
#[track_caller]
pub(crate) fn wait_until_or(
    what: &str,
    mut condition: impl FnMut() -> bool,
    describe: impl FnOnce() -> String,
) {
    if wait_at_most(PATIENCE, || condition().then_some(())).is_none() {
        gave_up(&format!("{what}\n{}", describe()))
    }
}

/// Waits until `probe` gives a value and returns it, and fails the test when none comes.
#[track_caller]
pub fn wait_for<T>(what: &str, probe: impl FnMut() -> Option<T>) -> T {
    wait_at_most(PATIENCE, probe).unwrap_or_else(|| gave_up(what))
}

/// Like [`wait_until`], for a condition that has to await something.
pub async fn wait_until_async(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let polling = async {
        while !condition().await {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    if tokio::time::timeout(PATIENCE, polling).await.is_err() {
        gave_up(what)
    }
}

/// Polls until `probe` gives a value; `None` when `patience` is over.
pub(crate) fn wait_at_most<T>(
    patience: Duration,
    mut probe: impl FnMut() -> Option<T>,
) -> Option<T> {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(value) = probe() {
            return Some(value);
        }
        if Instant::now() >= deadline {
            return None;
        }
        thread::sleep(POLL_INTERVAL);
    }
}

#[track_caller]
fn gave_up(what: &str) -> ! {
    panic!("waited {} s in vain for: {what}", PATIENCE.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_for_returns_the_first_value() {
        let mut polls = 0;
        let value = wait_for("the third poll", || {
            polls += 1;
            (polls == 3).then_some(polls)
        });
        assert_eq!(value, 3);
    }

    #[test]
    fn waiting_ends_when_patience_is_over() {
        assert_eq!(wait_at_most(Duration::from_millis(1), || None::<()>), None);
    }

    #[tokio::test(start_paused = true)]
    #[should_panic(expected = "in vain for: the impossible")]
    async fn async_wait_names_what_did_not_come() {
        wait_until_async("the impossible", async || false).await;
    }
}
