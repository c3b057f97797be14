//! Each rule finds what it is for, and nothing else.

use keyrack_contract::registry;
use keyrack_lint::{Finding, Options, Rule, lint};
use keyrack_store::Store;
use keyrack_testkit::{RedisCluster, RedisServer};

use crate::content::{TestRandom, write_example};
use crate::worlds::{on_both_engines, on_cluster, run};

/// At least one violation of every rule that a store without slots can break.
const VIOLATIONS: &str = r#"
    SET who:am:i 1
    SET jobs:hot x
    HSET trace:bob:import:1 created_at 1 last_updated_at 2 current_step 1 done 0
    ZADD tcount:bob:import:7 1 trace
    SADD rjobs:purgatory 1
    EXPIRE rjobs:purgatory 100
    SET cognito:jwks [] EX 7200
    HSET rs_param colour red day_index 3
    HSET trace:bob:import:2:step:1 step_name a iteration 0 iterations 0
    EXPIRE trace:bob:import:2:step:1 100
    SET example:bad 0 EX 600
    HSET db_len clg many mmbr 3 post x
    SADD 9_liked_posts 1 2 three four
    HSET post_clg_pair 1 2 x 3
    ZADD recent_posts_for_category1 1.5 100 2 101
    RPUSH bee:l:hashes:emails:h tags
    ZADD bee:ss:queue:lost 1 j-1 2 j-2
    HSET trace:{bob}:import:3 created_at 1 last_updated_at 2 current_step 1 done 0
    EXPIRE trace:{bob}:import:3 100
    SADD set:projects 1
    db 5: ZADD rjobs 1 7
    HSET bee:scripts submit 0123
    ZADD bee:ss:expires:ends 1600000000000 failed-j 1600000000000 ended-j
    ZADD bee:ss:waiting:ends 1600000000000 ended-j
"#;

/// Jobs of the queue `ends`, by id and status.
const JOBS: [(&str, &str); 6] = [
    ("queued-j", "queued"),
    ("running-j", "running"),
    ("completed-j", "completed"),
    ("failed-j", "failed"),
    ("canceled-j", "canceled"),
    ("ended-j", "completed"),
];

/// A whole job of the queue `ends`.
async fn write_job(store: &Store, id: &str, status: &str) {
    let fields =
        "data [] options {} worker '' submitted 1600000000000 retries 0 tags {} history []";
    let options = r#"{"priority":0,"delay":0,"dependencies":{},"dependenciesOnTags":0,"preferredHostname":0,"retries":0,"retryDelay":0,"progressiveDelay":0,"ttl":0}"#;
    let fields = fields.replace("options {}", &format!("options {options}"));
    run(store, &format!("HSET bee:h:jobs:{id} jid {id} queue ends status {status} {fields}")).await;
}

const FOUND: &[&str] = &[
    r#"KL09 9_liked_posts: member: expected integer from 0, found "four" (and 1 more)"#,
    r#"KL18 bee:h:jobs:canceled-j: its status is "canceled", but it does not expire"#,
    r#"KL18 bee:h:jobs:completed-j: its status is "completed", but it does not expire, and bee:ss:expires:<queue> does not name it"#,
    r#"KL18 bee:h:jobs:failed-j: its status is "failed", but it does not expire, and bee:ss:failed:<queue> does not name it"#,
    r#"KL17 bee:h:jobs:queued-j: its status is "queued", but none of bee:ss:queue:<queue>, bee:ss:delayed:<queue>, bee:ss:waiting:<queue>, bee:ss:parked:<queue>:<tenant>, bee:s:dependencies:<jid>, bee:h:reserved:<queue> names it"#,
    r#"KL17 bee:h:jobs:running-j: its status is "running", but bee:ss:locks:<queue> does not name it"#,
    r#"KL11 bee:l:hashes:emails:h: item: "tags" cannot be a jid; another key family uses that word in its place"#,
    r#"KL15 bee:scripts: belongs to another program; keyrack never writes it"#,
    r#"KL12 bee:ss:queue:lost: member "j-1" refers to bee:h:jobs:j-1, which does not exist (and 1 more)"#,
    r#"KL19 bee:ss:waiting:ends: member "ended-j" refers to bee:h:jobs:ended-j, whose status is "completed""#,
    r#"KL16 bee:str:hive:options: the value is longer than 1 MiB"#,
    r#"KL05 cognito:jwks: expires later than in 3600 s"#,
    r#"KL08 db_len: field "clg": expected integer from 0, found "many" (and 1 more)"#,
    r#"KL08 example:bad: value: expected integer from 1 to 10000, found "0""#,
    r#"KL02 jobs:hot: is a string, declared as list"#,
    r#"KL09 post_clg_pair: field name: expected integer from 0, found "x""#,
    r#"KL10 recent_posts_for_category1: score of "100": expected integer from 0, found "1.5""#,
    r#"KL04 rjobs:purgatory: will expire, but keys of its family never do"#,
    r#"KL06 rs_param: the field "colour" is not declared"#,
    r#"KL14 set:projects: its family lives in databases from 100 up"#,
    r#"KL03 tcount:bob:import:7: has no TTL; it must expire"#,
    r#"KL03 trace:bob:import:1: has no TTL; it must expire within 86400 s"#,
    r#"KL07 trace:bob:import:2:step:1: lacks the field "started_at""#,
    r#"KL13 trace:{bob}:import:3: has a cluster's hash tag; its name here is trace:bob:import:3"#,
    r#"KL01 who:am:i: belongs to no declared family"#,
    r#"KL14 rjobs in database 5: its family lives in database 0"#,
];

