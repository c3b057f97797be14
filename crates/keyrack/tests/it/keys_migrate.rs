//! `keyrack keys migrate`: nothing is lost, nothing is overwritten, and what was stopped goes on.

use std::fs;

use keyrack_testkit::{Process, RedisCluster, RedisServer, wait_for};
use redis::Commands as _;
use tempfile::TempDir;

use crate::program::{Run, keyrack};

const SHOP: &str = r#"
[document]
name = "shop"
owner = "checkout"
[parts]
order = { type = "text", escape = "percent" }
[keys.order]
template = "order:<order>"
type = "hash"
ttl = "sometimes"
fields.at = "unix-seconds"
fields.paid = { is = "enum", words = ["0", "1", "false", "true"] }
"#;

const PLAN: &str = r#"
[[step]]
keys = "order"
field = "paid"
encode = { 0 = "false", 1 = "true" }

[[step]]
keys = "order"
field = "at"
encode = "unix-seconds to unix-ms"

[[step]]
keys = "order"
ttl = "30d"

[[step]]
keys = "shop.order"
rename = "shop:orders:<order>:v2"
"#;

const ORDERS: u32 = 300;

fn folder() -> TempDir {
    let dir = TempDir::new().expect("a folder");
    fs::write(dir.path().join("shop.keys.toml"), SHOP).expect("written");
    fs::write(dir.path().join("plan.toml"), PLAN).expect("written");
    dir
}

/// Every third order expires already; one has a name that has to be coded.
fn seed(redis: &mut impl redis::Commands) {
    for n in 0..ORDERS {
        let name = format!("order:{}", if n == 7 { "a%3Ab".to_owned() } else { n.to_string() });
        let paid = n % 2;
        let _: () = redis
            .hset_multiple(&name, &[("at", "1667950000.25"), ("paid", &paid.to_string())])
            .unwrap();
        if n % 3 == 0 {
            let _: () = redis.expire(&name, 500).unwrap();
        }
    }
}

fn migrate(dir: &TempDir, store: &str, more: &str) -> Run {
    let line = format!("keys migrate plan.toml --keys shop.keys.toml --store {store} {more}");
    Run::line_in(dir.path(), &line)
}

#[track_caller]
fn check(redis: &mut impl redis::Commands) {
    for n in 0..ORDERS {
        let id = if n == 7 { "a%3Ab".to_owned() } else { n.to_string() };
        let name = format!("shop:orders:{id}:v2");
        let at: Option<String> = redis.hget(&name, "at").unwrap();
        let paid: Option<String> = redis.hget(&name, "paid").unwrap();
        assert_eq!(at.as_deref(), Some("1667950000250"), "{name}");
        assert_eq!(paid.as_deref(), Some(if n % 2 == 1 { "true" } else { "false" }), "{name}");
        let ttl: i64 = redis.ttl(&name).unwrap();
        assert!(ttl > 0 && (ttl <= 500) == (n % 3 == 0), "{name} expires in {ttl} s");
        assert!(!redis.exists::<_, bool>(format!("order:{id}")).unwrap(), "{name}");
    }
}

#[test]
fn a_migration_that_was_stopped_goes_on() {
    let dir = folder();
    let server = RedisServer::start();
    let mut redis = server.connection();
    seed(&mut redis);
    let _: () = redis.set("shop:orders:5:v2", "of somebody else").unwrap();

    let dry = migrate(&dir, &server.url(), "");
    assert_eq!(dry.code, Some(10), "{dry:?}");
    assert!(dry.stdout.contains("300 keys, 200 to change\n"), "{}", dry.stdout);
    assert!(
        dry.stdout.contains("300 to change, 1 whose new name or member is taken\n"),
        "{}",
        dry.stdout
    );
    let names: Vec<String> = redis.keys("shop:*").unwrap();
    assert_eq!(names, ["shop:orders:5:v2"], "a dry run changes nothing");

    let mut command = keyrack(dir.path());
    let line = format!(
        "keys migrate plan.toml --keys shop.keys.toml --store {} --apply --pace 400",
        server.url()
    );
    command.args(line.split(' '));
    let process = Process::spawn("keyrack keys migrate", command);
    wait_for("some orders to be renamed", || {
        let names: Vec<String> = redis.keys("shop:*").unwrap();
        (names.len() > 20).then_some(())
    });
    drop(process);
    let left: Vec<String> = redis.keys("order:*").unwrap();
    assert!(!left.is_empty(), "it was to be stopped halfway");

    let taken = migrate(&dir, &server.url(), "--apply");
    assert_eq!(taken.code, Some(10), "{taken:?}");
    let value: String = redis.get("shop:orders:5:v2").unwrap();
    assert_eq!(value, "of somebody else", "nothing is overwritten");
    let _: () = redis.del("shop:orders:5:v2").unwrap();
    let rest = migrate(&dir, &server.url(), "--apply --json");
    assert_eq!(rest.code, Some(0), "{rest:?}");
    let rest: serde_json::Value = serde_json::from_str(&rest.stdout).unwrap();
    assert_eq!(rest["steps"][3]["done"], 1, "{rest}");
    check(&mut redis);
    assert_eq!(migrate(&dir, &server.url(), "").code, Some(0), "nothing is left to do");
}

