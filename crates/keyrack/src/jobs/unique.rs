//! Which submissions are for the same job, as it is typed.

use std::time::Duration;

use keyrack_format as format;
use keyrack_jobs::bee::{UniqueBy, UniqueRequest, UniqueUntil};

#[derive(Debug, clap::Args)]
pub(super) struct UniqueArgs {
    /// Submit no second job with this key: print the id of the first one instead, until it has ended
    #[arg(long, value_name = "KEY", conflicts_with = "unique_by")]
    unique: Option<String>,
    /// Submit no second job with the same id or the same arguments: "id" or "args"
    #[arg(long, value_name = "WHAT", value_parser = by)]
    unique_by: Option<UniqueBy>,
    /// How long the first job stands for the second: until it has "started" or "ended" [default: ended]
    #[arg(long, value_name = "WHEN", value_parser = until,
        conflicts_with_all = ["unique_for", "debounce", "throttle"])]
    unique_until: Option<UniqueUntil>,
    /// Let the first job stand for the second for TIME after its submission
    #[arg(long, value_name = "TIME", value_parser = format::duration::parse_positive, allow_hyphen_values = true,
        conflicts_with_all = ["debounce", "throttle"])]
    unique_for: Option<Duration>,
    /// Run the job when no equal one was submitted for TIME, with the arguments of the last one
    #[arg(long, value_name = "TIME", value_parser = format::duration::parse_positive, allow_hyphen_values = true,
        conflicts_with = "throttle")]
    debounce: Option<Duration>,
    /// Do not let --debounce delay the job for more than TIME [default: 10 times that of --debounce]
    #[arg(long, value_name = "TIME", value_parser = format::duration::parse_positive, allow_hyphen_values = true,
        requires = "debounce")]
    debounce_max: Option<Duration>,
    /// Run the first job and drop equal ones for TIME
    #[arg(long, value_name = "TIME", value_parser = format::duration::parse_positive, allow_hyphen_values = true)]
    throttle: Option<Duration>,
    /// With --throttle: run one more job for all that would be dropped, at the end of the time
    #[arg(long, requires = "throttle")]
    fold: bool,
}

impl UniqueArgs {
    /// What was typed, if anything was.
    pub(super) fn request(self) -> Option<UniqueRequest> {
        let ms = |time: Option<Duration>| {
            time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
        };
        let is_asked = self.unique.is_some()
            || self.unique_by.is_some()
            || self.unique_until.is_some()
            || self.unique_for.is_some()
            || self.debounce.is_some()
            || self.throttle.is_some();
        is_asked.then(|| UniqueRequest {
            by: self.unique_by,
            key: self.unique,
            until: self.unique_until,
            time: ms(self.unique_for),
            debounce: ms(self.debounce),
            debounce_max: ms(self.debounce_max),
            throttle: ms(self.throttle),
            fold: self.fold,
        })
    }
}

fn by(text: &str) -> Result<UniqueBy, String> {
    match text {
        "id" => Ok(UniqueBy::Id),
        "args" => Ok(UniqueBy::Args),
        _ => Err("give id or args".into()),
    }
}

fn until(text: &str) -> Result<UniqueUntil, String> {
    match text {
        "started" => Ok(UniqueUntil::Started),
        "ended" => Ok(UniqueUntil::Ended),
        _ => Err("give started or ended".into()),
    }
}
