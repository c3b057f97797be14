//! Chance that can be repeated.

/// A small random source with a seed.
#[derive(Debug, Clone)]
pub(in crate::bee) struct Random(u64);

impl Random {
    pub(in crate::bee) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(in crate::bee) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(in crate::bee) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// True once in `n` times.
    pub(in crate::bee) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(in crate::bee) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// A few of the items, mostly none.
    pub(in crate::bee) fn some<T: Copy>(&mut self, items: &[T]) -> Vec<T> {
        let n = self.pick(&[0, 0, 0, 1, 1, 2]);
        (0..n).map(|_| self.pick(items)).collect()
    }
}