#[test]
fn keys_of_a_cluster_move_between_nodes() {
    let dir = folder();
    let cluster = RedisCluster::start();
    let nodes: Vec<String> = cluster.nodes().iter().map(RedisServer::url).collect();
    let client = redis::cluster::ClusterClient::new(nodes).unwrap();
    let mut redis = client.get_connection().unwrap();
    seed(&mut redis);
    let run = migrate(&dir, &cluster.url(), "--apply");
    assert_eq!(run.code, Some(0), "{run:?}");
    check(&mut redis);
}

/// A family of each type whose values can be written in another way.
const KINDS: &str = r#"
[document]
name = "shop"
owner = "checkout"
[parts]
id = "integer"
[keys.text]
template = "text:<id>"
type = "string"
value = "text"
[keys.line]
template = "line:<id>"
type = "list"
item = "text"
[keys.tags]
template = "tags:<id>"
type = "set"
member = "text"
[keys.ranks]
template = "ranks:<id>"
type = "sorted-set"
member = "text"
score = "number"
[keys.prices]
template = "prices:<id>"
type = "map"
field = "text"
value = "text"
[keys.events]
template = "events:<id>"
type = "stream"
fields.at = "text"
"#;

/// Members of each collection: more than are read at once.
const MEMBERS: u32 = 700;

#[test]
fn values_of_every_type_get_their_new_form_and_keep_the_ttl() {
    let dir = folder();
    fs::write(dir.path().join("shop.keys.toml"), KINDS).unwrap();
    let step = |keys: &str, more: &str| format!("[[step]]\nkeys = \"{keys}\"\n{more}\n");
    let to_ms = "encode = \"unix-seconds to unix-ms\"";
    let plan = [
        step("text", "encode = \"iso-time to unix-ms\""),
        step("line", to_ms),
        step("tags", to_ms),
        step("ranks", &format!("place = \"score\"\n{to_ms}")),
        step("ranks", "place = \"member\"\nencode = { m7 = \"seven\", m8 = \"m9\" }"),
        step("prices", &format!("place = \"value\"\n{to_ms}")),
        step("prices", "place = \"field\"\nencode = { f7 = \"seven\", f8 = \"f9\" }"),
    ];
    fs::write(dir.path().join("plan.toml"), plan.concat()).unwrap();
    let server = RedisServer::start();
    let mut redis = server.connection();
    let at = |n: u32| 1_667_950_000 + u64::from(n);
    let _: () = redis.set("text:1", "2022-11-09T01:26:40+02:00").unwrap();
    let _: () = redis.set("text:2", "2022-11-09T01:26:40").unwrap();
    let _: () = redis.rpush("tags:2", "of another type").unwrap();
    for n in 0..MEMBERS {
        let _: () = redis.rpush("line:1", at(n)).unwrap();
        let _: () = redis.sadd("tags:1", at(n)).unwrap();
        let _: () = redis.zadd("ranks:1", format!("m{n}"), at(n) as f64 + 0.1).unwrap();
        let _: () = redis.hset("prices:1", format!("f{n}"), at(n)).unwrap();
    }
    // A set of one member must not be gone in between, and its TTL with it.
    let _: () = redis.sadd("tags:3", at(0)).unwrap();
    for name in ["text:1", "line:1", "tags:1", "tags:3", "ranks:1", "prices:1"] {
        let _: () = redis.expire(name, 500).unwrap();
    }

    let dry = migrate(&dir, &server.url(), "");
    assert_eq!(dry.code, Some(10), "{dry:?}");
    let first: String = redis.lindex("line:1", 0).unwrap();
    assert_eq!(first, at(0).to_string(), "a dry run changes nothing");
    let run = migrate(&dir, &server.url(), "--apply");
    let words = run.stdout.replace(['\n'], " ");
    assert!(
        words.contains("shop.tags: member by unix-seconds to unix-ms   3 keys, 2 changed, 0 left")
    );
    assert!(words.contains("1 with another form or type"), "{words}");
    // "m8" and "f8" are to become members that are others.
    assert_eq!(words.matches("1 changed, 1 left, 1 whose new name or member is taken").count(), 2);
    assert_eq!(run.code, Some(10), "{run:?}");

    let text: [String; 2] = [redis.get("text:1").unwrap(), redis.get("text:2").unwrap()];
    assert_eq!(text, ["1667950000000", "2022-11-09T01:26:40"]);
    let line: Vec<u64> = redis.lrange("line:1", 0, -1).unwrap();
    let expected: Vec<u64> = (0..MEMBERS).map(|n| at(n) * 1_000).collect();
    assert_eq!(line, expected);
    let mut tags: Vec<u64> = redis.smembers("tags:1").unwrap();
    tags.sort_unstable();
    assert_eq!(tags, expected);
    let ranks: Vec<(String, f64)> = redis.zrange_withscores("ranks:1", 0, -1).unwrap();
    let prices: Vec<(String, String)> = redis.hgetall("prices:1").unwrap();
    assert_eq!((ranks.len(), prices.len()), (MEMBERS as usize, MEMBERS as usize));
    for n in 0..MEMBERS {
        let (member, field) = if n == 7 {
            ("seven".into(), "seven".into())
        } else {
            (format!("m{n}"), format!("f{n}"))
        };
        assert!(ranks.contains(&(member, (at(n) * 1_000 + 100) as f64)), "{n}");
        assert!(prices.contains(&(field, (at(n) * 1_000).to_string())), "{n}");
    }
    for name in ["text:1", "line:1", "tags:1", "tags:3", "ranks:1", "prices:1"] {
        let ttl: i64 = redis.ttl(name).unwrap();
        assert!((1..=500).contains(&ttl), "{name} expires in {ttl} s");
    }
}