#[tokio::test(flavor = "multi_thread")]
async fn every_violation_is_found_and_nothing_else() {
    on_both_engines(async |store| {
        seed_valid(store).await;
        run(store, VIOLATIONS).await;
        for (id, status) in JOBS {
            write_job(store, id, status).await;
        }
        let long = format!("SET bee:str:hive:options {}", "x".repeat((1 << 20) + 1));
        run(store, &long).await;
        assert_eq!(found(store, &Options::default()).await, FOUND);
    })
    .await;
}

#[test]
fn every_rule_is_violated() {
    // Our own keys declare no sizes; those of files do, and `files` tests it.
    for rule in Rule::ALL.into_iter().filter(|rule| *rule != Rule::TooLarge) {
        assert!(FOUND.iter().any(|line| line.starts_with(rule.code())), "{rule}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn untagged_and_wrongly_tagged_keys_are_found_on_a_cluster() {
    on_cluster(async |store| {
        seed_valid(store).await;
        run(
            store,
            "
            SADD 9_liked_posts 1
            ZADD bee:ss:locks:emails 1600000000000 j-1
            HSET bee:h:jobs:j-1 not-a job
            HSET trace:bob:{import}:3 created_at 1 last_updated_at 2 current_step 1 done 0
            EXPIRE trace:bob:{import}:3 100
            ZADD {emails}bee:ss:queue:emails 1 j-2
            SADD nobody:knows:me 1
            ",
        )
        .await;
        let found = found(store, &Options { family: None, ..Options::default() }).await;
        let found: Vec<&str> =
            found.iter().map(String::as_str).filter(|line| !line.contains("bee:h:jobs:j-1:")).collect();
        assert_eq!(
            found,
            [
                "KL13 9_liked_posts: lacks its hash tag; its name here is {9}_liked_posts",
                "KL13 bee:ss:locks:emails: lacks its hash tag; its name here is {<group>}bee:ss:locks:<queue>",
                "KL01 nobody:knows:me: belongs to no declared family",
                "KL13 trace:bob:{import}:3: has its hash tag in the wrong place; its name here is trace:{bob}:import:3",
                "KL12 {emails}bee:ss:queue:emails: member \"j-2\" refers to {emails}bee:h:jobs:j-2, which does not exist",
            ]
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn main_database_is_the_one_that_the_url_names() {
    let server = RedisServer::start();
    let store = Store::open(&format!("{}/5", server.url())).await.unwrap();
    run(&store, "ZADD rjobs 1 7").await;
    assert_eq!(found(&store, &Options::default()).await, [""; 0]);
    run(&store, "db 0: ZADD rjobs 1 7").await;
    assert_eq!(
        found(&store, &Options::default()).await,
        ["KL14 rjobs: its family lives in database 5"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_a_slot_on_the_move_are_checked_too() {
    let cluster = RedisCluster::start();
    let store = Store::open(&cluster.url()).await.unwrap();
    run(&store, "SADD {9}_liked_posts 1 two").await;
    run(&store, "ZADD {9}_clgs_preference 1 2").await;
    let slot = cluster.key_slot("{9}_liked_posts");
    let moving = cluster.begin_slot_move(slot, (cluster.owner(slot) + 1) % 3);
    moving.move_keys();
    let expected = ["KL09 {9}_liked_posts: member: expected integer from 0, found \"two\""];
    assert_eq!(found(&store, &Options::default()).await, expected);
    moving.finish();
    assert_eq!(found(&store, &Options::default()).await, expected);
}

/// Keys that no violation touches, so that there is something not to be found.
async fn seed_valid(store: &Store) {
    let mut random = TestRandom(3);
    for id in ["jobs.bee.job", "progress.trace", "progress.step", "entitlements.entitlements"] {
        write_example(store, registry().get(id).unwrap(), &mut random).await;
    }
}

pub(crate) async fn found(store: &Store, options: &Options) -> Vec<String> {
    let report = lint(store, registry(), options, |_| {}).await.unwrap();
    report.findings.iter().map(Finding::to_string).collect()
}
