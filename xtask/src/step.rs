//! Named steps with their duration, so that a long run shows where it is and a failed one where it
//! broke.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// The steps of this run that are done.
static DONE: Mutex<Vec<(String, Duration)>> = Mutex::new(Vec::new());

/// Runs one step; an error names it.
pub(crate) fn step<T>(name: &str, action: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("==> {name}");
    let start = Instant::now();
    let value = action().with_context(|| format!("step \"{name}\" failed"))?;
    let took = start.elapsed();
    println!("    {name}: {:.1} s", took.as_secs_f64());
    DONE.lock().unwrap_or_else(PoisonError::into_inner).push((name.to_owned(), took));
    Ok(value)
}

/// How long each step of this run took, and all of them together.
pub(crate) fn summary() -> String {
    table(&DONE.lock().unwrap_or_else(PoisonError::into_inner))
}

fn table(steps: &[(String, Duration)]) -> String {
    let total = ("total".to_owned(), steps.iter().map(|(_, took)| *took).sum());
    let lines = steps.iter().chain([&total]);
    let lines = lines.map(|(name, took)| format!("{:>8.1} s  {name}\n", took.as_secs_f64()));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn failure_names_the_step_and_the_cause() {
        let error = step("format", || Err::<(), _>(anyhow!("a file is not formatted")));
        let text = format!("{:#}", error.unwrap_err());
        assert_eq!(text, "step \"format\" failed: a file is not formatted");
    }

    #[test]
    fn summary_has_each_step_and_the_total() {
        let steps = [("format", 400), ("tests", 61_000)];
        let steps = steps.map(|(name, ms)| (name.to_owned(), Duration::from_millis(ms)));
        assert_eq!(table(&steps), "     0.4 s  format\n    61.0 s  tests\n    61.4 s  total\n");
    }
}
