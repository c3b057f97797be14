//! A clock that shows a server's time without asking it.

use std::{sync::Arc, time::Instant};

use keyrack_engine::TimeSource;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::Clock;

/// A server's time, carried on by this machine's monotonic clock since it was last measured.
///
/// Nothing that happens to this machine's setting of the time moves it. When that setting and the monotonic clock disagree, somebody has
/// set the time; the server may run on the same machine, so it is asked at once.
#[derive(Debug)]
pub(crate) struct AnchoredClock {
    source: Arc<dyn TimeSource>,
    anchor: Mutex<Anchor>,
    /// Rung when the server should be asked at once.
    pub(super) doubt: Notify,
}

/// What one question for the time has told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// The monotonic clock in the middle of the question.
    pub(crate) monotonic_us: u64,
    /// What the server's clock showed then.
    pub(crate) server_us: u64,
    /// How wrong that can be: half the time that the question took.
    pub(crate) error_us: u64,
}

#[derive(Debug)]
struct Anchor {
    sample: Sample,
    /// What the clock has shown already; a small correction makes it stand still, not go back.
    shown_us: u64,
    /// This machine's setting of the time, less the monotonic clock.
    wall_offset_us: i64,
    last_jump: Option<Instant>,
}

/// What a measurement has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing: the clocks agree as far as anybody can tell.
    None,
    /// A small correction, in microseconds.
    Corrected(i64),
    /// The server's clock has been set, or another server is the primary now.
    Jumped(i64),
}

/// From here on a correction is a jump that others are told of. Clocks that are kept in step differ by far less.
const JUMP_US: u64 = 1_000_000;
/// Setting and monotonic clock disagree by this much only if somebody has set the time; adjusting it gradually takes minutes for it.
const DOUBT_US: u64 = 200_000;
/// Clocks are read one after the other, and a server counts in microseconds.
const READING_US: u64 = 1000;

impl AnchoredClock {
    /// A clock that shows what a first measurement told.
    pub(crate) fn new(source: Arc<dyn TimeSource>, sample: Sample) -> AnchoredClock {
        let wall_offset_us = wall_offset(&*source);
        let anchor = Anchor { sample, shown_us: sample.server_us, wall_offset_us, last_jump: None };
        AnchoredClock { source, anchor: Mutex::new(anchor), doubt: Notify::new() }
    }

    pub(super) fn monotonic_us(&self) -> u64 {
        self.source.monotonic_us()
    }

    pub(crate) fn now_us(&self) -> u64 {
        let mut anchor = self.anchor.lock();
        let now = anchor.sample.server_at(self.source.monotonic_us());
        anchor.shown_us = anchor.shown_us.max(now);
        anchor.shown_us
    }

    /// Takes over what a measurement has told.
    pub(crate) fn apply(&self, sample: Sample) -> Change {
        let mut anchor = self.anchor.lock();
        let expected_us = anchor.sample.server_at(sample.monotonic_us);
        let apart_us = sample.server_us as i64 - expected_us as i64;
        let uncertain_us = sample.error_us + anchor.sample.error_us + READING_US;
        if apart_us.unsigned_abs() <= uncertain_us {
            // Nobody can say who is right; the more exact of the two is kept.
            if sample.error_us <= anchor.sample.error_us {
                anchor.sample = sample;
            }
            return Change::None;
        }
        anchor.sample = sample;
        if apart_us.unsigned_abs() < JUMP_US {
            return Change::Corrected(apart_us);
        }
        anchor.shown_us = sample.server_us;
        anchor.last_jump = Some(Instant::now());
        Change::Jumped(apart_us)
    }

    /// Asks for a measurement if this machine's time was set since the last look.
    pub(crate) fn look_at_setting(&self) {
        let offset_us = wall_offset(&*self.source);
        let mut anchor = self.anchor.lock();
        if anchor.wall_offset_us.abs_diff(offset_us) > DOUBT_US {
            anchor.wall_offset_us = offset_us;
            self.doubt.notify_one();
        }
    }
}

