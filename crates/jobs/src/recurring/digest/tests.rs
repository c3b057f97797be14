use super::*;
use crate::recurring::interval::Filters;

const WINTER: &str = "2022-12-05T12:00:00Z";
const SUMMER: &str = "2022-07-05T12:00:00Z";

fn at(text: &str) -> Timestamp {
    text.parse().expect("a moment")
}

fn pacific(filters: &Filters) -> Interval {
    Interval::new("US/Pacific", filters).expect("a good interval")
}

fn seconds(seconds: &[u8]) -> Filters {
    Filters { seconds: Some(seconds.to_vec()), ..Filters::default() }
}

/// The original's list, in its order.
fn original() -> [Definition; 3] {
    let midnight = Filters { hours: Some(vec![0]), minutes: Some(vec![0]), ..seconds(&[0]) };
    [
        Definition::new("runners.example", pacific(&seconds(&[0])))
            .kwarg("message", "Ping from recurring_jobs"),
        Definition::new("runners.sweep_partial_file_uploads", pacific(&midnight)),
        Definition::new(
            "runners.revenue_cat.sweep_open_stripe_checkout_sessions",
            pacific(&seconds(&[0, 30])),
        ),
    ]
}

#[track_caller]
fn check(started_at: &str, jobs: [u64; 3], whole: u64) {
    let found = original().map(|definition| job(&definition, at(started_at)));
    assert_eq!(found, jobs);
    assert_eq!(list(&found), whole);
}

#[test]
fn digests_are_the_originals_in_winter() {
    let jobs = [18080596565217940053, 15215491021367002535, 3729345068580280250];
    check(WINTER, jobs, 9002109888067321013);
}

#[test]
fn digests_are_the_originals_in_summer() {
    let jobs = [18080598042437162853, 15215917937722391735, 3729370181307067850];
    check(SUMMER, jobs, 9009819495191114213);
}

#[test]
fn an_interval_alone_has_the_originals_digest() {
    let utc = Interval::new("UTC", &seconds(&[0])).expect("a good interval");
    assert_eq!(interval(&utc, at(WINTER)), 9090635380341);
}

#[test]
fn weekdays_count_as_words_and_months_as_numbers() {
    use crate::recurring::interval::Weekday;

    let filters = Filters {
        months: Some(vec![2]),
        days_of_week: Some(vec![Weekday::Mon]),
        hours: Some(vec![1]),
        minutes: Some(vec![2]),
        seconds: Some(vec![3]),
        ..Filters::default()
    };
    let utc = Interval::new("UTC", &filters).expect("a good interval");
    // Written out by hand: offset; then length and values of each filter, 3 letters of "mon"; no days of the month.
    let steps = [0, 1, 3, 1, 2, 1, 1, 1, 3, 109, 111, 110, ABSENT, 1, 2];
    let expected = steps.into_iter().fold(31u64, |r, x| r.wrapping_mul(17).wrapping_add(x));
    assert_eq!(interval(&utc, at(WINTER)), expected);
}

#[test]
fn order_of_arguments_counts() {
    let job_of = |names: [&str; 2]| {
        let definition = Definition::new("x", pacific(&seconds(&[0])));
        let [first, second] = names;
        job(&definition.kwarg(first, "1").kwarg(second, "1"), at(WINTER))
    };
    assert_ne!(job_of(["a", "b"]), job_of(["b", "a"]));
}

#[test]
fn cron_jobs_and_bee_targets_have_digests_of_their_own_that_no_season_changes() {
    use crate::bee::keys::QueueName;

    let cron = |expression, zone| {
        Definition::new("x", CronSchedule::new(zone, expression).expect("a good expression"))
    };
    let plain = cron("0 0 * * *", "US/Pacific");
    let bee = |queue: &str| plain.clone().to_queue(QueueName::new(queue).expect("a good name"));
    let all = [
        plain.clone(),
        cron("0 1 * * *", "US/Pacific"),
        cron("0 0 * * *", "UTC"),
        bee("mail"),
        bee("mail/send"),
        Definition::new("x", pacific(&seconds(&[0]))),
    ]
    .map(|definition| job(&definition, at(WINTER)));
    assert!((1..all.len()).all(|n| !all[..n].contains(&all[n])), "{all:?}");
    assert_eq!(job(&plain, at(WINTER)), job(&plain, at(SUMMER)));
    assert_eq!(job(&bee("mail"), at(WINTER)), job(&bee("mail"), at(SUMMER)));
    // Schedulers of two versions share a schedule by these numbers: they may never change.
    assert_eq!((all[0], all[3]), (18264780703798973732, 2996596672083620138));
}

#[test]
fn what_is_no_part_of_a_job_changes_no_digest() {
    let [ping, ..] = original();
    assert_eq!(job(&ping.clone().catching_up(10), at(WINTER)), job(&ping, at(WINTER)));
}
