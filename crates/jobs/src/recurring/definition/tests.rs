use super::*;

fn read(toml: &str) -> Result<Definition, String> {
    toml::from_str(toml).map_err(|error| error.message().to_owned())
}

#[track_caller]
fn check_refused(toml: &str, message: &str) {
    assert_eq!(read(toml).expect_err("a bad definition"), message);
}

#[test]
fn a_plain_definition_reads_as_the_one_from_code() {
    let read =
        read("name = 'x'\nkwargs = [['b', 1], ['a', { z = [] }]]\nzone = 'UTC'\nseconds = [0, 30]")
            .expect("a good definition");
    assert_eq!((read.name(), read.target(), read.catch_up()), ("x", &Target::Hot, 1));
    assert_eq!(serde_json::to_string(read.kwargs()).expect("JSON"), r#"{"b":1,"a":{"z":[]}}"#);
    assert_eq!(read.schedule().to_string(), "seconds 0 30 in UTC");
}

#[test]
fn arguments_in_json_keep_their_order() {
    let text = r#"{"name": "x", "zone": "UTC", "cron": "* * * * *", "kwargs": {"z": 1, "a": 2}}"#;
    let read: Definition = serde_json::from_str(text).expect("a good definition");
    assert_eq!(serde_json::to_string(read.kwargs()).expect("JSON"), r#"{"z":1,"a":2}"#);
}

#[test]
fn all_filters_the_queue_and_the_catch_up_are_read() {
    let read = read(
        "name = 'x'\nzone = 'Europe/Berlin'\nmonths = [1, 2]\ndays_of_week = ['mon', 'sun']\nhours = [3]\n\
         minutes = [4]\nseconds = [5]\nqueue = 'mail/send'\ncatch_up = 7",
    )
    .expect("a good definition");
    let words = "months 1 2, days_of_week mon sun, hours 3, minutes 4, seconds 5 in Europe/Berlin";
    assert_eq!(read.schedule().to_string(), words);
    assert_eq!(read.catch_up(), 7);
    assert!(matches!(read.target(), Target::Bee(queue) if queue.as_str() == "mail/send"));
}

#[test]
fn bad_definitions_are_refused_by_name_and_reason() {
    let not_valid = "the recurring job \"x\" is not valid: ";
    let one =
        "it needs one of \"cron\", \"every\", \"at\" and filters such as \"seconds\", and only one";
    check_refused("name = 'x'\nzone = 'UTC'", &format!("{not_valid}{one}"));
    check_refused(
        "name = 'x'\nzone = 'UTC'\nseconds = [0]\ncron = '* * * * *'",
        &format!("{not_valid}{one}"),
    );
    check_refused(
        "name = 'x'\nzone = 'UTC'\nminutes = [0]",
        &format!(
            "{not_valid}it has \"minutes\" but no \"seconds\", so it would run many times in a row; give \"seconds\" too"
        ),
    );
    check_refused(
        "name = 'x'\nzone = 'UTC'\nseconds = [0]\ncatch_up = 1001",
        &format!(
            "{not_valid}\"catch_up\" is \"1001\"; use 0 to skip missed runs, or how many to make up for, up to 1000"
        ),
    );
    check_refused(
        "name = ''\nzone = 'UTC'\nseconds = [0]",
        "the recurring job \"\" is not valid: it has no name; give the name that workers know the job by",
    );
    check_refused(
        "name = 'x'\nzone = 'UTC'\nseconds = [0]\nqueue = ''",
        &format!("{not_valid}the queue name is empty; give 1 to 256 bytes"),
    );
}

#[test]
fn words_that_nobody_knows_are_refused() {
    let error = read("name = 'x'\nzone = 'UTC'\nsecond = [0]").expect_err("a misspelt filter");
    assert!(error.starts_with("unknown field `second`, expected one of"), "{error}");
    let error = read("name = 'x'\nzone = 'UTC'\nseconds = [0]\ndays_of_week = ['monday']")
        .expect_err("no such day");
    assert!(error.starts_with("unknown variant `monday`, expected one of `mon`"), "{error}");
    let error = read("zone = 'UTC'\nseconds = [0]").expect_err("no name");
    assert_eq!(error, "missing field `name`");
}

#[test]
fn a_date_of_toml_is_no_argument() {
    let error = read("name = 'x'\nzone = 'UTC'\nseconds = [0]\nkwargs = { since = 2022-01-01 }")
        .expect_err("a date");
    assert!(error.contains("a date is no JSON value; write it between quotes"), "{error}");
}

#[test]
fn zones_periods_and_moments_that_make_no_sense_are_refused() {
    let not_valid = "the recurring job \"x\" is not valid: ";
    for (toml, message) in [
        ("seconds = [0]", "\"zone\" is missing; give a name such as \"Europe/Berlin\" or \"UTC\""),
        (
            "cron = '* * * * *'",
            "\"zone\" is missing; give a name such as \"Europe/Berlin\" or \"UTC\"",
        ),
        (
            "every = '5m'\nzone = 'UTC'",
            "\"zone\" is \"UTC\", but \"every\" counts time and follows no clock; leave the zone out",
        ),
        (
            "every = '0s'",
            "\"every\" is \"0s\"; use whole seconds from 1s to 366d, such as \"30s\", \"10m\", \"1h30m\" or \"7d\"",
        ),
        (
            "at = 'tomorrow'",
            "\"at\" is \"tomorrow\"; write a time such as \"2030-12-24T18:00:00Z\", or \"2030-12-24T18:00:00\" with a \"zone\"",
        ),
        (
            "at = '2030-12-24T18:00:00'",
            "\"zone\" is missing; give a name such as \"Europe/Berlin\" or \"UTC\"",
        ),
        (
            "at = '2030-12-24T18:00:00'\nzone = 'Mars'",
            "there is no time zone \"Mars\"; use a name such as \"Europe/Berlin\" or \"UTC\"",
        ),
        (
            "cron = '* * * * *'\nzone = 'UTC'\nfrom = '2030-12-24T18:00:00Z'",
            "\"from\" says when \"every\" begins; give \"every\" too, or leave it out",
        ),
    ] {
        check_refused(&format!("name = 'x'\n{toml}"), &format!("{not_valid}{message}"));
    }
}

#[test]
fn a_moment_is_read_with_its_offset_or_in_its_zone() {
    let schedule = |toml: &str| {
        read(&format!("name = 'x'\n{toml}")).expect("a good definition").schedule().to_string()
    };
    assert_eq!(schedule("at = '2030-12-24T18:00:00+01:00'"), "once at 2030-12-24T17:00:00Z");
    let berlin = "at = '2030-12-24T18:00:00'\nzone = 'Europe/Berlin'";
    assert_eq!(schedule(berlin), "once at 2030-12-24T17:00:00Z");
    assert_eq!(schedule("every = '90m'"), "every 1h30m");
}
