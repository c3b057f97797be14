//! Ids and dice: the one place where this crate is random.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Where ids and dice come from. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Random(Option<Arc<AtomicU64>>);

impl Random {
    /// The system's random source.
    pub(crate) fn system() -> Random {
        Random(None)
    }

    /// Numbers that follow from a seed.
    pub(crate) fn seeded(seed: u64) -> Random {
        Random(Some(Arc::new(AtomicU64::new(seed))))
    }

    /// An id: the prefix, and eleven characters that nobody has had.
    pub(crate) fn uid(&self, prefix: &str) -> String {
        const ALPHABET: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let number = self.number();
        let digit = |place: u32| char::from(ALPHABET[(number >> (6 * place)) as usize & 63]);
        prefix.chars().chain((0..11).map(digit)).collect()
    }

    /// A number from 0 up to but not including 1.
    pub(crate) fn roll(&self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number of the normal distribution around 0, with a deviation of 1.
    pub(crate) fn normal(&self) -> f64 {
        // From two even numbers, as Box and Muller do; the first is above 0.
        let (far, around) = (1.0 - self.roll(), self.roll());
        (-2.0 * far.ln()).sqrt() * (std::f64::consts::TAU * around).cos()
    }

    fn number(&self) -> u64 {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        match &self.0 {
            Some(state) => mix(state.fetch_add(GOLDEN, Ordering::Relaxed).wrapping_add(GOLDEN)),
            // A random UUID has six fixed bits, three in each half; folding and mixing spreads the rest.
            None => {
                let (high, low) = uuid::Uuid::new_v4().as_u64_pair();
                mix(high ^ low.rotate_left(32))
            }
        }
    }
}

/// The last step of splitmix64: every bit of the answer depends on every bit of the number.
fn mix(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_ids_and_rolls_again() {
        let draw = |chance: &Random| (chance.uid("ep_pb_"), chance.roll());
        let (one, same, other) = (Random::seeded(7), Random::seeded(7), Random::seeded(8));
        assert_eq!(draw(&one), draw(&same));
        assert_ne!(draw(&one), draw(&other));
    }

    #[test]
    fn normal_numbers_have_their_mean_and_deviation() {
        let chance = Random::seeded(3);
        let numbers: Vec<f64> = (0..10_000).map(|_| chance.normal()).collect();
        let mean = numbers.iter().sum::<f64>() / 10_000.0;
        let variance = numbers.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 10_000.0;
        assert!(mean.abs() < 0.05 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }

    #[test]
    fn ids_are_plain_in_keys_and_rolls_are_below_one() {
        for chance in [Random::system(), Random::seeded(1)] {
            for _ in 0..1000 {
                let uid = chance.uid("ep_pb_");
                assert_eq!(uid.len(), 17);
                assert!(uid.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)));
                assert!((0.0..1.0).contains(&chance.roll()));
            }
        }
    }
}
