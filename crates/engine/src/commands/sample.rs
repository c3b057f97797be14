//! Random choices from collections: what SRANDMEMBER, SPOP and ZRANDMEMBER share.

use std::collections::HashSet;

use foldhash::fast::FixedState;

use super::int;
use crate::{ctx::Ctx, reply::Error};

/// How many items a client wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SampleCount {
    /// Up to this many, none twice.
    Distinct(usize),
    /// Exactly this many, each chosen from all.
    Repeated(usize),
}

/// A reply is made in memory before it is sent, so one of more repeated items than this is refused.
const REPEATED_MAX: u64 = 1 << 22;

impl SampleCount {
    /// Reads a count whose sign says whether items may repeat.
    pub(super) fn parse(arg: &[u8]) -> Result<SampleCount, Error> {
        match int(arg)? {
            i64::MIN => Err(Error::fixed(
                "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
            )),
            n @ 0.. => Ok(SampleCount::Distinct(usize::try_from(n).unwrap_or(usize::MAX))),
            n if n.unsigned_abs() > REPEATED_MAX => Err(Error::fixed("ERR value is out of range")),
            n => Ok(SampleCount::Repeated(n.unsigned_abs() as usize)),
        }
    }
}

/// A source of uniform 64-bit numbers that does not keep the engine borrowed.
pub(super) fn generator(ctx: &mut Ctx<'_>) -> impl FnMut() -> u64 + use<> {
    let mut state = ctx.random();
    // SplitMix64: one addition and a mix are enough for picking items.
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut n = state;
        n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        n ^ (n >> 31)
    }
}

/// A number in `0..n`.
pub(super) fn below(n: usize, mut random: impl FnMut() -> u64) -> usize {
    (random() % n as u64) as usize
}

/// `count` different numbers in `0..n`, in no particular order; all of them if there are no more.
pub(super) fn distinct(n: usize, count: usize, mut random: impl FnMut() -> u64) -> Vec<usize> {
    if count >= n {
        return (0..n).collect();
    }
    // Floyd's way: as many draws as numbers, however close `count` is to `n`.
    let mut chosen = HashSet::with_capacity_and_hasher(count, FixedState::default());
    let mut numbers = Vec::with_capacity(count);
    for last in n - count..n {
        let drawn = below(last + 1, &mut random);
        let number = if chosen.insert(drawn) { drawn } else { last };
        chosen.insert(number);
        numbers.push(number);
    }
    numbers
}

#[cfg(test)]
mod fairness;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_numbers_are_distinct_and_reach_every_one() {
        let mut n = 1u64;
        let mut random = || {
            n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            n >> 20
        };
        for (n, count) in [(10, 0), (10, 1), (10, 7), (10, 9), (10, 10), (10, 50)] {
            let mut seen = HashSet::new();
            for _ in 0..200 {
                let numbers = distinct(n, count, &mut random);
                assert_eq!(numbers.len(), count.min(n));
                assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), numbers.len());
                seen.extend(numbers);
            }
            assert_eq!(seen, if count == 0 { HashSet::new() } else { (0..n).collect() });
        }
    }

    #[test]
    fn counts_have_a_sign_and_a_bound() {
        assert_eq!(SampleCount::parse(b"3"), Ok(SampleCount::Distinct(3)));
        assert_eq!(SampleCount::parse(b"-3"), Ok(SampleCount::Repeated(3)));
        assert_eq!(
            SampleCount::parse(b"9223372036854775807"),
            Ok(SampleCount::Distinct(i64::MAX as usize))
        );
        for bad in ["-9223372036854775808", "-9223372036854775807", "9223372036854775808", "x"] {
            assert!(SampleCount::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
