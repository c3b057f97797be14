//! How much one user may have, as the settings say.

use keyrack_services::Quotas;

use crate::{
    Exit, Failure,
    settings::{QUOTA_BARS, QUOTA_LIMITS, QUOTA_SESSIONS, QUOTA_TRACES, Setting, Settings},
};

/// More than this would be no quota: lists of so many are slow to copy, and scripts count with doubles.
const QUOTA_MAX: u64 = 100_000_000;

/// All quotas.
pub(crate) fn quotas(settings: &Settings) -> Result<Quotas, Failure> {
    let number = |setting: &'static Setting| {
        let number = settings.value(setting).parse().ok();
        number.filter(|n| (1..=QUOTA_MAX).contains(n)).ok_or_else(|| {
            let message =
                format!("\"{}\": it has to be a number from 1 to {QUOTA_MAX}", setting.key);
            Failure::new(Exit::Usage, message).hint(format!("set it by {}", setting.ways()))
        })
    };
    Ok(Quotas {
        limits: number(&QUOTA_LIMITS)?,
        progress: keyrack_progress::Quotas {
            bars: number(&QUOTA_BARS)?,
            traces: number(&QUOTA_TRACES)?,
        },
        sessions: number(&QUOTA_SESSIONS)?,
    })
}
