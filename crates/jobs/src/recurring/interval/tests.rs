use super::*;

mod brute_force;

fn filters(of: impl FnOnce(&mut Filters)) -> Filters {
    let mut filters = Filters::default();
    of(&mut filters);
    filters
}

fn at_seconds(seconds: &[u8]) -> Filters {
    filters(|f| f.seconds = Some(seconds.to_vec()))
}

fn at_minutes(minutes: &[u8], seconds: &[u8]) -> Filters {
    Filters { minutes: Some(minutes.to_vec()), ..at_seconds(seconds) }
}

fn at_times(hours: &[u8], minutes: &[u8], seconds: &[u8]) -> Filters {
    Filters { hours: Some(hours.to_vec()), ..at_minutes(minutes, seconds) }
}

fn moment(text: &str) -> Timestamp {
    text.parse().unwrap_or_else(|error| panic!("\"{text}\": {error}"))
}

/// Checks the next run in unix seconds, in UTC.
#[track_caller]
fn check_utc(filters: &Filters, cases: &[(f64, i64)]) {
    let interval = Interval::new("UTC", filters).expect("good filters");
    for &(after, next) in cases {
        let after = Timestamp::from_nanosecond((after * 1e9) as i128).expect("a moment");
        assert_eq!(
            interval.next_after(after).map(Timestamp::as_second),
            Some(next),
            "after {after}"
        );
    }
}

/// Checks a chain of runs, each the next after the one before.
#[track_caller]
fn check_runs(zone: &str, filters: &Filters, after: &str, runs: &[&str]) {
    let interval = Interval::new(zone, filters).expect("good filters");
    let mut at = moment(after);
    for run in runs {
        at = interval.next_after(at).expect("a next run");
        assert_eq!(at, moment(run), "{interval}");
    }
}

#[track_caller]
fn check_refused(filters: &Filters, message: &str) {
    let error = Interval::new("UTC", filters).expect_err("bad filters");
    assert_eq!(error.to_string(), message);
}

#[test]
fn next_runs_are_those_of_the_original_where_it_is_right() {
    check_utc(&at_seconds(&[0]), &[(0.0, 60), (55.5, 60), (60.0, 120)]);
    check_utc(&at_seconds(&[0, 15, 30, 45]), &[(14.5, 15), (55.0, 60)]);
    check_utc(&at_minutes(&[0, 30], &[0]), &[(1800.0, 3600)]);
    check_utc(&at_times(&[0, 12], &[0], &[0]), &[(0.0, 43200)]);
    check_utc(&at_times(&[0], &[0], &[0]), &[(86399.5, 86400), (86400.0, 172800)]);
}

#[test]
fn smaller_units_begin_anew_when_a_larger_one_moves() {
    check_utc(&at_times(&[11], &[0, 30], &[0]), &[(10.25 * 3600.0, 11 * 3600)]);
    check_utc(&at_minutes(&[5], &[0, 30]), &[(20.0, 300)]);
}

#[test]
fn a_day_that_a_month_lacks_waits_for_a_longer_month() {
    let last = Filters { days_of_month: Some(vec![31]), ..at_times(&[0], &[0], &[0]) };
    let runs = ["2023-03-31T00:00:00Z", "2023-05-31T00:00:00Z", "2023-07-31T00:00:00Z"];
    check_runs("UTC", &last, "2023-02-10T00:00:00Z", &runs);
}

#[test]
fn a_leap_day_waits_for_the_next_leap_year() {
    let leap = Filters {
        months: Some(vec![2]),
        days_of_month: Some(vec![29]),
        ..at_times(&[12], &[0], &[0])
    };
    let runs = ["2092-02-29T12:00:00Z", "2096-02-29T12:00:00Z", "2104-02-29T12:00:00Z"];
    check_runs("UTC", &leap, "2090-01-01T00:00:00Z", &runs);
}

#[test]
fn midnight_stays_midnight_across_the_end_of_summer_time() {
    let midnight = at_times(&[0], &[0], &[0]);
    // The original would run at 2022-11-07T07:00:00Z, an hour early, and again an hour later.
    let runs = ["2022-11-07T08:00:00Z", "2022-11-08T08:00:00Z"];
    check_runs("US/Pacific", &midnight, "2022-11-06T07:30:00Z", &runs);
    check_runs("US/Pacific", &midnight, "2023-03-12T08:30:00Z", &["2023-03-13T07:00:00Z"]);
}

#[test]
fn a_time_that_the_clock_skips_has_no_run() {
    let in_the_gap = at_times(&[2], &[30], &[0]);
    let runs = ["2023-03-11T10:30:00Z", "2023-03-13T09:30:00Z"];
    check_runs("US/Pacific", &in_the_gap, "2023-03-11T00:00:00Z", &runs);
    let each_hour = at_minutes(&[0], &[0]);
    let runs = ["2023-03-12T09:00:00Z", "2023-03-12T10:00:00Z", "2023-03-12T11:00:00Z"];
    check_runs("US/Pacific", &each_hour, "2023-03-12T08:00:00Z", &runs);
}

