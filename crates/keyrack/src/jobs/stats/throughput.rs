//! How fast a queue goes, from its counters.

use keyrack_jobs::bee::Stats;

const MINUTE_MS: u64 = 60_000;

/// How fast a queue went of late.
#[derive(Debug, PartialEq)]
pub(crate) struct Throughput {
    /// Jobs submitted in the last minute.
    pub(crate) submitted: u64,
    /// Jobs completed or failed in the last minute.
    pub(crate) ended: u64,
    /// Jobs completed in each minute of the last hour, the present one last.
    completed: Vec<u64>,
}

impl Throughput {
    pub(crate) fn of(stats: &Stats, now_ms: u64) -> Throughput {
        let present = now_ms / MINUTE_MS;
        let mut completed = vec![0; 60];
        for minute in &stats.minutes {
            let back = present.saturating_sub(minute.at / MINUTE_MS) as usize;
            if let Some(at) = completed.len().checked_sub(back + 1) {
                completed[at] = minute.completed;
            }
        }
        // Counters are by the minute of the clock: of the one before, as much counts as lies in the last 60 seconds.
        let rest = (MINUTE_MS - now_ms % MINUTE_MS) as f64 / MINUTE_MS as f64;
        let count = |back: u64, count: fn(&keyrack_jobs::bee::Minute) -> u64| {
            let minute =
                stats.minutes.iter().find(|minute| minute.at / MINUTE_MS + back == present);
            minute.map_or(0, count) as f64
        };
        let last = |what: fn(&keyrack_jobs::bee::Minute) -> u64| {
            (count(0, what) + count(1, what) * rest).round() as u64
        };
        Throughput {
            submitted: last(|minute| minute.submitted),
            ended: last(|minute| minute.completed + minute.failed),
            completed,
        }
    }

    /// The jobs completed in each of the last minutes as bars, the highest for the most.
    pub(crate) fn bars(&self, minutes: usize) -> String {
        const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let shown = &self.completed[self.completed.len().saturating_sub(minutes)..];
        let most = shown.iter().copied().max().unwrap_or(0);
        let bar = |n: &u64| match n {
            0 => '·',
            n => BARS[((n * 8).div_ceil(most) as usize - 1).min(7)],
        };
        shown.iter().map(bar).collect()
    }
}

#[cfg(test)]
mod tests {
    use keyrack_jobs::bee::Minute;

    use super::*;

    /// Counters of the minutes 10 and 11 of the clock.
    fn pace(now_ms: u64) -> Throughput {
        let minute = |n: u64, submitted, completed, failed| Minute {
            at: n * MINUTE_MS,
            submitted,
            completed,
            failed,
            ..Minute::default()
        };
        let minutes = vec![minute(10, 60, 30, 10), minute(11, 6, 8, 0)];
        Throughput::of(&Stats { minutes, ..Stats::default() }, now_ms)
    }

    #[test]
    fn last_minute_is_the_last_60_seconds() {
        let told = |now_ms| (pace(now_ms).submitted, pace(now_ms).ended);
        assert_eq!(told(11 * MINUTE_MS), (66, 48));
        assert_eq!(told(11 * MINUTE_MS + 30_000), (36, 28));
        assert_eq!(told(12 * MINUTE_MS), (6, 8));
        assert_eq!(told(14 * MINUTE_MS), (0, 0));
    }

    #[test]
    fn bars_are_as_high_as_their_minutes_and_a_point_is_nothing() {
        assert_eq!(pace(11 * MINUTE_MS).bars(4), "··█▃");
        assert_eq!(pace(12 * MINUTE_MS).bars(4), "·█▃·");
        assert_eq!(pace(80 * MINUTE_MS).bars(3), "···");
        assert_eq!(pace(11 * MINUTE_MS).bars(100).chars().count(), 60);
    }
}
