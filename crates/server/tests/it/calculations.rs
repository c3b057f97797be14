//! Calculations over HTTP: events in, results out, and who may do what.

use keyrack_calculations::Accounts;
use keyrack_testkit::on_every_store;
use serde_json::{Value as Json, json};

use crate::site::{Answer, Site};

const ADMIN: &str = "an admin of these tests";
const EVENTS: &str = "/api/1/calculations/events";

/// A project's own view of a server.
struct Client<'a> {
    site: &'a Site,
    token: String,
}

impl Client<'_> {
    /// A new project.
    async fn new<'a>(site: &'a Site, account: &str, project: &str) -> Client<'a> {
        Accounts::open(site.store.clone()).add_admin(ADMIN).await.expect("an admin");
        let body = json!({"access_token": ADMIN, "account": account, "project": project});
        let made = site.post("/api/1.0/admin/account", body).await;
        assert_eq!(made.status, 201, "{made:?}");
        let token = made.json()["token"].as_str().expect("a token").to_owned();
        Client { site, token }
    }

    async fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        self.site.send(method, path, &[("Access-Token", &self.token)], body).await
    }

    async fn get(&self, path: &str) -> Json {
        self.send("GET", path, "").await.ok()
    }

    /// Sends one event as it was published.
    async fn event(&self, mut event: Json) -> Answer {
        event["access_token"] = self.token.as_str().into();
        self.site.post("/api/1.0/event", event).await
    }
}

/// The token of a new project.
pub(crate) async fn project_token(site: &Site, account: &str, project: &str) -> String {
    Client::new(site, account, project).await.token
}

fn event(value: &str, at: &str) -> Json {
    json!({
        "dimension": "job-skills", "key": "python", "value": value, "created_at": at, "interval": ["weeks"],
        "calculation": ["sum", "count", "average", "standard_deviation", "linear_regression"],
    })
}

#[tokio::test]
async fn raw_events_give_the_documented_numbers() {
    on_every_store(async |store| {
        let site = Site::on_store(store, Vec::new()).await;
        let client = Client::new(&site, "7", "2").await;
        let mondays = ["10-06", "10-13", "10-20", "10-27", "11-03", "11-10"];
        for (monday, sum) in mondays.iter().zip([61, 61, 102, 95, 61, 102]) {
            for (hour, value) in [(3, 20), (21, sum - 20)] {
                let at = format!("2014-{monday} {hour:02}:15:00 -0400");
                let stored = client.event(event(&value.to_string(), &at)).await;
                assert_eq!(stored.ok()["stored"], 1);
            }
        }
        let path = "/api/1.0/event/job-skills/python";
        let line = client.get(&format!("{path}/linear_regression/weeks")).await;
        assert_eq!(line["slope"], "5.6571428571428575");
        assert_eq!(line["intercept"], "60.53333333333333");
        let ci: f64 = line["ci_95"].as_str().and_then(|ci| ci.parse().ok()).expect("a number");
        assert!((ci / 13.743808674832158 - 1.0).abs() < 1e-8, "{ci}");
        let average = client.get(&format!("{path}/average/weeks")).await;
        assert_eq!(average, json!({"average": "80.33333333333333"}));
        let deviation = client.get(&format!("{path}/standard_deviation/weeks")).await;
        assert_eq!(deviation, json!({"standard_deviation": "21.33229164123411"}));
        assert_eq!(client.get(&format!("{path}/count/months")).await, json!({}));
        let sums = client.get(&format!("{path}/sum/weeks")).await;
        assert_eq!(sums["2014-W43"], "102");
    })
    .await;
}

