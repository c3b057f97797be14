//! A clock that a step of the machine's clock does not move.

use std::{
    fmt,
    sync::{Arc, LazyLock},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use parking_lot::Mutex;

/// The two clocks of a machine.
pub trait TimeSource: Send + Sync + fmt::Debug + 'static {
    /// Microseconds since some moment; no setting of the time moves it, and it goes on while the machine is suspended.
    fn monotonic_us(&self) -> u64;

    /// Microseconds since the Unix epoch, as somebody has set them.
    fn wall_us(&self) -> u64;
}

/// The clocks of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemTimeSource;

impl TimeSource for SystemTimeSource {
    #[cfg(target_os = "linux")]
    fn monotonic_us(&self) -> u64 {
        // `Instant` stands still while the machine is suspended; leases of others do not.
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let (seconds, nanos) = (time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs());
        seconds.saturating_mul(1_000_000).saturating_add(nanos / 1000)
    }

    #[cfg(not(target_os = "linux"))]
    fn monotonic_us(&self) -> u64 {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        u64::try_from(START.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn wall_us(&self) -> u64 {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX)
    }
}

/// The time of day by the monotonic clock, which follows the machine's setting slowly.
///
/// A step of the setting, there and back or for good, must not end leases or start delayed jobs. So the clock goes at most 5 % faster or
/// slower until it agrees again: after a step of 60 s that takes 20 minutes. It never goes backwards. A difference of more than a day is a
/// machine that did not know the date when it started; that is taken over at once.
#[derive(Debug)]
pub struct SteadyClock {
    source: Arc<dyn TimeSource>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When the monotonic clock showed this, the clock showed `clock_us`.
    monotonic_us: u64,
    clock_us: u64,
    last_jump: Option<Instant>,
}

/// The clock goes faster or slower by one part in so many.
const SLEW: u64 = 20;
/// How often the machine's setting is looked at.
const LOOK_EVERY_US: u64 = 10_000;
/// A larger difference is taken over at once.
const JUMP_BEYOND_US: u64 = 24 * 3600 * 1_000_000;

impl SteadyClock {
    /// A clock that shows what the machine's clock does now.
    pub fn new(source: Arc<dyn TimeSource>) -> SteadyClock {
        let (monotonic_us, clock_us) = (source.monotonic_us(), source.wall_us());
        SteadyClock { source, state: Mutex::new(State { monotonic_us, clock_us, last_jump: None }) }
    }

    /// The clock of this process.
    pub fn system() -> Arc<SteadyClock> {
        static SYSTEM: LazyLock<Arc<SteadyClock>> =
            LazyLock::new(|| Arc::new(SteadyClock::new(Arc::new(SystemTimeSource))));
        SYSTEM.clone()
    }

    /// Microseconds since the Unix epoch.
    pub fn now_us(&self) -> u64 {
        let mut state = self.state.lock();
        let monotonic_us = self.source.monotonic_us();
        let elapsed_us = monotonic_us.saturating_sub(state.monotonic_us);
        let clock_us = state.clock_us + elapsed_us;
        if elapsed_us < LOOK_EVERY_US {
            return clock_us;
        }
        let wall_us = self.source.wall_us();
        let apart_us = wall_us.abs_diff(clock_us);
        let clock_us = if apart_us > JUMP_BEYOND_US {
            state.last_jump = Some(Instant::now());
            wall_us
        } else if wall_us > clock_us {
            clock_us + apart_us.min(elapsed_us / SLEW)
        } else {
            clock_us - apart_us.min(elapsed_us / SLEW)
        };
        (state.monotonic_us, state.clock_us) = (monotonic_us, clock_us);
        clock_us
    }