impl Clock for AnchoredClock {
    fn now_ms(&self) -> u64 {
        self.now_us() / 1000
    }

    fn last_jump(&self) -> Option<Instant> {
        self.anchor.lock().last_jump
    }

    fn is_anchored(&self) -> bool {
        true
    }
}

impl Sample {
    /// What the server's clock shows when the monotonic clock shows this.
    fn server_at(&self, monotonic_us: u64) -> u64 {
        let elapsed_us = monotonic_us as i64 - self.monotonic_us as i64;
        self.server_us.saturating_add_signed(elapsed_us)
    }
}

fn wall_offset(source: &dyn TimeSource) -> i64 {
    source.wall_us() as i64 - source.monotonic_us() as i64
}

#[cfg(test)]
mod tests {
    use keyrack_engine::SimulatedTimeSource;

    use super::*;

    const START_MS: u64 = 1_700_000_000_000;

    fn sample(monotonic_ms: u64, server_ms: u64) -> Sample {
        let (monotonic_us, server_us) = (monotonic_ms * 1000, server_ms * 1000);
        Sample { monotonic_us, server_us, error_us: 500 }
    }

    fn clock() -> (AnchoredClock, Arc<SimulatedTimeSource>) {
        // This machine is an hour behind the server.
        let source = Arc::new(SimulatedTimeSource::new(START_MS - 3_600_000));
        (AnchoredClock::new(source.clone(), sample(0, START_MS)), source)
    }

    #[test]
    fn the_servers_time_is_shown_whatever_this_machine_is_set_to() {
        let (clock, source) = clock();
        for step in [60_000, 300_000, 3_600_000, -3_600_000, -7_200_000] {
            source.step_ms(step);
            let before = clock.now_ms();
            source.advance_ms(1000);
            assert_eq!(clock.now_ms(), before + 1000);
        }
        assert_eq!(clock.now_ms(), START_MS + 5000);
        assert_eq!(clock.last_jump(), None);
    }

    #[tokio::test]
    async fn a_machine_whose_time_was_set_asks_the_server_at_once() {
        let (clock, source) = clock();
        source.advance_ms(60_000);
        clock.look_at_setting();
        let asks = || tokio::time::timeout(std::time::Duration::ZERO, clock.doubt.notified());
        assert!(asks().await.is_err(), "nothing was set");
        source.step_ms(300_000);
        clock.look_at_setting();
        assert!(asks().await.is_ok());
        clock.look_at_setting();
        assert!(asks().await.is_err(), "once is enough");
    }

    #[test]
    fn what_a_question_cannot_tell_changes_nothing() {
        let (clock, source) = clock();
        source.advance_ms(10_000);
        assert_eq!(clock.apply(sample(10_000, START_MS + 10_001)), Change::None);
    }

    #[test]
    fn a_small_correction_never_turns_the_clock_back() {
        let (clock, source) = clock();
        source.advance_ms(10_000);
        let before = clock.now_ms();
        assert_eq!(clock.apply(sample(10_000, START_MS + 9_900)), Change::Corrected(-100_000));
        assert_eq!(clock.now_ms(), before);
        source.advance_ms(101);
        assert_eq!(clock.now_ms(), before + 1);
        assert_eq!(clock.last_jump(), None);
    }

    #[test]
    fn a_server_whose_clock_was_set_is_followed_and_told_of() {
        for jump_ms in [60_000_i64, -60_000] {
            let (clock, source) = clock();
            source.advance_ms(10_000);
            let server_ms = (START_MS + 10_000).saturating_add_signed(jump_ms);
            assert_eq!(clock.apply(sample(10_000, server_ms)), Change::Jumped(jump_ms * 1000));
            assert_eq!(clock.now_ms(), server_ms);
            assert!(clock.last_jump().is_some());
        }
    }
}
