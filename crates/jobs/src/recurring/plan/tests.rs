use super::*;
use crate::recurring::interval::{Filters, Interval};

fn each_minute(name: &str, zone: &str) -> Definition {
    let filters = Filters { seconds: Some(vec![0]), ..Filters::default() };
    Definition::new(name, Interval::new(zone, &filters).expect("a good interval"))
}

fn at(text: &str) -> Timestamp {
    text.parse().expect("a moment")
}

#[test]
fn the_same_job_twice_is_refused() {
    let jobs = vec![each_minute("a", "UTC"), each_minute("a", "UTC")];
    let error = Plan::new(jobs, at("2022-12-01T00:00:00Z")).expect_err("twice");
    assert!(
        error.to_string().starts_with("the recurring jobs \"a\" and \"a\" have the same digest")
    );
}

#[test]
fn different_jobs_that_share_a_digest_are_refused() {
    // 17 * 'a' + 'b' is 17 * 'b' + 'Q'.
    let jobs = vec![each_minute("ab", "UTC"), each_minute("bQ", "UTC")];
    let error = Plan::new(jobs, at("2022-12-01T00:00:00Z")).expect_err("the same digest");
    assert!(matches!(error, Error::SameDigest { .. }), "{error}");
}

#[test]
fn one_name_may_stand_for_several_jobs() {
    let now = at("2022-12-01T00:00:00Z");
    let jobs = vec![each_minute("a", "UTC"), each_minute("a", "Asia/Tokyo").kwarg("x", "1")];
    let plan = Plan::new(jobs, now).expect("a good list");
    assert_eq!(plan.named("a").expect("both"), [0, 1]);
    let error = plan.named("b").expect_err("no such job").to_string();
    assert_eq!(error, "there is no recurring job \"b\"");
}

#[test]
fn a_list_is_known_by_the_digests_of_summer_and_winter() {
    let winter = at("2022-12-01T00:00:00Z");
    let plan = Plan::new(vec![each_minute("a", "US/Pacific")], winter).expect("a good list");
    let summer = plan.digests(at("2022-07-01T00:00:00Z"));
    assert_ne!(plan.digests(winter), summer);
    let seasons = plan.seasons(winter);
    assert_eq!(
        seasons.iter().map(|season| &*season.list).collect::<Vec<_>>(),
        [&*plan.digests(winter).list, &*summer.list]
    );
    assert_eq!(plan.season(&summer.list, winter).as_deref(), Some(&summer));
    assert_eq!(plan.season("1", winter), None);
}

#[test]
fn zones_that_change_on_different_days_have_a_season_for_each_mixture() {
    let jobs = vec![each_minute("a", "US/Pacific"), each_minute("b", "Europe/Berlin")];
    let now = at("2022-12-01T00:00:00Z");
    let plan = Plan::new(jobs, now).expect("a good list");
    // Both in summer time; Berlin back, the Pacific not yet; both back; the Pacific ahead in March.
    let all = [
        "2022-07-01T00:00:00Z",
        "2022-11-01T00:00:00Z",
        "2022-12-01T00:00:00Z",
        "2022-03-20T00:00:00Z",
    ];
    for moment in all {
        assert!(plan.season(&plan.digests(at(moment)).list, now).is_some(), "{moment}");
    }
}
