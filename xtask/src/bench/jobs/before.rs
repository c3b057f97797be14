//! Ours against an earlier build of it, in pairs that take turns in who is first.

use anyhow::Result;

use super::super::compare::median;
use super::super::report::{Bound, Limit};
use super::Bench;
use super::turn::{Figures, ratio};

/// The share of the earlier rate that has to be kept.
const SHARE_MIN: f64 = 0.95;

/// What was measured of this program and of the one before, round by round.
pub(super) struct Pairs<T> {
    pub(super) now: Vec<T>,
    pub(super) before: Vec<T>,
}

/// Measures both in each round; nothing if there is no earlier program. `others` says how many cores others kept busy.
pub(super) fn pairs<T>(
    bench: &Bench,
    take: impl Fn(&Bench) -> Result<T>,
    others: impl Fn(&T) -> f64,
) -> Result<Option<Pairs<T>>> {
    let Some(earlier) = bench.of_before()? else { return Ok(None) };
    let mut pairs = Pairs { now: Vec::new(), before: Vec::new() };
    let turn = |bench: &Bench| bench.quiet.turn(|| take(bench), &others);
    for round in 0..bench.rounds {
        if round % 2 == 0 {
            pairs.now.push(turn(bench)?);
            pairs.before.push(turn(&earlier)?);
        } else {
            pairs.before.push(turn(&earlier)?);
            pairs.now.push(turn(bench)?);
        }
    }
    Ok(Some(pairs))
}

/// What the rates have to keep.
pub(super) fn rates(name: &str, pairs: &Pairs<Figures>) -> [Limit; 2] {
    let limit = |what: &str, figure: fn(&Figures) -> f64| Limit {
        what: format!("{name}, {what}, times its rate before"),
        measured: ratio(&pairs.now, &pairs.before, figure),
        bound: Bound::AtLeast(SHARE_MIN),
    };
    [limit("submit", |turn| turn.submit_rate), limit("drain", |turn| turn.drain_rate)]
}

/// What a time has to keep: the rate is its inverse.
pub(super) fn time(what: String, pairs: &Pairs<f64>) -> Limit {
    let rounds = pairs.before.iter().zip(&pairs.now);
    let shares: Vec<f64> = rounds.map(|(before, now)| before / now).collect();
    Limit { what, measured: median(&shares), bound: Bound::AtLeast(SHARE_MIN) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_grows_by_a_tenth_misses_its_limit() {
        let pairs = |now: f64| Pairs { now: vec![now; 3], before: vec![2.0; 3] };
        let is_kept = |now| !time("p50".to_owned(), &pairs(now)).to_string().contains("missed");
        assert_eq!([1.9, 2.0, 2.1, 2.2].map(is_kept), [true, true, true, false]);
    }
}
