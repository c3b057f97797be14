//! Whether every job was handled exactly once, and in the right order: a queue that loses jobs is quick.

use std::ops::Range;

use anyhow::{Result, bail};

/// Fails unless each of these jobs was started once and no other was.
pub(super) fn exactly_once(jobs: Range<u32>, started: &[u32]) -> Result<()> {
    let mut counts = vec![0_u32; jobs.len()];
    let mut strangers = Vec::new();
    for n in started {
        match n.checked_sub(jobs.start).and_then(|at| counts.get_mut(at as usize)) {
            Some(count) => *count += 1,
            None => strangers.push(*n),
        }
    }
    let those = |wanted: fn(u32) -> bool| -> Vec<u32> {
        jobs.clone().zip(&counts).filter(|(_, count)| wanted(**count)).map(|(n, _)| n).collect()
    };
    let faults = [
        ("never handled", those(|count| count == 0)),
        ("handled more than once", those(|count| count > 1)),
        ("handled although nobody submitted them", strangers),
    ];
    let faults: Vec<String> = faults
        .iter()
        .filter_map(|(what, numbers)| {
            Some(format!("{} jobs {what}, such as {}", numbers.len(), numbers.first()?))
        })
        .collect();
    if !faults.is_empty() {
        bail!("{}", faults.join("; "));
    }
    Ok(())
}

/// Fails unless the jobs of each level were on average started before those of the next.
///
/// Not every system lets all jobs of a level pass all others: some only move them forward.
pub(super) fn by_urgency(levels: u32, started: &[u32]) -> Result<()> {
    let mean_place = |level: u32| -> f64 {
        let places: Vec<usize> = started
            .iter()
            .enumerate()
            .filter(|(_, n)| *n % levels == level)
            .map(|(at, _)| at)
            .collect();
        places.iter().sum::<usize>() as f64 / places.len() as f64
    };
    let places: Vec<f64> = (0..levels).map(mean_place).collect();
    if !places.is_sorted_by(|urgent, other| urgent < other) {
        let places: Vec<String> = places.iter().map(|place| format!("{place:.0}")).collect();
        bail!(
            "levels were started in no order of urgency, on average as number {}",
            places.join(", ")
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_matter_for_exact_delivery() {
        exactly_once(10..13, &[12, 10, 11]).unwrap();
    }

    #[test]
    fn missing_repeated_and_foreign_jobs_are_counted() {
        let error = exactly_once(10..14, &[12, 10, 12, 3]).unwrap_err().to_string();
        assert_eq!(
            error,
            "2 jobs never handled, such as 11; 1 jobs handled more than once, such as 12; \
             1 jobs handled although nobody submitted them, such as 3"
        );
    }

    #[test]
    fn levels_may_overlap_but_not_change_places() {
        // Levels by the number modulo 2.
        by_urgency(2, &[0, 2, 4, 1, 3]).unwrap();
        by_urgency(2, &[0, 1, 2, 4, 3]).unwrap();
        let error = by_urgency(2, &[1, 0, 3, 2]).unwrap_err().to_string();
        assert_eq!(error, "levels were started in no order of urgency, on average as number 2, 1");
        by_urgency(2, &[0, 1, 3, 2]).unwrap_err();
    }
}
