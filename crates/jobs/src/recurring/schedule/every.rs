//! Runs at equal distances.

use jiff::{Span, SpanRelativeTo, Timestamp, Unit};

use crate::recurring::error::ScheduleError;

/// The longest period: the longest year.
const PERIOD_MAX_S: i64 = 366 * DAY_S;

const DAY_S: i64 = 86_400;

/// Runs at equal distances, whatever clocks show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Every {
    period_s: i64,
    from: Timestamp,
}

impl Every {
    /// Runs at `from` and then after each period, a text such as `10m` or `1h30m`.
    ///
    /// # Errors
    /// When the period is not a whole number of seconds from 1 second to 366 days.
    pub fn parse(period: &str, from: Timestamp) -> Result<Every, ScheduleError> {
        let bad = || ScheduleError::Every { given: period.to_owned() };
        let span: Span = period.parse().map_err(|_| bad())?;
        let days = SpanRelativeTo::days_are_24_hours();
        let seconds = span.total((Unit::Second, days)).map_err(|_| bad())?;
        if seconds.fract() != 0.0 || !(1.0..=PERIOD_MAX_S as f64).contains(&seconds) {
            return Err(bad());
        }
        let from = Timestamp::from_second(from.as_second()).unwrap_or(from);
        Ok(Every { period_s: seconds as i64, from })
    }

    /// The first run after `after`.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        if after < self.from {
            return Some(self.from);
        }
        let since = after.as_second().checked_sub(self.from.as_second())?;
        let periods = since / self.period_s + 1;
        let next = self.from.as_second().checked_add(periods.checked_mul(self.period_s)?)?;
        Timestamp::from_second(next).ok()
    }

    /// The time between two runs, in seconds.
    pub fn period_s(&self) -> i64 {
        self.period_s
    }

    /// A run from which the others are counted.
    pub fn from(&self) -> Timestamp {
        self.from
    }

    /// The same period, counted from another moment.
    pub(in crate::recurring) fn counted_from(self, from: Timestamp) -> Every {
        Every { from: Timestamp::from_second(from.as_second()).unwrap_or(from), ..self }
    }

    /// The period as it is read: `1h30m`.
    pub fn period_text(&self) -> String {
        let mut rest = self.period_s;
        let mut text = String::new();
        for (unit, seconds) in [("d", DAY_S), ("h", 3600), ("m", 60), ("s", 1)] {
            if rest >= seconds {
                text += &format!("{}{unit}", rest / seconds);
                rest %= seconds;
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a moment")
    }

    #[test]
    fn runs_are_whole_periods_after_the_first() {
        let every = Every::parse("1h30m", at("2030-01-01T00:10:00.7Z")).expect("a good period");
        let next = |after: &str| every.next_after(at(after)).expect("a run").to_string();
        assert_eq!(next("2029-12-31T00:00:00Z"), "2030-01-01T00:10:00Z");
        assert_eq!(next("2030-01-01T00:09:59.9Z"), "2030-01-01T00:10:00Z");
        assert_eq!(next("2030-01-01T00:10:00Z"), "2030-01-01T01:40:00Z");
        assert_eq!(next("2030-01-01T01:39:59.9Z"), "2030-01-01T01:40:00Z");
        assert_eq!(every.next_after(Timestamp::MAX), None);
    }

    #[test]
    fn periods_are_written_as_they_are_read() {
        for text in ["1s", "90s", "10m", "1h30m", "7d", "366d", "1d2h3m4s"] {
            let every = Every::parse(text, Timestamp::UNIX_EPOCH).expect("a good period");
            let again = Every::parse(&every.period_text(), Timestamp::UNIX_EPOCH);
            assert_eq!(again.expect("a good period"), every, "{text}");
        }
        let every = Every::parse("90s", Timestamp::UNIX_EPOCH).expect("a good period");
        assert_eq!(every.period_text(), "1m30s");
    }

    #[test]
    fn other_periods_are_refused() {
        for text in ["", "0", "0s", "-5m", "1.5s", "100ms", "367d", "1mo", "often", "5", "1y"] {
            let error = Every::parse(text, Timestamp::UNIX_EPOCH).expect_err(text);
            assert_eq!(error, ScheduleError::Every { given: text.to_owned() });
        }
    }
}
