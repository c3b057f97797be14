//! The generator behind `math.random`: the 48-bit linear congruence of `lrand48`.
//!
//! It starts from the same state in every engine and goes on from script to script, as in Redis 7.0: the same scripts in
//! the same order draw the same numbers.

use super::stack::{Outcome, Stack};

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const INCREMENT: u64 = 0xB;
const MASK: u64 = (1 << 48) - 1;
/// Where an engine starts.
const START: u64 = 0x1234_ABCD_330E;
/// The low bits that seeding puts below the 32-bit seed.
const SEED_TAIL: u64 = 0x330E;

/// A 48-bit linear congruential generator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rand48(u64);

impl Default for Rand48 {
    fn default() -> Rand48 {
        Rand48(START)
    }
}

impl Rand48 {
    /// A generator that starts from `seed`.
    pub(super) fn new(seed: u32) -> Rand48 {
        Rand48((u64::from(seed) << 16) | SEED_TAIL)
    }

    /// The next 31 bits.
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT) & MASK;
        (self.0 >> 17) as u32
    }
}

/// `math.random([m [, n]])`.
pub(super) fn random(stack: &mut Stack<'_>) -> Outcome {
    let mut generator = stack.context().random.get();
    let drawn = generator.next();
    stack.context().random.set(generator);
    let max = f64::from(i32::MAX);
    let fraction = f64::from(drawn % i32::MAX as u32) / max;
    match stack.top() {
        0 => stack.push_number(fraction),
        1 => {
            let high = stack.check_int(1)?;
            if high < 1 {
                return Err(stack.arg_error(1, "interval is empty"));
            }
            stack.push_number((fraction * f64::from(high)).floor() + 1.0);
        }
        2 => {
            let (low, high) = (stack.check_int(1)?, stack.check_int(2)?);
            if low > high {
                return Err(stack.arg_error(2, "interval is empty"));
            }
            // The span is taken in 32 bits, as the reference does: extreme ranges wrap.
            let span = high.wrapping_sub(low).wrapping_add(1);
            stack.push_number((fraction * f64::from(span)).floor() + f64::from(low));
        }
        _ => return Err(stack.error("wrong number of arguments")),
    }
    Ok(1)
}

/// `math.randomseed(seed)`.
pub(super) fn randomseed(stack: &mut Stack<'_>) -> Outcome {
    let seed = stack.check_int(1)?;
    stack.context().random.set(Rand48::new(seed as u32));
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequences_are_those_of_lrand48() {
        let drawn = |mut generator: Rand48| [generator.next(), generator.next(), generator.next()];
        assert_eq!(drawn(Rand48::new(0)), [366_850_414, 1_610_402_240, 206_956_554]);
        assert_eq!(drawn(Rand48::default()), [851_401_618, 1_804_928_587, 758_783_491]);
    }
}
