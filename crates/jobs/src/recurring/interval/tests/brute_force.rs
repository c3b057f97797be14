//! The search against a scan that looks at each second on the zone's clock.

use jiff::civil::DateTime;
use proptest::{collection::btree_set, option, prelude::*, sample::select};

use super::*;

/// How far the scan goes. The search may find something later, but nothing earlier.
const SCAN_SECONDS: i64 = 6 * 3600;

/// Zones with summer time, without, with halves of an hour, and one whose summer time moves the clock by 30 minutes.
const ZONES: &[&str] = &[
    "UTC",
    "US/Pacific",
    "Europe/Berlin",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "America/St_Johns",
    "Pacific/Apia",
];

fn values(max: u8, n_max: usize) -> impl Strategy<Value = Vec<u8>> {
    btree_set(0..=max, 1..=n_max).prop_map(|values| values.into_iter().collect())
}

fn times() -> impl Strategy<Value = Filters> {
    let any = (values(59, 4), option::of(values(59, 4)), option::of(values(23, 5)));
    any.prop_map(|(seconds, minutes, hours)| Filters {
        seconds: Some(seconds),
        hours: minutes.as_ref().and(hours),
        minutes,
        ..Filters::default()
    })
}

/// A moment in the hours before a change of the zone's clock in the years 2000 to 2040, or anywhere in them.
fn starts() -> impl Strategy<Value = (&'static str, Timestamp)> {
    let years = 946_684_800..2_208_988_800i64;
    (select(ZONES), years, -5 * 3600..3600i64, any::<bool>()).prop_map(
        |(zone, at, before, near_change)| {
            let anywhere = Timestamp::from_second(at).expect("a moment");
            let tz = TimeZone::get(zone).expect("a zone");
            let change = tz.following(anywhere).next().filter(|_| near_change);
            let start = change.map_or(at, |change| change.timestamp().as_second() + before);
            (zone, Timestamp::from_second(start).expect("a moment"))
        },
    )
}

fn passes(filters: &Filters, clock: DateTime) -> bool {
    let holds = |values: &Option<Vec<u8>>, value: i8| {
        values.as_ref().is_none_or(|values| values.contains(&value.unsigned_abs()))
    };
    let weekday = clock.weekday().to_monday_zero_offset();
    holds(&filters.seconds, clock.second())
        && holds(&filters.minutes, clock.minute())
        && holds(&filters.hours, clock.hour())
        && holds(&filters.days_of_month, clock.day())
        && holds(&filters.months, clock.month())
        && filters
            .days_of_week
            .as_ref()
            .is_none_or(|days| days.iter().any(|day| *day as i8 == weekday))
}

/// The first second that passes, looked for one by one in steps of so many seconds.
fn scan(zone: &str, filters: &Filters, after: Timestamp, step: i64, until: i64) -> Option<i64> {
    let zone = TimeZone::get(zone).expect("a zone");
    let first = after.as_second().div_euclid(step) * step + step;
    (first..until).step_by(step as usize).find(|at| {
        let at = Timestamp::from_second(*at).expect("a moment");
        passes(filters, zone.to_datetime(at))
    })
}

fn compare(zone: &str, filters: &Filters, after: Timestamp, step: i64, scanned: i64) {
    let interval = Interval::new(zone, filters).expect("good filters");
    let next = interval.next_after(after).map(Timestamp::as_second);
    let until = after.as_second() + scanned;
    match scan(zone, filters, after, step, until) {
        Some(found) => assert_eq!(next, Some(found), "{interval} after {after}"),
        None => {
            assert!(next.is_none_or(|next| next >= until), "{interval} after {after}: {next:?}")
        }
    }
}

fn days() -> impl Strategy<Value = Filters> {
    let weekday = select(
        &[
            Weekday::Mon,
            Weekday::Tue,
            Weekday::Wed,
            Weekday::Thu,
            Weekday::Fri,
            Weekday::Sat,
            Weekday::Sun,
        ][..],
    );
    let weekdays =
        btree_set(weekday, 1..3).prop_map(|days| days.into_iter().collect::<Vec<Weekday>>());
    let month_days =
        btree_set(1u8..=31, 1..4).prop_map(|days| days.into_iter().collect::<Vec<u8>>());
    let months =
        btree_set(1u8..=12, 1..5).prop_map(|months| months.into_iter().collect::<Vec<u8>>());
    let quarters = btree_set(select(&[0u8, 15, 30, 45][..]), 1..3)
        .prop_map(|minutes| minutes.into_iter().collect::<Vec<u8>>());
    (option::of(weekdays), option::of(month_days), option::of(months), values(23, 2), quarters)
        .prop_map(|(days_of_week, days_of_month, months, hours, minutes)| Filters {
            days_of_month: days_of_month.filter(|_| days_of_week.is_none()),
            days_of_week,
            months,
            hours: Some(hours),
            minutes: Some(minutes),
            seconds: Some(vec![0]),
        })
        .prop_filter("must be possible", |filters| Interval::new("UTC", filters).is_ok())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn search_finds_what_a_scan_of_every_second_finds(
        filters in times(),
        (zone, after) in starts(),
    ) {
        compare(zone, &filters, after, 1, SCAN_SECONDS);
    }

    /// Quarters of an hour are enough to look at when runs are at quarters, and let the scan go on for a year.
    #[test]
    fn search_finds_what_a_scan_of_a_year_finds(filters in days(), (zone, after) in starts()) {
        compare(zone, &filters, after, 900, 366 * 86_400);
    }
}
