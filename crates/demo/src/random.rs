//! Chance that follows from a seed.

/// A generator of random numbers, the same ones for the same seed (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// Dice for one purpose: two purposes of one seed have nothing to do with each other.
    pub(crate) fn new(seed: u64, purpose: &str) -> Random {
        // FNV-1a tells purposes apart; the generator mixes from there.
        let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Random { state: purpose.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, fold) }
    }

    fn roll(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.roll() % end.max(1)
    }

    /// A number from `low` to `high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// Whether something happens that happens so many times out of a hundred.
    pub(crate) fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }

    /// One of several.
    pub(crate) fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_from_seed_and_purpose() {
        let rolls = |seed, purpose| {
            let mut random = Random::new(seed, purpose);
            [(); 20].map(|()| random.below(1000))
        };
        assert_eq!(rolls(1, "mail"), rolls(1, "mail"));
        assert_ne!(rolls(1, "mail"), rolls(2, "mail"));
        assert_ne!(rolls(1, "mail"), rolls(1, "video"));
    }

    #[test]
    fn every_number_in_between_comes_up() {
        let mut random = Random::new(7, "test");
        let mut seen = [false; 5];
        (0..200).for_each(|_| seen[random.between(10, 14) as usize - 10] = true);
        assert_eq!(seen, [true; 5]);
    }
}
