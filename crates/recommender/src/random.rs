//! Random numbers from a seed, the same on every machine.

use std::f64::consts::PI;

/// A SplitMix64 generator.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// A generator for a text, such as a user and a date.
    pub(crate) fn of_text(text: &str) -> Random {
        // FNV-1a; the generator mixes what this leaves alike.
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Random(hash)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to 1, without 1.
    pub(crate) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number below `n`, which must not be 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((self.share() * n as f64) as usize).min(n - 1)
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    /// A normal number around 0 with deviation 1.
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.share()).ln()).sqrt();
        radius * (2.0 * PI * self.share()).cos()
    }

    /// A number of the gamma distribution with scale 1, by the method of Marsaglia and Tsang.
    pub(crate) fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            return self.gamma(shape + 1.0) * (1.0 - self.share()).powf(1.0 / shape);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && (1.0 - self.share()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_have_their_means() {
        let mut dice = Random::new(1);
        let mut mean =
            |of: fn(&mut Random) -> f64| (0..20_000).map(|_| of(&mut dice)).sum::<f64>() / 20_000.0;
        assert!((mean(Random::share) - 0.5).abs() < 0.01);
        assert!(mean(Random::normal).abs() < 0.03);
        assert!((mean(|dice| dice.gamma(0.5)) - 0.5).abs() < 0.03);
        assert!((mean(|dice| dice.gamma(4.0)) - 4.0).abs() < 0.1);
    }
}
