//! A database of another program against its keys file.

use keyrack_keys::Registry;
use keyrack_keys::file::{Source, read};
use keyrack_lint::{Options, lint};
use keyrack_store::Store;

use crate::worlds::{on_both_engines, run};

const SHOP: &str = r#"
[document]
name = "shop"
owner = "checkout"

[parts]
queue = "text"
id = "integer"
user = { type = "text", escape = "percent" }
path = "rest"

[keys.job]
template = "q:<queue>:<id>"
type = "hash"
ttl = "never"
other_fields = true
fields.name = "text"
fields.opts = { is = "json", schema = { attempts = "integer" } }

[keys.wait]
template = "q:<queue>:wait"
type = "list"
item = { is = "reference", to = "job" }
max_items = 3
ttl = "never"

[keys.queues]
template = "queues"
type = "set"
member = { is = "key", to = "wait" }
ttl = "never"

[keys.basket]
template = "basket:{<user>}"
type = "sorted-set"
score = "unix-ms"
ttl = "1h"

[keys.page]
template = "page:<path>"
type = "string"
max_bytes = 10
ttl = "only when it was rendered by a guest"

[keys.flags]
template = "flags"
type = "map"
field = { is = "id", part = "user" }
value = { is = "boolean", no = "off", yes = "on" }
ttl = "never"
database = 0
"#;

fn shop(text: &'static str) -> Registry {
    let documents = read(&[Source { name: "shop.keys.toml", text }])
        .unwrap_or_else(|errors| panic!("{}", errors[0]));
    Registry::new(&[&documents[0].families])
}

async fn found(store: &Store, registry: &Registry) -> Vec<String> {
    let report = lint(store, registry, &Options::default(), |_| {}).await.unwrap();
    report.findings.iter().map(ToString::to_string).collect()
}

const VALID: &str = r#"
    HSET q:mail:1 name a opts '{"attempts":1}' more x
    HSET q:mail:2 name b opts '{"attempts":2}'
    RPUSH q:mail:wait 1 2
    SADD queues q:mail:wait
    ZADD basket:{a%3Ab} 1667950000123 x
    EXPIRE basket:{a%3Ab} 3600
    SET page:/a:b 1
    HSET flags a on b off
"#;

#[tokio::test(flavor = "multi_thread")]
async fn database_that_fits_its_file_is_clean() {
    on_both_engines(async |store| {
        run(store, VALID).await;
        let clean: Vec<String> = Vec::new();
        assert_eq!(found(store, &shop(SHOP)).await, clean);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_breaks_a_file_is_found_by_the_usual_rules() {
    on_both_engines(async |store| {
        run(
            store,
            r#"
            HSET q:mail:1 name a opts '{"attempts":"x"}'
            RPUSH q:mail:wait 1 1 1 7
            SADD queues q:mail:wait q:fax:wait
            ZADD basket:{ann} 1.5 x
            SET page:a 12345678901
            HSET flags a maybe
            SET visits:1 1
            SET visits:2 1
            "#,
        )
        .await;
        assert_eq!(
            found(store, &shop(SHOP)).await,
            [
                "KL03 basket:{ann}: has no TTL; it must expire within 3600 s",
                "KL10 basket:{ann}: score of \"x\": expected unix time in whole milliseconds, found \"1.5\"",
                "KL08 flags: field \"a\": expected boolean, `on` or `off`, found \"maybe\"",
                "KL20 page:a: holds 11 bytes, declared to hold at most 10",
                "KL08 q:mail:1: field \"opts\": the JSON value at \".attempts\" is a string, expected integer",
                "KL12 q:mail:wait: item \"7\" refers to q:mail:7, which does not exist",
                "KL20 q:mail:wait: holds 4 items, declared to hold at most 3",
                "KL12 queues: member \"q:fax:wait\" refers to q:fax:wait, which does not exist",
                "KL01 visits:<visit>: keys of no declared family, such as visits:1 (and 1 more)",
            ]
        );
    })
    .await;
}

const TYPES: &str = r#"
[document]
name = "types"

[keys.log]
template = "log"
type = "stream"
max_items = 2
fields.at = "iso-time"
fields.who = { is = "text", optional = true }

[keys.visitors]
template = "visitors"
type = "hyperloglog"

[keys.fake]
template = "fake"
type = "hyperloglog"

[keys.days]
template = "days"
type = "bitmap"
"#;

/// The embedded engine has neither streams nor HyperLogLogs.
#[tokio::test(flavor = "multi_thread")]
async fn streams_and_special_strings_are_known() {
    let server = keyrack_testkit::RedisServer::start();
    let store = Store::open(&server.url()).await.unwrap();
    run(
        &store,
        "
        XADD log * at 2026-11-18T08:44:29Z who x
        XADD log * at yesterday
        XADD log * who y what z
        PFADD visitors a b
        SET fake HYL
        SETBIT days 7 1
        ",
    )
    .await;
    assert_eq!(
        found(&store, &shop(TYPES)).await,
        [
            "KL02 fake: is a string, declared as HyperLogLog",
            "KL06 log: the field \"what\" is not declared",
            "KL07 log: an entry lacks the field \"at\"",
            "KL08 log: field \"at\": expected time like `2026-11-18T08:44:29Z`, found \"yesterday\"",
            "KL20 log: holds 3 entries, declared to hold at most 2",
        ]
    );
}
