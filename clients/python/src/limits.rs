//! Rate limits. The only place that names the types of `keyrack_entitlements`.

use keyrack_entitlements::{
    Limit, Limiter,
    keys::{LimitName, LimitSubject},
};
use pyo3::prelude::*;

use crate::{
    error::Failure,
    rack::{Rack, seconds},
};

/// Whether it is allowed, what is left, seconds until the same would be allowed (None for never), and
/// seconds until everything is.
type Verdict = (bool, u64, Option<f64>, f64);

/// Takes so much of a limit: `max` in each period, or evenly with a burst.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python calls it by their names")]
pub(crate) fn take_limit(
    py: Python<'_>,
    rack: &Rack,
    name: &str,
    subject: &str,
    max: u64,
    period: f64,
    burst: Option<u64>,
    amount: u64,
) -> PyResult<Verdict> {
    let opened = rack.opened()?;
    let limiter = Limiter::new(opened.parts().store.clone());
    let name = LimitName::new(name).map_err(Failure::from)?;
    let subject = LimitSubject::new(subject).map_err(Failure::from)?;
    let period = seconds(period);
    let limit = match burst {
        Some(burst) => Limit::Steady { max, period, burst },
        None => Limit::Window { max, period },
    };
    let verdict =
        opened.run(py, async { Ok(limiter.take(&name, &subject, limit, amount).await?) })?;
    let retry_after = verdict.retry_after.map(|time| time.as_secs_f64());
    Ok((verdict.allowed, verdict.remaining, retry_after, verdict.reset_after.as_secs_f64()))
}