#[test]
fn a_step_says_which_values_it_means() {
    let dir = folder();
    fs::write(dir.path().join("shop.keys.toml"), KINDS).unwrap();
    let error = |keys: &str, more: &str| {
        let plan = format!("[[step]]\nkeys = \"{keys}\"\n{more}\n");
        fs::write(dir.path().join("plan.toml"), plan).unwrap();
        let run = migrate(&dir, "redis://127.0.0.1:1", "");
        assert_eq!(run.code, Some(2), "{run:?}");
        run.failure().0.strip_prefix("error: step 1: ").expect("an error of the step").to_owned()
    };
    let words = "encode = { a = \"b\" }";
    assert_eq!(error("ranks", words), "encode: give the \"place\" in shop.ranks: member or score");
    assert_eq!(
        error("tags", &format!("{words}\nplace = \"score\"")),
        "encode: give the \"place\" in shop.tags: member"
    );
    assert_eq!(
        error("tags", &format!("{words}\nfield = \"x\"")),
        "encode: \"field\" is for hashes; shop.tags is a set"
    );
    assert_eq!(
        error("events", &format!("{words}\nfield = \"at\"")),
        "encode: shop.events is a stream, whose content cannot be changed in place"
    );
    assert_eq!(
        error("ranks", &format!("{words}\nplace = \"score\"")),
        "encode: a score is a number"
    );
    assert_eq!(
        error("tags", "encode = \"json to msgpack\""),
        "encode: \"json to msgpack\" is neither \"A to B\", with two of \"unix-seconds\", \"unix-ms\", \"iso-time\", \
         nor a table of words"
    );
    assert_eq!(
        error("tags", "ttl = \"1d\"\nplace = \"member\""),
        "\"field\" and \"place\" go with \"encode\" only"
    );
}

#[test]
fn plans_that_cannot_be_told_from_their_results_are_refused() {
    let dir = folder();
    let error = |plan: &str| {
        fs::write(dir.path().join("plan.toml"), plan).unwrap();
        let run = migrate(&dir, "redis://127.0.0.1:1", "");
        assert_eq!(run.code, Some(2), "{run:?}");
        run.failure().0.to_owned()
    };
    let step = |more: &str| format!("[[step]]\nkeys = \"order\"\n{more}\n");
    assert_eq!(
        error(&step("field = \"paid\"\nencode = { 0 = \"1\", 1 = \"0\" }")),
        "error: step 1: encode: \"1\" is an old word and a new one; take two steps"
    );
    assert_eq!(
        error(&step("rename = \"orders\"")),
        "error: step 1: rename: \"orders\" has to have <order> once"
    );
    assert_eq!(
        error(&step("encode = \"unix-seconds to unix-ms\"")),
        "error: step 1: encode: give a \"field\" of shop.order: at, paid"
    );
    assert_eq!(
        error(&step("ttl = \"1d\"\nrename = \"x:<order>\"")),
        "error: step 1: give one of \"rename\", \"ttl\" and \"encode\""
    );
    let server = RedisServer::start();
    let _: () = server.connection().hset("order:1", "paid", "0").unwrap();
    fs::write(dir.path().join("plan.toml"), step("rename = \"order:x<order>\"")).unwrap();
    let run = migrate(&dir, &server.url(), "--apply");
    let error = "error: \"order:1\" would become \"order:x1\", a name of the same keys";
    assert_eq!((run.code, run.failure().0), (Some(2), error));
}