    /// When the clock last jumped, if it ever did.
    pub fn last_jump(&self) -> Option<Instant> {
        self.state.lock().last_jump
    }
}

/// Clocks of a machine that are moved by hand.
#[derive(Debug, Default)]
pub struct SimulatedTimeSource {
    clocks_us: Mutex<(u64, u64)>,
}

impl SimulatedTimeSource {
    /// Clocks that stand, the machine's at `now_ms`.
    pub fn new(now_ms: u64) -> SimulatedTimeSource {
        SimulatedTimeSource { clocks_us: Mutex::new((0, now_ms * 1000)) }
    }

    /// Lets time pass for both.
    pub fn advance_ms(&self, ms: u64) {
        let mut clocks = self.clocks_us.lock();
        *clocks = (clocks.0 + ms * 1000, clocks.1 + ms * 1000);
    }

    /// Sets the machine's clock forward or back.
    pub fn step_ms(&self, ms: i64) {
        let mut clocks = self.clocks_us.lock();
        clocks.1 = clocks.1.saturating_add_signed(ms * 1000);
    }
}

impl TimeSource for SimulatedTimeSource {
    fn monotonic_us(&self) -> u64 {
        self.clocks_us.lock().0
    }

    fn wall_us(&self) -> u64 {
        self.clocks_us.lock().1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START_MS: u64 = 1_700_000_000_000;
    const MINUTE_MS: u64 = 60_000;

    fn clock() -> (SteadyClock, Arc<SimulatedTimeSource>) {
        let source = Arc::new(SimulatedTimeSource::new(START_MS));
        (SteadyClock::new(source.clone()), source)
    }

    /// What the clock shows after it was asked every 100 ms for so long.
    fn after(clock: &SteadyClock, source: &SimulatedTimeSource, ms: u64) -> u64 {
        for _ in 0..ms / 100 {
            source.advance_ms(100);
            clock.now_us();
        }
        clock.now_us() / 1000
    }

    #[test]
    fn a_step_there_and_back_leaves_hardly_a_trace() {
        for step in [60_000, 300_000, 3_600_000, -60_000, -3_600_000] {
            let (clock, source) = clock();
            source.step_ms(step);
            let stepped = after(&clock, &source, MINUTE_MS);
            assert!(stepped.abs_diff(START_MS + MINUTE_MS) <= 3000, "{step}: {stepped}");
            source.step_ms(-step);
            let back = after(&clock, &source, 2 * MINUTE_MS);
            assert!(back.abs_diff(START_MS + 3 * MINUTE_MS) <= 1, "{step}: {back}");
            assert_eq!(clock.last_jump(), None);
        }
    }

    #[test]
    fn a_step_for_good_is_followed_at_one_part_in_twenty() {
        let (clock, source) = clock();
        source.step_ms(60_000);
        let soon = after(&clock, &source, 10 * MINUTE_MS);
        assert!(soon.abs_diff(START_MS + 10 * MINUTE_MS + 30_000) <= 10, "{soon}");
        let late = after(&clock, &source, 11 * MINUTE_MS);
        assert_eq!(late, START_MS + 22 * MINUTE_MS);
    }

    #[test]
    fn the_clock_never_goes_backwards() {
        let (clock, source) = clock();
        let mut last = clock.now_us();
        source.step_ms(-300_000);
        for _ in 0..1000 {
            source.advance_ms(7);
            let now = clock.now_us();
            assert!(now > last);
            last = now;
        }
    }

    #[test]
    fn a_machine_that_did_not_know_the_date_is_believed_at_once_when_it_does() {
        let source = Arc::new(SimulatedTimeSource::new(0));
        let clock = SteadyClock::new(source.clone());
        source.step_ms(START_MS as i64);
        source.advance_ms(10);
        assert_eq!(clock.now_us() / 1000, START_MS + 10);
        assert!(clock.last_jump().is_some());
    }

    #[test]
    fn the_monotonic_clock_of_this_machine_goes_on() {
        let (first, second) = (SystemTimeSource.monotonic_us(), SystemTimeSource.monotonic_us());
        assert!(first > 0 && second >= first);
    }
}
