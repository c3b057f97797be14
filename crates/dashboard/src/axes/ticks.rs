//! Which moments below a chart have a label.

use keyrack_format::Zone;

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;
/// Steps between labels.
const STEPS: [u64; 13] = [
    MINUTE_MS,
    5 * MINUTE_MS,
    10 * MINUTE_MS,
    15 * MINUTE_MS,
    30 * MINUTE_MS,
    HOUR_MS,
    2 * HOUR_MS,
    3 * HOUR_MS,
    6 * HOUR_MS,
    12 * HOUR_MS,
    DAY_MS,
    2 * DAY_MS,
    5 * DAY_MS,
];
/// About how many labels fit below a chart.
const TICKS_MAX: u64 = 8;

/// Labels of the time from one moment to another, each at its share of it. They are at round times of the zone.
pub(in super::super) fn time_ticks(from: u64, to: u64, zone: &Zone) -> Vec<(f64, String)> {
    let length = to.saturating_sub(from).max(1);
    let step = STEPS.into_iter().find(|step| length / step <= TICKS_MAX).unwrap_or(10 * DAY_MS);
    // Where days begin in the zone. It may change its offset on the way; then labels after that are an hour off midnight,
    // and say so.
    let offset = zone.offset_ms(from);
    let local = from.saturating_add_signed(offset);
    let first = local.div_ceil(step) * step;
    let moments = (0..).map(|n| first + n * step).take_while(|at| *at <= local + length);
    let label = |at: u64| {
        let at = at.saturating_add_signed(-offset);
        match zone.clock(at) {
            clock if step >= DAY_MS || clock == "00:00" => zone.day(at),
            clock => clock,
        }
    };
    moments.map(|at| ((at - local) as f64 / length as f64, label(at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thursday, 2026-11-19, 06:00 UTC.
    const NOW: u64 = 1_795_068_000_000;

    fn labels(length: u64, zone: &str) -> Vec<String> {
        let zone = Zone::named(zone).expect("a zone");
        let ticks = time_ticks(NOW - length, NOW, &zone);
        assert!(ticks.iter().all(|(share, _)| (0.0..=1.0).contains(share)), "{ticks:?}");
        ticks.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn labels_are_at_round_times_of_the_zone() {
        let hour = labels(HOUR_MS, "UTC");
        assert_eq!(hour, ["05:00", "05:10", "05:20", "05:30", "05:40", "05:50", "06:00"]);
        let day = labels(DAY_MS, "UTC");
        assert_eq!(day.len(), 9);
        assert_eq!((day[0].as_str(), day[6].as_str()), ("06:00", "19 Nov"));
        assert_eq!(labels(DAY_MS, "Asia/Kolkata")[0], "12:00");
        let week = labels(7 * DAY_MS, "America/New_York");
        assert_eq!((week.len(), week[0].as_str()), (7, "13 Nov"));
        assert!(labels(30 * DAY_MS, "UTC").len() <= 9);
    }
}
