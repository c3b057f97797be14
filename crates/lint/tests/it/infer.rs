//! Declarations proposed for an unknown database compile, are sound together, and fit that database.

use keyrack_contract::registry;
use keyrack_keys::Registry;
use keyrack_lint::{InferOptions, Inference, Options, declarations, infer, lint};
use keyrack_store::Store;

use crate::inferred;
use crate::worlds::{on_both_engines, run};

/// A shop that somebody else wrote, and one declared key.
async fn seed(store: &Store) {
    for user in 1..=12_u8 {
        let (cart, total) = (user % 3, u32::from(user) * 250);
        run(
            store,
            &format!(
                r#"
                HSET user:{user} name u{user} email u{user}@example.com created_at 16679500{user:02} plan {plan}
                SET session:{session:032x} '{{"user":{user},"admin":{admin}}}' EX 1700
                ZADD cart:{user}:items 1667950000123 sku-{cart} 1667950000456 sku-9
                SADD seen:{letter}{letter}{letter} {user} 7
                HSET stock:warehouse{cart} sku-{user} {total} sku-x{user} -4
                "#,
                plan = if user % 2 == 0 { "free" } else { "paid" },
                session = u128::from(user) << 64 | 0xfeed,
                admin = user == 1,
                letter = char::from(b'a' + user),
            ),
        )
        .await;
    }
    run(
        store,
        "
        HSET user:1 phone 555
        SET user:count 12
        RPUSH mail:outbox hello
        SET 'odd name' 1
        XADD events * a b
        SET rjobs:hash 1
        ",
    )
    .await;
}

async fn inferred_from(store: &Store) -> Inference {
    infer(store, registry(), &InferOptions::default(), |_| {}).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn proposals_are_the_committed_declarations() {
    let server = keyrack_testkit::RedisServer::start();
    let store = Store::open(&server.url()).await.unwrap();
    seed(&store).await;
    let inference = inferred_from(&store).await;
    assert_eq!(declarations(&inference), include_str!("inferred.rs"));
    assert_eq!((inference.declared, inference.undeclarable), (1, 1));
    assert_eq!(inference.undeclarable_example.as_deref(), Some("odd name"));
}

#[test]
fn proposals_are_sound_together() {
    assert_eq!(Registry::new(&[inferred::FAMILIES]).problems(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn database_fits_the_declarations_proposed_for_it() {
    let server = keyrack_testkit::RedisServer::start();
    let store = Store::open(&server.url()).await.unwrap();
    seed(&store).await;
    let proposed = Registry::new(&[inferred::FAMILIES]);
    let report = lint(&store, &proposed, &Options::default(), |_| {}).await.unwrap();
    let found: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "KL01 events: belongs to no declared family",
            "KL01 odd name: belongs to no declared family",
            "KL01 rjobs:hash: belongs to no declared family",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn declared_keys_are_proposed_only_when_asked_for() {
    on_both_engines(async |store| {
        run(store, "SET rjobs:hash 1").await;
        assert_eq!(inferred_from(store).await.proposals.len(), 0);
        let all = InferOptions { all: true, ..InferOptions::default() };
        let inference = infer(store, registry(), &all, |_| {}).await.unwrap();
        assert_eq!(inference.proposals[0].shape.template(), "rjobs:hash");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn walk_stops_at_the_limit_and_says_so() {
    on_both_engines(async |store| {
        let script = "for i = 1, 3000 do redis.call('SET', 'n:' .. i, i) end";
        run(store, &format!("EVAL '{}' 0", script.replace('\'', "\""))).await;
        let options = InferOptions { keys_max: 1_000, ..InferOptions::default() };
        let inference = infer(store, registry(), &options, |_| {}).await.unwrap();
        assert!(inference.truncated);
        assert!((1_000..2_500).contains(&inference.keys), "{}", inference.keys);
    })
    .await;
}
