//! Changes of jobs that wait, and recurring jobs, that make no sense.

use super::{
    Case,
    Door::{Change, ChangeMany, Recurring},
    case,
};

pub(super) fn cases() -> Vec<Case> {
    [changes(), options(), schedules(), definitions()].into_iter().flatten().collect()
}

fn changes() -> Vec<Case> {
    vec![
        case("a negative delay")
            .http(Change, r#"{"delay": -1}"#, "delay", &["delay: -1 ms", "0 to 315360000000"])
            .cli("jobs change waits --delay -1s", &["--delay", "'-1s'", "such as 5s"]),
        case("a huge delay")
            .http(Change, r#"{"delay": 1e300}"#, "delay", &["000 ms", "0 to 315360000000"])
            .cli("jobs change waits --delay 9999d", &["--delay", "'9999d'", "at most 3650d"]),
        case("a time without end").http(
            Change,
            r#"{"at": 18446744073709551615}"#,
            "at",
            &["at: 18446744073709551615", "315360000000 ms from now"],
        ),
        case("a negative time").http(
            Change,
            r#"{"at": -1}"#,
            "at",
            &["-1", "a whole number of at least 0"],
        ),
        case("now and later")
            .http(
                Change,
                r#"{"runNow": true, "delay": 5}"#,
                "delay",
                &["runNow, delay and at", "give one"],
            )
            .cli("jobs change waits --run-now --delay 5s", &["--run-now", "--delay"]),
        case("a priority of 11")
            .http(Change, r#"{"priority": 11}"#, "priority", &["priority: 11", "at most 10"])
            .cli("jobs change waits --priority 11", &["--priority", "'11'", "at most 10"]),
        case("data that is no list")
            .http(Change, r#"{"data": {"a": 1}}"#, "data", &["data: ", "a JSON list"])
            .cli("jobs change waits --args {}", &["data: ", "a JSON list"]),
        case("a queue of another group")
            .cli("jobs change waits --move-to=", &["--move-to", "empty", "1 to 256 bytes"])
            .http(Change, r#"{"queue": ""}"#, "queue", &["queue: ", "empty", "1 to 256 bytes"]),
        case("an unknown field")
            .http(
                Change,
                r#"{"prioritty": 3}"#,
                "prioritty",
                &["unknown field `prioritty`", "`priority`"],
            )
            .cli("jobs change waits --prioritty 3", &["--prioritty", "--priority"]),
        case("no change")
            .http(Change, "{}", "change", &["nothing is named", "priority, delay"])
            .cli("jobs change waits", &["nothing is to be changed", "--priority"]),
        case("no change of many")
            .http(
                ChangeMany,
                r#"{"place": "delayed", "change": {}}"#,
                "change",
                &["nothing is named"],
            )
            .cli("jobs change --queue q --yes", &["nothing is to be changed", "--priority"]),
        case("a bad change of many")
            .http(
                ChangeMany,
                r#"{"place": "delayed", "change": {"timeout": 0}}"#,
                "timeout",
                &["timeout: 0 ms", "1 to 315360000000"],
            )
            .cli(
                "jobs change --queue q --yes --timeout 0",
                &["timeout: 0 ms", "1 to 315360000000"],
            ),
        case("a change of jobs that run")
            .http(
                ChangeMany,
                r#"{"place": "running", "change": {"timeout": 1}}"#,
                "place",
                &["\"running\""],
            )
            .cli("jobs change --queue q --yes --in running --timeout 1s", &["running"]),
    ]
}

fn options() -> Vec<Case> {
    vec![
        case("a cap below the job's own first wait")
            .http(
                Change,
                r#"{"retryDelayMax": 19999}"#,
                "retryDelayMax",
                &["19999 ms", "the first wait, 20000 ms"],
            )
            .cli(
                "jobs change waits --retry-delay-max 19s",
                &["retryDelayMax: 19000 ms", "the first wait, 20000 ms"],
            ),
        case("a cap below a new first wait")
            .http(
                Change,
                r#"{"retryDelay": 9, "retryDelayMax": 8}"#,
                "retryDelayMax",
                &["8 ms", "the first wait, 9 ms"],
            )
            .cli(
                "jobs change waits --retry-delay 9s --retry-delay-max 8s",
                &["8000 ms", "the first wait, 9000 ms"],
            ),
        case("more chance than there is")
            .http(
                Change,
                r#"{"retryJitter": 2}"#,
                "retryJitter",
                &["retryJitter: 2", "from 0 to 1"],
            )
            .cli("jobs change waits --retry-jitter 2", &["--retry-jitter", "'2'", "from 0 to 1"]),
        case("fewer retries than none")
            .http(Change, r#"{"retries": -1}"#, "retries", &["-1", "0 to 4294967295"])
            .cli("jobs change waits --retries -1", &["--retries", "'-1'", "0 to 4294967295"]),
        case("a timeout of nothing")
            .http(Change, r#"{"timeout": 0}"#, "timeout", &["timeout: 0 ms", "1 to 315360000000"])
            .cli("jobs change waits --timeout 0s", &["timeout: 0 ms", "1 to 315360000000"]),
        case("a huge timeout")
            .http(
                Change,
                r#"{"timeout": 315360000001}"#,
                "timeout",
                &["315360000001 ms", "1 to 315360000000"],
            )
            .cli("jobs change waits --timeout 3651d", &["--timeout", "'3651d'", "at most 3650d"]),
        case("a start deadline of nothing")
            .http(
                Change,
                r#"{"startWithin": 0}"#,
                "startWithin",
                &["startWithin: 0 ms", "1 to 315360000000"],
            )
            .cli(
                "jobs change waits --start-within 0s",
                &["startWithin: 0 ms", "1 to 315360000000"],
            ),
        case("a start deadline before now")
            .http(Change, r#"{"startWithin": -1}"#, "startWithin", &["-1", "a whole number"])
            .cli(
                "jobs change waits --start-within -1s",
                &["--start-within", "'-1s'", "such as 5s"],
            ),
        case("a huge ttl")
            .http(
                Change,
                r#"{"ttl": 315360000001}"#,
                "ttl",
                &["ttl: 315360000001 ms", "0 to 315360000000"],
            )
            .cli("jobs change waits --ttl 3651d", &["--ttl", "'3651d'", "at most 3650d"]),
        case("a host without a name")
            .http(
                Change,
                r#"{"preferredHostname": ""}"#,
                "preferredHostname",
                &["empty", "1 to 256 bytes"],
            )
            .cli("jobs change waits --host=", &["--host", "empty", "1 to 256 bytes"]),
    ]
}

/// The body and the line of a recurring job with this schedule.
fn recurring(name: &'static str, json: &str, line: &str) -> Case {
    let body = format!(r#"{{"name": "n", "queue": "q", {json}}}"#);
    case(name)
        .http(Recurring, body, "", &[])
        .cli(format!("recurring create n --queue q {line}"), &[])
}

impl Case {
    /// The field and words that both doors have to say.
    fn both(mut self, field: &'static str, says: &[&'static str]) -> Case {
        let http = self.http.as_mut().expect("a request");
        (http.field, http.says) = (field, says.to_vec());
        self.cli.as_mut().expect("a line").1 = says.to_vec();
        self
    }
}

fn schedules() -> Vec<Case> {
    let cron = |name, expression: &str| {
        let json = format!(r#""zone": "UTC", "cron": "{expression}""#);
        recurring(name, &json, &format!("--cron {}", expression.replace(' ', "~")))
    };
    vec![
        cron("a cron that never fires", "0 0 30 2 *")
            .both("cron", &["cron expression \"0 0 30 2 *\" never comes true", "a date that exists"]),
        cron("a cron that is none", "61 * * * *").both("cron", &["cron expression \"61 * * * *\""]),
        cron("half a cron", "* *").both("cron", &["cron expression \"* *\""]),
        recurring("an unknown zone", r#""zone": "Mars", "cron": "0 0 * * *""#, "--zone Mars --cron 0~0~*~*~*")
            .both("zone", &["time zone \"Mars\"", "\"Europe/Berlin\""]),
        recurring("no time between runs", r#""every": "0s""#, "--every 0s")
            .both("every", &["\"every\" is \"0s\"", "from 1s to 366d"]),
        recurring("a negative time between runs", r#""every": "-5m""#, "--every -5m")
            .both("every", &["\"every\" is \"-5m\"", "from 1s to 366d"]),
        recurring("a part of a second between runs", r#""every": "1.5s""#, "--every 1.5s")
            .both("every", &["\"every\" is \"1.5s\"", "whole seconds"]),
        recurring("too long between runs", r#""every": "367d""#, "--every 367d")
            .both("every", &["\"every\" is \"367d\"", "from 1s to 366d"]),
        recurring("a time that is over", r#""at": "2001-01-01T00:00:00Z""#, "--at 2001-01-01T00:00:00Z")
            .both("at", &["\"at\" is \"2001-01-01T00:00:00Z\"", "a later time"]),
        recurring("a time that is none", r#""at": "soon", "zone": "UTC""#, "--at soon")
            .both("at", &["\"at\" is \"soon\"", "such as \"2030-12-24T18:00:00Z\""]),
        recurring("a time that is too far", r#""at": "2999-01-01T00:00:00Z""#, "--at 2999-01-01T00:00:00Z")
            .both("at", &["\"at\" is \"2999-01-01T00:00:00Z\"", "within the next 100 years"]),
        case("two schedules")
            .http(Recurring, r#"{"name": "n", "every": "5m", "at": "2900-01-01T00:00:00Z"}"#, "", &["one of \"cron\"", "only one"])
            .cli("recurring create n --queue q --every 5m --at 2900-01-01T00:00:00Z", &["--every", "--at"]),
        case("hours that there are not").http(
            Recurring,
            r#"{"name": "n", "zone": "UTC", "seconds": [0], "minutes": [0], "hours": [24]}"#,
            "hours",
            &["\"hours\" has the value \"24\"", "from 0 to 23"],
        ),
        case("hours beyond all").http(
            Recurring,
            r#"{"name": "n", "zone": "UTC", "seconds": [0], "minutes": [0], "hours": [300]}"#,
            "hours",
            &["300; use numbers from 0 to 23"],
        ),
        case("a day that never comes").http(
            Recurring,
            r#"{"name": "n", "zone": "UTC", "seconds": [0], "minutes": [0], "hours": [0], "days_of_month": [30], "months": [2]}"#,
            "days_of_month",
            &["\"days_of_month\" begins with \"30\"", "a day that one of them has"],
        ),
    ]
}

fn definitions() -> Vec<Case> {
    let long = "x".repeat(257);
    let each = r#""every": "5m", "queue": "q""#;
    vec![
        case("more runs than are made up for")
            .http(
                Recurring,
                format!(r#"{{"name": "n", {each}, "catch_up": 1001}}"#),
                "catch_up",
                &["\"1001\"", "up to 1000"],
            )
            .cli(
                "recurring create n --every 5m --queue q --catch-up 1001",
                &["\"catch_up\" is \"1001\"", "up to 1000"],
            ),
        case("fewer runs than none")
            .http(
                Recurring,
                format!(r#"{{"name": "n", {each}, "catch_up": -1}}"#),
                "catch_up",
                &["-1", "a whole number"],
            )
            .cli(
                "recurring create n --every 5m --queue q --catch-up -1",
                &["--catch-up", "'-1'", "0 to 1000"],
            ),
        case("no name")
            .http(
                Recurring,
                format!(r#"{{"name": "", {each}}}"#),
                "name",
                &["no name", "give the name"],
            )
            .cli("recurring create  --every 5m --queue q", &["no name", "give the name"]),
        case("a long name")
            .http(
                Recurring,
                format!(r#"{{"name": "{long}", {each}}}"#),
                "name",
                &["257 bytes", "at most 256"],
            )
            .cli(
                format!("recurring create {long} --every 5m --queue q"),
                &["257 bytes", "at most 256"],
            ),
        case("a queue without a name")
            .http(
                Recurring,
                r#"{"name": "n", "every": "5m", "queue": ""}"#,
                "queue",
                &["queue name", "1 to 256 bytes"],
            )
            .cli("recurring create n --every 5m --queue=", &["queue name", "1 to 256 bytes"]),
        case("an unknown field")
            .http(
                Recurring,
                r#"{"name": "n", "evry": "5m"}"#,
                "evry",
                &["unknown field `evry`", "`every`"],
            )
            .cli("recurring create n --evry 5m --queue q", &["--evry", "--every"]),
        case("arguments that are no object")
            .http(
                Recurring,
                format!(r#"{{"name": "n", {each}, "kwargs": 1}}"#),
                "kwargs",
                &["`1`", "names and values, as a table"],
            )
            .cli(
                "recurring create n --every 5m --queue q --kwargs 1",
                &["--kwargs", "'1'", "no JSON object"],
            ),
    ]
}
