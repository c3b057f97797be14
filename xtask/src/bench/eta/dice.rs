//! Random numbers from a seed, the same on every machine.

use std::f64::consts::PI;

/// A SplitMix64 generator.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// From 0 to 1, without 1.
    pub(super) fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Anything between, all equally likely.
    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.share()
    }

    /// Anything between, all magnitudes equally likely.
    pub(super) fn magnitude(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    /// A whole number from `low` to `high`.
    pub(super) fn whole(&mut self, low: u64, high: u64) -> u64 {
        low + (self.share() * (high - low + 1) as f64) as u64
    }

    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    /// A normal number around 0.
    pub(super) fn normal(&mut self, deviation: f64) -> f64 {
        let radius = (-2.0 * (1.0 - self.share()).ln()).sqrt();
        deviation * radius * (2.0 * PI * self.share()).cos()
    }

    /// A factor around 1 whose mean is 1, of this relative deviation.
    pub(super) fn noise(&mut self, deviation: f64) -> f64 {
        let variance = (1.0 + deviation * deviation).ln();
        (self.normal(variance.sqrt()) - variance / 2.0).exp()
    }

    /// At least 1, with a tail that falls off as slowly as the exponent says.
    pub(super) fn pareto(&mut self, exponent: f64) -> f64 {
        (1.0 - self.share()).powf(-1.0 / exponent)
    }
}
