//! Turns that nobody disturbs: for the page, one is taken again until the machine did nothing else meanwhile.

use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};

use super::cost::busy_seconds;

/// Cores that others may keep busy; a machine at rest uses less.
const OTHERS_MAX: f64 = 0.1;
/// Beginnings of a turn, most of which only look at the machine.
const ATTEMPTS: u32 = 200;
const LOOK: Duration = Duration::from_secs(2);

/// How much it matters that the machine does nothing else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Quiet {
    /// A turn counts as it was.
    Hoped,
    /// A disturbed turn does not count.
    Required,
}

impl Quiet {
    /// Takes a turn, again where need be; `others` says how many cores others kept busy during one.
    pub(super) fn turn<T>(
        self,
        mut take: impl FnMut() -> Result<T>,
        others: impl Fn(&T) -> f64,
    ) -> Result<T> {
        match self {
            Quiet::Hoped => {
                let turn = take()?;
                tell(others(&turn));
                Ok(turn)
            }
            Quiet::Required => undisturbed(cores_busy_now, take, others),
        }
    }
}

/// Takes turns, each when nobody else is busy, until nobody was busy during one either.
fn undisturbed<T>(
    busy_now: impl Fn() -> Result<f64>,
    mut take: impl FnMut() -> Result<T>,
    others: impl Fn(&T) -> f64,
) -> Result<T> {
    for _ in 0..ATTEMPTS {
        if busy_now()? > OTHERS_MAX {
            continue;
        }
        let turn = take()?;
        if !tell(others(&turn)) {
            return Ok(turn);
        }
    }
    bail!("the machine is never quiet; stop what else runs, or measure without \"--write\"")
}

/// Says so when a turn was disturbed; true if it was.
fn tell(others: f64) -> bool {
    let is_disturbed = others > OTHERS_MAX;
    if is_disturbed {
        println!("disturbed: others kept {others:.2} cores busy");
    }
    is_disturbed
}

/// Looks at the machine for a while, in which we do nothing ourselves.
fn cores_busy_now() -> Result<f64> {
    let before = busy_seconds()?;
    thread::sleep(LOOK);
    Ok((busy_seconds()? - before) / LOOK.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn disturbed_turn_is_taken_again_where_quiet_is_required() {
        let n_taken = Cell::new(0);
        let take = || Ok(n_taken.replace(n_taken.get() + 1));
        let turn = undisturbed(|| Ok(0.0), take, |n| if *n < 2 { 1.5 } else { 0.05 });
        assert_eq!((turn.unwrap(), n_taken.get()), (2, 3));
    }

    #[test]
    fn no_turn_is_taken_while_others_are_busy() {
        let n_looks = Cell::new(0);
        let busy_now = || Ok(if n_looks.replace(n_looks.get() + 1) < 5 { 2.0 } else { 0.0 });
        assert_eq!(undisturbed(busy_now, || Ok(n_looks.get()), |_| 0.0).unwrap(), 6);
        undisturbed(|| Ok(2.0), || Ok(()), |()| 0.0).unwrap_err();
    }

    #[test]
    fn first_turn_counts_where_quiet_is_only_hoped_for() {
        assert_eq!(Quiet::Hoped.turn(|| Ok(7), |_| 1.5).unwrap(), 7);
    }
}
