//! Named steps with their duration, so that a long run shows where it is and a failed one where it
//! broke.

use std::time::Instant;

use anyhow::{Context, Result};

/// Runs one step; an error names it.
pub(crate) fn step<T>(name: &str, action: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("==> {name}");
    let start = Instant::now();
    let value = action().with_context(|| format!("step \"{name}\" failed"))?;
    println!("    {name}: {:.1} s", start.elapsed().as_secs_f64());
    Ok(value)
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
}
