//! Turns with something switched off and on, and the ratios between them.

use std::fmt;

use anyhow::Result;

use super::super::super::compare::median;

/// Takes a turn of every manner in each round; returns those of each manner, round by round.
pub(super) fn rounds<M: Copy, T, const N: usize>(
    rounds: u32,
    manners: [M; N],
    mut turn: impl FnMut(u32, M) -> Result<T>,
) -> Result<[Vec<T>; N]> {
    let mut turns = manners.map(|_| Vec::new());
    for round in 0..rounds {
        // Whoever comes later meets a warmer machine.
        for place in 0..N {
            let at = (place + round as usize) % N;
            turns[at].push(turn(round + 1, manners[at])?);
        }
    }
    Ok(turns)
}

/// The ratio of two figures over all rounds.
#[derive(Debug, PartialEq)]
pub(super) struct Ratio {
    pub(super) median: f64,
    lowest: f64,
    highest: f64,
}

/// How many times the figure with it off the one with it on is.
pub(super) fn ratio<T>(on: &[T], off: &[T], figure: impl Fn(&T) -> f64) -> Ratio {
    let ratios: Vec<f64> = on.iter().zip(off).map(|(on, off)| figure(on) / figure(off)).collect();
    Ratio {
        median: median(&ratios),
        lowest: ratios.iter().copied().fold(f64::INFINITY, f64::min),
        highest: ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} ({:.2}–{:.2})", self.median, self.lowest, self.highest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_comes_first_once() {
        let mut order = String::new();
        let turns = rounds(3, ["a", "b", "c"], |round, manner| {
            order.push_str(manner);
            Ok(round)
        });
        assert_eq!(order, "abcbcacab");
        assert_eq!(turns.unwrap(), [[1, 2, 3], [1, 2, 3], [1, 2, 3]]);
    }

    #[test]
    fn ratios_are_those_of_each_round() {
        let of = ratio(&[90.0, 50.0, 220.0], &[100.0, 50.0, 200.0], |rate| *rate);
        assert_eq!(of.to_string(), "1.00 (0.90–1.10)");
    }
}
