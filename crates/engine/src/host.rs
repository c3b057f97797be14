//! Where time and chance come from: the engine itself reads neither a clock nor a random source.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::steady_clock::SteadyClock;

/// The outside world as the engine sees it.
pub trait Host: Send + 'static {
    /// Microseconds since the Unix epoch.
    fn now_us(&mut self) -> u64;

    /// A uniform random number.
    fn random(&mut self) -> u64;

    /// Takes a line that a script writes with `redis.log`; 0 is debug, 3 a warning. Dropped unless overridden.
    fn log(&mut self, level: u8, message: &str) {
        let _ = (level, message);
    }

    /// Whether time passes by itself. If not, the engine starts no housekeeping thread and the owner calls
    /// [`Engine::tick`](crate::Engine::tick) after moving the clock.
    fn is_live(&self) -> bool {
        true
    }
}

/// The machine's clock without its steps, and random numbers seeded by the operating system.
#[derive(Debug)]
pub struct SystemHost {
    clock: Arc<SteadyClock>,
    random: SplitMix,
}

impl SystemHost {
    /// A host with a fresh random seed.
    pub fn new() -> SystemHost {
        SystemHost::with_clock(SteadyClock::system())
    }

    /// The same by a clock of one's own.
    pub fn with_clock(clock: Arc<SteadyClock>) -> SystemHost {
        // `RandomState` is the standard library's door to the system's entropy.
        SystemHost { clock, random: SplitMix(RandomState::new().hash_one(0u8)) }
    }
}

impl Default for SystemHost {
    fn default() -> Self {
        SystemHost::new()
    }
}

impl Host for SystemHost {
    fn now_us(&mut self) -> u64 {
        self.clock.now_us()
    }

    fn random(&mut self) -> u64 {
        self.random.next()
    }
}

/// A clock moved by hand and random numbers from a fixed seed, so that a run can be repeated exactly.
///
/// Clones share the clock: keep one, give the other to the engine.
#[derive(Debug, Clone)]
pub struct SimulatedHost {
    now_us: Arc<AtomicU64>,
    random: SplitMix,
}

impl SimulatedHost {
    /// A clock that stands at `now_ms` and random numbers that follow from `seed`.
    pub fn new(now_ms: u64, seed: u64) -> SimulatedHost {
        SimulatedHost { now_us: Arc::new(AtomicU64::new(now_ms * 1000)), random: SplitMix(seed) }
    }

    /// Moves the clock forward. Call [`Engine::tick`](crate::Engine::tick) for timeouts to be noticed.
    pub fn advance_ms(&self, ms: u64) {
        self.now_us.fetch_add(ms * 1000, Ordering::SeqCst);
    }

    /// Milliseconds since the Unix epoch, as this clock shows them.
    pub fn now_ms(&self) -> u64 {
        self.now_us.load(Ordering::SeqCst) / 1000
    }
}

impl Host for SimulatedHost {
    fn now_us(&mut self) -> u64 {
        self.now_us.load(Ordering::SeqCst)
    }

    fn random(&mut self) -> u64 {
        self.random.next()
    }

    fn is_live(&self) -> bool {
        false
    }
}

/// The SplitMix64 generator: one addition and a few shifts, good enough to pick random members.
#[derive(Debug, Clone)]
pub(crate) struct SplitMix(pub(crate) u64);

impl SplitMix {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
