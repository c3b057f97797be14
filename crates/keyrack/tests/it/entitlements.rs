//! `keyrack entitlements`, and several servers that ask and sell together.

mod others;

use std::thread;

use keyrack_testkit::RedisServer;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use self::others::Others;
use crate::{
    program::{Run, Serve},
    world::World,
};

const PRO: &str = "/api/1/users/me/entitlements/pro";
const START: &str = "/api/1/users/me/checkout/stripe/start";

/// Two servers on one Redis, and those whom they ask.
struct Shops {
    others: Others,
    serves: [Serve; 2],
    /// Alice's.
    token: String,
    _redis: RedisServer,
    _dir: TempDir,
}

impl Shops {
    fn open() -> Shops {
        let (others, redis) = (Others::start(), RedisServer::start());
        let dir = TempDir::new().expect("a folder");
        let serve = || {
            let store = format!("--store {}", redis.url());
            Serve::start_with(dir.path(), &store, &settings(&others))
        };
        let serves = [serve(), serve()];
        let (_, body) = serves[0].post("/api/1/test/dev_login?sub=alice", "");
        let body: Json = serde_json::from_str(&body).expect("JSON");
        let token = body["id"].as_str().expect("a token").to_owned();
        Shops { others, serves, token, _redis: redis, _dir: dir }
    }

    /// Sends the same request many times at once, in turns to both; the status of each answer.
    fn send(&self, n_requests: usize, method: &str, path: &str, body: &Json) -> Vec<String> {
        let body = body.to_string();
        let send = |n: usize| {
            let serve = &self.serves[n % 2];
            let (head, body) = serve.send_as(Some(&self.token), method, path, &body);
            let status = head.split(' ').nth(1).unwrap_or_default();
            if status == "200" { status.to_owned() } else { format!("{status} {body}") }
        };
        thread::scope(|scope| {
            let sending: Vec<_> = (0..n_requests).map(|n| scope.spawn(move || send(n))).collect();
            sending.into_iter().map(|sent| sent.join().expect("an answer")).collect()
        })
    }
}

/// The settings of a server that asks and sells.
fn settings(others: &Others) -> [(&str, &str); 10] {
    [
        ("KEYRACK_REVENUE_CAT_URL", &others.url),
        ("KEYRACK_REVENUE_CAT_KEY", "sk_cat"),
        ("KEYRACK_REVENUE_CAT_STRIPE_KEY", "pk_cat"),
        ("KEYRACK_STRIPE_URL", &others.url),
        ("KEYRACK_STRIPE_KEY", "sk_till"),
        ("KEYRACK_STRIPE_PRICE", "price"),
        ("KEYRACK_FRONTEND_URL", "https://www.example.com"),
        ("KEYRACK_AUTH_ISSUER", "https://id.example.com"),
        ("KEYRACK_AUTH_CLIENT_ID", "keyrack"),
        ("KEYRACK_AUTH_DEV_SECRET", "a secret that is long enough for this"),
    ]
}

#[test]
fn a_hundred_readers_of_two_servers_are_one_request() {
    let shops = Shops::open();
    let answers = shops.send(100, "GET", PRO, &json!({}));
    assert!(answers.iter().all(|answer| answer == "200"), "{answers:?}");
    assert_eq!(shops.others.asked(), 1);
}

#[test]
fn a_hundred_starts_at_two_servers_create_one_session() {
    let shops = Shops::open();
    let body = json!({"cancel_path": "/admin", "success_path": "/admin"});
    let answers = shops.send(100, "POST", START, &body);
    let started = answers.iter().filter(|answer| *answer == "200").count();
    let limited = answers.iter().filter(|answer| answer.starts_with("429 ")).count();
    assert_eq!((started, limited), (1, 99), "{answers:?}");
    assert_eq!((shops.others.sessions(), shops.others.customers()), (1, 1));
}

/// Runs `keyrack entitlements` with RevenueCat at an address.
fn run(world: &World, others: &Others, line: &str) -> Run {
    let mut command = world.keyrack(&format!("entitlements {line}"));
    command.envs(settings(others));
    Run::of(command)
}

#[test]
fn what_is_asked_is_printed_remembered_and_forgotten() {
    let (world, others) = (World::new(), Others::start());
    let asked = run(&world, &others, "check alice --json");
    assert_eq!((asked.code, &*asked.stderr), (Some(0), ""), "{asked:?}");
    let found: Json = serde_json::from_str(&asked.stdout).expect("JSON");
    assert_eq!((&found["origin"], &found["is_active"]), (&json!("source"), &json!(false)));
    assert_eq!((&found["user_sub"], &found["identifier"]), (&json!("alice"), &json!("pro")));
    let again = run(&world, &others, "check alice pro");
    assert!(again.stdout.contains("pro          inactive  -"), "{again:?}");
    assert!(again.stdout.trim_end().ends_with("the store"), "{again:?}");
    assert_eq!(others.asked(), 1);

    let shown = world.json("entitlements show alice");
    assert_eq!((&shown[0]["identifier"], &shown[0]["assumed"]), (&json!("pro"), &json!(false)));
    let purged = world.run("entitlements purge alice");
    let words = "cache of user \"alice\" deleted; the next lookup asks RevenueCat\n";
    assert_eq!((purged.code, &*purged.stderr), (Some(0), words));
    assert_eq!(world.json("entitlements show alice"), json!([]));
    run(&world, &others, "check alice --force");
    assert_eq!(others.asked(), 2);
}

#[test]
fn an_outage_is_no_failure_of_the_command_and_shows_in_the_status() {
    let (world, others) = (World::new(), Others::start());
    others.fail();
    assert_eq!(world.json("entitlements status"), json!({"breaker": "closed"}));
    for n in 0..10 {
        let asked = run(&world, &others, &format!("check user{n}"));
        assert_eq!(asked.code, Some(0), "{asked:?}");
        assert!(asked.stdout.contains("assumed"), "{asked:?}");
    }
    assert_eq!(world.json("entitlements status"), json!({"breaker": "open"}));
    run(&world, &others, "check bob --force");
    assert_eq!(others.asked(), 10, "nobody is asked any more");
}

#[test]
fn every_way_to_fail_has_its_exit_code() {
    let (world, others) = (World::new(), Others::start());
    let unset = world.run("entitlements check alice");
    assert_eq!(unset.code, Some(2));
    assert_eq!(
        unset.failure().0,
        "error: \"revenue-cat-key\" is not set: entitlements come from RevenueCat"
    );
    let unset = world.run("entitlements sweep");
    assert_eq!(unset.code, Some(2), "{unset:?}");
    let unknown = run(&world, &others, "check alice gold");
    assert_eq!(unknown.code, Some(3), "{unknown:?}");
    assert_eq!(unknown.failure().0, "error: there is no entitlement \"gold\"; there are: pro");
    let misnamed = run(&world, &others, "check");
    assert_eq!(misnamed.code, Some(2), "{misnamed:?}");
    others.forget_everybody();
    let stranger = run(&world, &others, "check stranger");
    assert_eq!(stranger.code, Some(3), "{stranger:?}");
    let away = Run::line("entitlements show alice --store redis://127.0.0.1:9");
    assert_eq!(away.code, Some(6), "{away:?}");
}

#[test]
fn a_sweep_looks_at_no_checkout_before_its_time() {
    let (world, others) = (World::new(), Others::start());
    let swept = run(&world, &others, "sweep --json");
    assert_eq!(swept.code, Some(0), "{swept:?}");
    assert_eq!(others.looks(), 0);
}