#[tokio::test]
async fn months_are_counted_and_averaged_as_documented() {
    on_every_store(async |store| {
        let site = Site::on_store(store, Vec::new()).await;
        let client = Client::new(&site, "7", "2").await;
        // 53 events in October and 29 in November, 438 together.
        let october = (0..53).map(|n| (10, n, if n < 30 { "6" } else { "5" }));
        let november = (0..29).map(|n| (11, n, if n < 2 { "4" } else { "5" }));
        let lines = october.chain(november).map(|(month, n, value)| {
            let day = n % 28 + 1;
            let mut line = event(value, &format!("2014-{month}-{day:02} 12:00:{n:02} -0400"));
            line["interval"] = json!(["months"]);
            line.to_string()
        });
        let lines: Vec<String> = lines.collect();
        assert_eq!(client.send("POST", EVENTS, &lines.join("\n")).await.ok()["stored"], 82);
        let path = "/api/1.0/event/job-skills/python";
        let counts = client.get(&format!("{path}/count/months")).await;
        assert_eq!(counts, json!({"2014-10": "53", "2014-11": "29"}));
        let average = client.get(&format!("{path}/average/months")).await;
        assert_eq!(average, json!({"average": "219.0"}));
    })
    .await;
}

#[tokio::test]
async fn another_series_with_the_same_moments_gives_the_same_line() {
    on_every_store(async |store| {
        let site = Site::on_store(store, Vec::new()).await;
        let client = Client::new(&site, "7", "2").await;
        let mondays = ["10-06", "10-13", "10-20", "10-27", "11-03", "11-10"];
        let weeks = mondays.iter().zip(["38", "91", "93", "94", "85", "81"]);
        let lines: Vec<String> = weeks
            .map(|(monday, sum)| event(sum, &format!("2014-{monday} 03:15:00 -0400")).to_string())
            .collect();
        client.send("POST", EVENTS, &format!("[{}]", lines.join(","))).await.ok();
        let path = "/api/1.0/event/job-skills/python";
        let line = client.get(&format!("{path}/linear_regression/weeks")).await;
        assert_eq!(line["slope"], "5.6571428571428575");
        assert_eq!(line["intercept"], "60.53333333333333");
        for (name, documented) in [
            ("ci_90", 10.552952873877196),
            ("ci_95", 13.743808674832158),
            ("ci_99", 22.79094188400575),
        ] {
            let found: f64 = line[name].as_str().and_then(|ci| ci.parse().ok()).expect("a number");
            assert!((found / documented - 1.0_f64).abs() < 1e-8, "{name} {found}");
        }
        client
            .send("PUT", "/api/1/calculations/settings", r#"{"deviation": "population"}"#)
            .await
            .ok();
        let deviation = client.get(&format!("{path}/standard_deviation/weeks")).await;
        assert_eq!(deviation, json!({"standard_deviation": "19.473628891971373"}));
    })
    .await;
}

#[tokio::test]
async fn published_paths_answer_by_their_published_verbs() {
    let site = Site::start().await;
    assert_eq!(site.get("/ping").await.ok(), json!({"message": "pong"}));
    assert_eq!(site.get("/").await.status, 200);
    for path in [
        "/api/1.0/event",
        "/api/1.0/rule/comparator",
        "/api/1.0/rule/observer",
        "/api/1.0/admin/token",
        "/api/1.0/admin/account",
    ] {
        assert_eq!(site.get(path).await.status, 405, "{path}");
        let status = site.post(path, json!({})).await.status;
        assert!(status == 401 || status == 422, "{path}: {status}");
    }
    for path in ["/api/1.0/event/d/k", "/api/1.0/event/d/k/sum/weeks"] {
        site.get(path).await.problem(401, "token_missing");
        assert_eq!(site.post(path, json!({})).await.status, 405, "{path}");
    }
}

#[tokio::test]
async fn a_list_of_which_all_were_refused_says_so_in_its_status() {
    let site = Site::start().await;
    let client = Client::new(&site, "7", "2").await;
    let bad = event("many", "2014-10-06 00:00:00 Z").to_string();
    for body in [format!("[{bad}, {bad}]"), format!("{bad}\n{bad}\n")] {
        let answer = client.send("POST", EVENTS, &body).await;
        assert_eq!(answer.status, 422);
        let told = answer.json();
        assert_eq!((&told["stored"], &told["refused"]), (&0.into(), &2.into()), "{told}");
    }
    assert_eq!(client.send("POST", EVENTS, "[]").await.status, 200);
}

#[tokio::test]
async fn values_and_keys_can_be_deleted() {
    let site = Site::start().await;
    let client = Client::new(&site, "7", "2").await;
    let good = |second: u32| event("1", &format!("2014-10-06 00:00:{second:02} Z")).to_string();
    client.send("POST", EVENTS, &[good(1), good(2)].join("\n")).await.ok();
    let body: Json = serde_json::from_str(&good(1)).expect("an event");
    let path = format!(
        "/api/1/calculations/keys/{}/{}",
        body["dimension"].as_str().expect("a name"),
        body["key"].as_str().expect("a name")
    );
    let value = format!("{path}/values?at=2014-10-06T00:00:02Z");
    assert_eq!(client.send("DELETE", &value, "").await.status, 204);
    assert_eq!(client.send("DELETE", &value, "").await.status, 404);
    assert_eq!(client.send("GET", &path, "").await.ok()["values"], 1);
    assert_eq!(client.send("DELETE", &path, "").await.status, 204);
    assert_eq!(client.send("DELETE", &path, "").await.status, 404);
    assert_eq!(client.send("GET", &path, "").await.ok()["values"], 0);
}

#[tokio::test]
async fn lines_that_are_refused_do_not_keep_the_others_out() {
    let site = Site::start().await;
    let client = Client::new(&site, "7", "2").await;
    let good = |second: u32| event("1", &format!("2014-10-06 00:00:{second:02} Z")).to_string();
    let bad = event("many", "2014-10-06 00:00:00 Z").to_string();
    let body = [&good(1), "", "{oops", &bad, &good(2), r#"{"dimension": "d"}"#].join("\n");
    let told = client.send("POST", EVENTS, &body).await.ok();
    assert_eq!((&told["stored"], &told["refused"]), (&2.into(), &3.into()), "{told}");
    let errors = told["errors"].as_array().expect("errors");
    let lines: Vec<&Json> = errors.iter().map(|error| &error["line"]).collect();
    assert_eq!(lines, [3, 4, 6]);
    assert_eq!(errors[1]["field"], "value");

    let list = format!("[{}, {bad}, {}]", good(3), good(4));
    let told = client.send("POST", EVENTS, &list).await.ok();
    assert_eq!((&told["stored"], &told["errors"][0]["line"]), (&2.into(), &2.into()), "{told}");
    let counts = client.get("/api/1.0/event/job-skills/python/count/weeks").await;
    assert_eq!(counts, json!({"2014-W41": "4"}));
    let nothing = client.send("POST", EVENTS, "").await.ok();
    assert_eq!(nothing["stored"], 0);
    client.send("POST", EVENTS, "[1, 2").await.problem(400, "bad_json");
}

#[tokio::test]
async fn many_megabytes_of_lines_are_stored_while_they_arrive() {
    let site = Site::start().await;
    let client = Client::new(&site, "7", "2").await;
    let lines: String = (0..12_000)
        .map(|n| {
            let at = format!("2014-10-06 {:02}:{:02}:{:02} Z", n / 3600, n / 60 % 60, n % 60);
            event("1", &at).to_string() + "\n"
        })
        .collect();
    assert!(lines.len() > 2 << 20);
    let told = client.send("POST", EVENTS, &lines).await.ok();
    assert_eq!((&told["stored"], &told["refused"]), (&12_000.into(), &0.into()));
}

#[tokio::test]
async fn refusals_name_the_field_and_change_nothing() {
    let site = Site::start().await;
    let client = Client::new(&site, "7", "2").await;
    let at = "2014-10-06 00:00:00 Z";
    for (field, value) in [
        ("dimension", json!("a:b")),
        ("key", json!("")),
        ("value", json!("seven")),
        ("created_at", json!("yesterday")),
        ("interval", json!(["fortnights"])),
        ("calculation", json!(["percentage"])),
        ("calculation", json!([])),
    ] {
        let mut wrong = event("1", at);
        wrong[field] = value;
        let refused = client.event(wrong).await;
        refused.problem(422, "invalid");
        assert_eq!(refused.field().as_deref(), Some(field));
    }
    let mut missing = event("1", at);
    missing.as_object_mut().expect("an object").remove("key");
    client.event(missing).await.problem(422, "invalid");
    let mut unknown = event("1", at);
    unknown["colour"] = "red".into();
    client.event(unknown).await.problem(422, "invalid");
    let shown = client.get("/api/1/calculations/keys/job-skills/python").await;
    assert_eq!((&shown["values"], &shown["calculations"]), (&0.into(), &json!({})));
    let path = "/api/1.0/event/job-skills/python";
    let refused = client.send("GET", &format!("{path}/percentage/weeks"), "").await;
    assert_eq!(refused.field().as_deref(), Some("calculation"));
    let refused = client.send("GET", &format!("{path}/sum/fortnights"), "").await;
    assert_eq!(refused.field().as_deref(), Some("interval"));
}

#[tokio::test]
async fn nobody_reads_or_changes_what_is_anothers() {
    on_every_store(async |store| {
        let site = Site::on_store(store, Vec::new()).await;
        let (a, b) = (Client::new(&site, "a", "2").await, Client::new(&site, "b", "2").await);
        assert_eq!(a.event(event("5", "2014-10-06 00:00:00 Z")).await.status, 200);
        let path = "/api/1.0/event/job-skills/python/sum/weeks";
        assert_eq!(b.get(path).await, json!({}));
        assert_eq!(a.get(path).await, json!({"2014-W41": "5"}));
        site.get(path).await.problem(401, "token_missing");
        let wrong = site.send("GET", path, &[("Access-Token", "nobody knows this one")], "").await;
        wrong.problem(401, "token_unknown");
        let by_query = site.get(&format!("{path}?access_token={}", a.token)).await;
        assert_eq!(by_query.ok(), json!({"2014-W41": "5"}));
    })
    .await;
}

#[tokio::test]
async fn only_admins_make_and_delete_tokens() {
    let site = Site::start().await;
    let client = Client::new(&site, "7", "2").await;
    let body = |admin: &str| json!({"access_token": admin, "account": "7", "project": "3"});
    let refused = site.post("/api/1.0/admin/account", body(&client.token)).await;
    refused.problem(403, "not_admin");
    let mut own = body(ADMIN);
    own["token"] = "a token of one's own".into();
    assert_eq!(site.post("/api/1.0/admin/token", own.clone()).await.status, 201);
    site.post("/api/1.0/admin/token", own.clone()).await.problem(409, "token_exists");
    own["token"] = "short".into();
    own["project"] = "4".into();
    assert_eq!(site.post("/api/1.0/admin/token", own).await.field().as_deref(), Some("token"));
    let gone = site.send("DELETE", "/api/1.0/admin/token", &[], &body(ADMIN).to_string()).await;
    assert_eq!(gone.status, 204, "{gone:?}");
    let path = "/api/1/calculations/rules";
    let unknown = site.send("GET", path, &[("Access-Token", "a token of one's own")], "").await;
    unknown.problem(401, "token_unknown");
}

#[tokio::test]
async fn rules_are_made_by_those_who_have_the_token_and_tell_in_order() {
    let site = Site::start().await;
    let client = Client::new(&site, "7", "2").await;
    let rule = json!({
        "account": "7", "project": "2", "dimension": "job-skills", "key": "python", "interval": "weeks",
        "calculation": "sum", "threshold": "10", "operator": ">=",
    });
    let path = "/api/1.0/rule/comparator";
    site.post(path, rule.clone()).await.problem(401, "token_missing");
    let mut foreign = rule.clone();
    foreign["account"] = "8".into();
    let refused = client.send("POST", path, &foreign.to_string()).await;
    assert_eq!(refused.field().as_deref(), Some("account"));
    let made = client.send("POST", path, &rule.to_string()).await;
    assert_eq!((made.status, made.json()), (201, json!({"number": 1})));
    let rules = client.get("/api/1/calculations/rules").await;
    assert_eq!((&rules[0]["type"], &rules[0]["threshold"]), (&"comparator".into(), &"10".into()));

    let lines: Vec<String> = (0..11)
        .map(|week| {
            let monday =
                jiff::civil::date(2014, 10, 6).saturating_add(jiff::Span::new().weeks(week));
            event("11", &format!("{monday} 00:00:00 Z")).to_string()
        })
        .collect();
    client.send("POST", EVENTS, &lines.join("\n")).await.ok();
    let said = client.get("/api/1.0/event/job-skills/python").await;
    let numbers: Vec<&str> = said
        .as_array()
        .expect("events")
        .iter()
        .filter_map(|event| event["number"].as_str())
        .collect();
    assert_eq!(numbers, ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"]);
    assert_eq!(said[0]["calculated_value"], "11");

    assert_eq!(client.send("DELETE", "/api/1/calculations/rules/1", "").await.status, 204);
    client.send("DELETE", "/api/1/calculations/rules/1", "").await.problem(404, "not_there");
}

#[tokio::test]
async fn series_trends_and_settings_are_told() {
    let site = Site::start().await;
    let client = Client::new(&site, "7", "2").await;
    for (at, value) in [("10-06", "1"), ("10-13", "5"), ("10-27", "9")] {
        client.event(event(value, &format!("2014-{at} 00:00:00 Z"))).await.ok();
    }
    let path = "/api/1/calculations/keys/job-skills/python";
    let series = client.get(&format!("{path}/sum/weeks/series?points=3")).await;
    assert_eq!(
        series,
        json!([
            {"bucket": "2014-W42", "value": "5"},
            {"bucket": "2014-W43", "value": null},
            {"bucket": "2014-W44", "value": "9"},
        ])
    );
    let trend = client.get(&format!("{path}/trend/weeks")).await;
    assert_eq!((&trend["direction"], &trend["slope"]), (&"rising".into(), &4.0.into()), "{trend}");
    assert_eq!(client.get(&format!("{path}/trend/weeks?open=false")).await["buckets"], 2);
    assert_eq!(client.get(&format!("{path}/trend/days")).await, json!(null));

    let settings = "/api/1/calculations/settings";
    assert_eq!(client.get(settings).await["gaps"], "skip");
    let changed = client.send("PUT", settings, r#"{"gaps": "calendar"}"#).await.ok();
    assert_eq!((&changed["gaps"], &changed["zone"]), (&"calendar".into(), &"event".into()));
    assert_eq!(
        client.get("/api/1.0/event/job-skills/python/average/weeks").await,
        json!({"average": "3.75"})
    );
    let refused = client.send("PUT", settings, r#"{"gaps": "none"}"#).await;
    assert_eq!(refused.field().as_deref(), Some("gaps"));
}

#[tokio::test]
async fn results_are_streamed_as_they_change() {
    on_every_store(async |store| {
        let site = Site::on_store(store, Vec::new()).await;
        let client = Client::new(&site, "7", "2").await;
        let path =
            "/api/1/calculations/live/events?dimension=job-skills&calculation=sum&interval=weeks";
        let mut events = site.stream(path, &[("Access-Token", &client.token)]).await;
        client.event(event("5", "2014-10-06 00:00:00 Z")).await.ok();
        let first = events.next().await;
        assert_eq!((first.kind.as_str(), &first.data["key"]), ("changed", &"python".into()));
        assert_eq!(first.data["result"], json!({"2014-W41": "5"}));
        // An event that changes nothing is not told.
        client.event(event("5", "2014-10-06 00:00:00 Z")).await.ok();
        client.event(event("6", "2014-10-06 00:00:00 Z")).await.ok();
        let second = events.next().await;
        assert_eq!(second.data["result"], json!({"2014-W41": "6"}));
        assert_eq!(second.data["version"], 2);
        drop(events);
        site.stop().await;
    })
    .await;
}
