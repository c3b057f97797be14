//! Which records to read.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::Error;

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// How long a record is, and for how long it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Resolution {
    /// A minute, for a day.
    Minute,
    /// A quarter of an hour, for seven days.
    Quarter,
    /// An hour, for 90 days.
    Hour,
}

impl Resolution {
    /// All of them, the finest first.
    pub const ALL: [Resolution; 3] = [Resolution::Minute, Resolution::Quarter, Resolution::Hour];

    /// How long a record is, in milliseconds.
    pub fn ms(self) -> u64 {
        match self {
            Resolution::Minute => MINUTE_MS,
            Resolution::Quarter => 15 * MINUTE_MS,
            Resolution::Hour => HOUR_MS,
        }
    }

    /// For how long records are kept, in milliseconds.
    pub fn kept_ms(self) -> u64 {
        match self {
            Resolution::Minute => DAY_MS,
            Resolution::Quarter => 7 * DAY_MS,
            Resolution::Hour => 90 * DAY_MS,
        }
    }

    /// The word that people use.
    pub fn as_str(self) -> &'static str {
        match self {
            Resolution::Minute => "minute",
            Resolution::Quarter => "quarter",
            Resolution::Hour => "hour",
        }
    }

    /// The word of the script.
    pub(super) fn word(self) -> &'static str {
        match self {
            Resolution::Minute => "minutes",
            Resolution::Quarter => "quarters",
            Resolution::Hour => "hours",
        }
    }
}

impl std::str::FromStr for Resolution {
    type Err = String;

    fn from_str(text: &str) -> Result<Resolution, String> {
        Resolution::ALL.into_iter().find(|one| one.as_str() == text).ok_or_else(|| {
            let words = Resolution::ALL.map(Resolution::as_str).join("\", \"");
            format!("\"{text}\" is no resolution; use one of \"{words}\"")
        })
    }
}

/// Which time, and in which records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimesQuery {
    /// Its beginning in unix milliseconds; a day before its end unless set.
    pub from: Option<u64>,
    /// Its end in unix milliseconds; now unless set.
    pub to: Option<u64>,
    /// How long a record is. Unless set: a minute for up to three hours, a quarter of an hour for up to two days, else an hour.
    pub resolution: Option<Resolution>,
}

impl TimesQuery {
    /// The last so many milliseconds.
    pub fn last(ms: u64, now_ms: u64) -> TimesQuery {
        TimesQuery { from: Some(now_ms.saturating_sub(ms)), to: None, resolution: None }
    }

    pub(super) fn range(&self, now_ms: u64) -> Result<RecordRange, Error> {
        let to = self.to.unwrap_or(now_ms).min(now_ms);
        let from = self.from.unwrap_or_else(|| to.saturating_sub(DAY_MS));
        if from >= to {
            let reason = format!("{from}; it has to be before {to}, which is \"to\" or now");
            return Err(Error::invalid("from", reason));
        }
        let resolution = match self.resolution {
            Some(resolution) => resolution,
            None => fitting(now_ms - from, to - from),
        };
        // A record that is dropped any minute may be asked for.
        let kept_ms = resolution.kept_ms() + resolution.ms();
        if now_ms - from > kept_ms {
            let days = resolution.kept_ms() / DAY_MS;
            let reason = format!(
                "{from}; records of a {} are kept for {days} days, and none for more than {}",
                resolution.as_str(),
                Resolution::Hour.kept_ms() / DAY_MS,
            );
            return Err(Error::invalid("from", reason));
        }
        let ms = resolution.ms();
        Ok(RecordRange { resolution, indexes: from / ms..to.div_ceil(ms) })
    }
}

fn fitting(age_ms: u64, length_ms: u64) -> Resolution {
    let fits = |resolution: Resolution, length_max| {
        length_ms <= length_max && age_ms <= resolution.kept_ms()
    };
    if fits(Resolution::Minute, 3 * HOUR_MS) {
        Resolution::Minute
    } else if fits(Resolution::Quarter, 2 * DAY_MS) {
        Resolution::Quarter
    } else {
        Resolution::Hour
    }
}

/// Some records in a row.
pub(super) struct RecordRange {
    pub(super) resolution: Resolution,
    indexes: Range<u64>,
}

impl RecordRange {
    /// Their numbers since the epoch.
    pub(super) fn indexes(&self) -> Range<u64> {
        self.indexes.clone()
    }

    pub(super) fn start_ms(&self) -> u64 {
        self.indexes.start * self.resolution.ms()
    }

    pub(super) fn end_ms(&self) -> u64 {
        self.indexes.end * self.resolution.ms()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_794_709_387_000;

    #[test]
    fn the_resolution_follows_from_how_much_is_asked_for() {
        let resolution = |ms| TimesQuery::last(ms, NOW).range(NOW).map(|range| range.resolution);
        assert_eq!(resolution(HOUR_MS).ok(), Some(Resolution::Minute));
        assert_eq!(resolution(DAY_MS).ok(), Some(Resolution::Quarter));
        assert_eq!(resolution(7 * DAY_MS).ok(), Some(Resolution::Hour));
        assert_eq!(resolution(90 * DAY_MS).ok(), Some(Resolution::Hour));
        let long_ago = TimesQuery {
            from: Some(NOW - 3 * DAY_MS),
            to: Some(NOW - 3 * DAY_MS + HOUR_MS),
            resolution: None,
        };
        let range = long_ago.range(NOW).expect("a good time");
        assert_eq!(range.resolution, Resolution::Quarter, "minutes are gone");
        assert_eq!(range.indexes().count(), 5, "it ends and begins within a record");
    }

    #[test]
    fn a_time_that_makes_no_sense_is_refused_with_what_would() {
        let refused = |query: TimesQuery| query.range(NOW).err().expect("refused").to_string();
        let later = TimesQuery { from: Some(NOW), ..TimesQuery::default() };
        assert!(refused(later).contains("it has to be before"), "{}", refused(later));
        let minutes = Some(Resolution::Minute);
        let old = TimesQuery { resolution: minutes, ..TimesQuery::last(2 * DAY_MS, NOW) };
        assert!(refused(old).contains("kept for 1 days"), "{}", refused(old));
        assert!(TimesQuery::last(92 * DAY_MS, NOW).range(NOW).is_err());
        assert!(TimesQuery::last(u64::MAX, NOW).range(NOW).is_err());
    }
}
