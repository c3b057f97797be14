use super::*;

#[track_caller]
fn check_runs(zone: &str, expression: &str, after: &str, runs: &[&str]) {
    let cron = CronSchedule::new(zone, expression).expect("a good expression");
    let mut at: Timestamp = after.parse().expect("a moment");
    for run in runs {
        at = cron.next_after(at).expect("a next run");
        assert_eq!(at, run.parse().expect("a moment"), "{expression} in {zone}");
    }
}

#[test]
fn five_fields_run_at_whole_minutes_and_six_have_seconds() {
    let runs = ["2023-01-02T06:30:00Z", "2023-01-09T06:30:00Z"];
    check_runs("UTC", "30 6 * * MON", "2023-01-01T00:00:00Z", &runs);
    check_runs(
        "UTC",
        "*/20 * * * * *",
        "2023-01-01T00:00:19.5Z",
        &["2023-01-01T00:00:20Z", "2023-01-01T00:00:40Z"],
    );
}

#[test]
fn runs_are_strictly_later_and_whole_seconds() {
    check_runs("UTC", "0 * * * *", "2023-01-01T00:00:00Z", &["2023-01-01T01:00:00Z"]);
    check_runs("UTC", "0 * * * *", "2023-01-01T00:59:59.999Z", &["2023-01-01T01:00:00Z"]);
}

#[test]
fn a_fixed_time_in_the_gap_runs_right_after_it_and_a_doubled_one_once() {
    let runs = ["2023-03-12T10:00:00Z", "2023-03-13T09:30:00Z"];
    check_runs("US/Pacific", "30 2 * * *", "2023-03-12T00:00:00Z", &runs);
    let runs = ["2022-11-06T08:30:00Z", "2022-11-07T09:30:00Z"];
    check_runs("US/Pacific", "30 1 * * *", "2022-11-06T00:00:00Z", &runs);
}

#[test]
fn the_last_day_of_a_month_follows_its_length() {
    let runs = ["2024-02-29T00:00:00Z", "2024-03-31T00:00:00Z", "2024-04-30T00:00:00Z"];
    check_runs("UTC", "0 0 L * *", "2024-02-01T00:00:00Z", &runs);
}

#[test]
fn bad_expressions_are_refused_with_the_reason() {
    for (expression, start) in [
        ("", "the cron expression \"\" is not valid: "),
        ("61 * * * *", "the cron expression \"61 * * * *\" is not valid: "),
        ("0 0 1 1 * * 2024", "the cron expression \"0 0 1 1 * * 2024\" is not valid: "),
        ("often", "the cron expression \"often\" is not valid: "),
        ("0 0 31 2 *", "the cron expression \"0 0 31 2 *\" never comes true"),
    ] {
        let error = CronSchedule::new("UTC", expression).expect_err("a bad expression").to_string();
        assert!(error.starts_with(start), "{error}");
    }
    let error = CronSchedule::new("Mars", "* * * * *").expect_err("no such zone").to_string();
    assert!(error.starts_with("there is no time zone \"Mars\""), "{error}");
}