#[test]
fn a_time_that_the_clock_shows_twice_has_two_runs() {
    let twice = at_times(&[1], &[30], &[0]);
    let runs = ["2022-11-06T08:30:00Z", "2022-11-06T09:30:00Z", "2022-11-07T09:30:00Z"];
    check_runs("US/Pacific", &twice, "2022-11-06T07:00:00Z", &runs);
    let half_hours = at_minutes(&[0, 30], &[0]);
    let runs = [
        "2022-11-06T08:30:00Z",
        "2022-11-06T09:00:00Z",
        "2022-11-06T09:30:00Z",
        "2022-11-06T10:00:00Z",
    ];
    check_runs("US/Pacific", &half_hours, "2022-11-06T08:00:00Z", &runs);
}

#[test]
fn a_day_that_a_zone_left_out_has_no_run() {
    // Samoa went from 29 to 31 December 2011.
    let noon = at_times(&[12], &[0], &[0]);
    let runs = ["2011-12-29T22:00:00Z", "2011-12-30T22:00:00Z"];
    check_runs("Pacific/Apia", &noon, "2011-12-29T00:00:00Z", &runs);
    let thirtieth = Filters { days_of_month: Some(vec![30]), ..noon };
    check_runs("Pacific/Apia", &thirtieth, "2011-12-01T00:00:00Z", &["2012-01-29T22:00:00Z"]);
}

#[test]
fn weekdays_and_months_hold_together() {
    let filters = Filters {
        months: Some(vec![1, 12]),
        days_of_week: Some(vec![Weekday::Mon, Weekday::Sun]),
        ..at_times(&[9], &[0], &[0])
    };
    let runs = [
        "2022-12-25T09:00:00Z",
        "2022-12-26T09:00:00Z",
        "2023-01-01T09:00:00Z",
        "2023-01-02T09:00:00Z",
    ];
    check_runs("UTC", &filters, "2022-12-20T00:00:00Z", &runs);
    check_runs("UTC", &filters, "2023-01-30T09:00:00Z", &["2023-12-03T09:00:00Z"]);
}

#[test]
fn rules_are_refused_by_name() {
    check_refused(&Filters::default(), "it has no filter; give at least \"seconds\"");
    check_refused(
        &at_seconds(&[]),
        "\"seconds\" is empty; leave it out or give at least one value",
    );
    check_refused(
        &at_seconds(&[0, 60]),
        "\"seconds\" has the value \"60\"; use numbers from 0 to 59",
    );
    check_refused(
        &Filters { months: Some(vec![0]), ..at_times(&[0], &[0], &[0]) },
        "\"months\" has the value \"0\"; use numbers from 1 to 12",
    );
    check_refused(
        &at_minutes(&[30, 0], &[0]),
        "\"minutes\" is not in order; list each value once, the smallest first",
    );
    check_refused(
        &at_minutes(&[0, 0], &[0]),
        "\"minutes\" is not in order; list each value once, the smallest first",
    );
    let days = Filters {
        days_of_month: Some(vec![1]),
        days_of_week: Some(vec![Weekday::Mon]),
        ..at_times(&[0], &[0], &[0])
    };
    check_refused(&days, "it has both \"days_of_month\" and \"days_of_week\"; give one of them");
    let never = Filters {
        months: Some(vec![2, 4]),
        days_of_month: Some(vec![31]),
        ..at_times(&[0], &[0], &[0])
    };
    check_refused(
        &never,
        "\"days_of_month\" begins with \"31\", which none of its \"months\" has, so it would never run; use a day that one of them has",
    );
}

#[test]
fn a_filter_needs_those_of_all_smaller_units() {
    let needs = |unit: &str, missing: &str| {
        format!(
            "it has \"{unit}\" but no \"{missing}\", so it would run many times in a row; give \"{missing}\" too"
        )
    };
    check_refused(&filters(|f| f.minutes = Some(vec![0])), &needs("minutes", "seconds"));
    check_refused(
        &Filters { hours: Some(vec![0]), ..at_seconds(&[0]) },
        &needs("hours", "minutes"),
    );
    check_refused(
        &filters(|f| (f.hours, f.minutes) = (Some(vec![0]), Some(vec![0]))),
        &needs("minutes", "seconds"),
    );
    let without_hours = || at_minutes(&[0], &[0]);
    for (unit, filters) in [
        ("days_of_week", Filters { days_of_week: Some(vec![Weekday::Mon]), ..without_hours() }),
        ("days_of_month", Filters { days_of_month: Some(vec![1]), ..without_hours() }),
        ("months", Filters { months: Some(vec![1]), ..without_hours() }),
    ] {
        check_refused(&filters, &needs(unit, "hours"));
    }
}

#[test]
fn an_unknown_zone_is_refused() {
    let error = Interval::new("Mars/Olympus", &at_seconds(&[0])).expect_err("no such zone");
    assert_eq!(
        error.to_string(),
        "there is no time zone \"Mars/Olympus\"; use a name such as \"Europe/Berlin\" or \"UTC\""
    );
}

#[test]
fn an_interval_reads_as_words() {
    let filters = Filters {
        days_of_week: Some(vec![Weekday::Mon, Weekday::Fri]),
        ..at_times(&[6], &[0, 30], &[0])
    };
    let interval = Interval::new("Europe/Berlin", &filters).expect("good filters");
    let words = "days_of_week mon fri, hours 6, minutes 0 30, seconds 0 in Europe/Berlin";
    assert_eq!(interval.to_string(), words);
}

#[test]
fn the_end_of_time_is_no_panic() {
    let interval = Interval::new("US/Pacific", &at_times(&[0], &[0], &[0])).expect("good filters");
    assert_eq!(interval.next_after(Timestamp::MAX), None);
    assert!(interval.next_after(Timestamp::MIN).is_some());
}
