//! Declarations proposed for an unknown database are sound together, and fit that database.

use keyrack_contract::registry;
use keyrack_keys::file::{Source, read};
use keyrack_keys::{Family, Registry};
use keyrack_lint::{
    InferOptions, Inference, Options, declarations, infer, lint, more_declarations,
};
use keyrack_store::Store;

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
        SET 'odd<name>' 1
        XADD events * a b
        SET rjobs:hash 1
        ",
    )
    .await;
}

async fn inferred_from(store: &Store) -> Inference {
    infer(store, registry(), &InferOptions::default(), |_| {}).await.unwrap()
}

const INFERRED: &str = include_str!("inferred.keys.toml");

fn inferred() -> Vec<&'static Family> {
    let source = Source { name: "inferred.keys.toml", text: INFERRED };
    let documents = read(&[source]).unwrap_or_else(|errors| panic!("{}", errors[0]));
    documents.into_iter().flat_map(|document| document.families).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn proposals_are_the_committed_file() {
    let server = keyrack_testkit::RedisServer::start();
    let store = Store::open(&server.url()).await.unwrap();
    seed(&store).await;
    let inference = inferred_from(&store).await;
    let text = declarations(&inference, "inferred");
    if std::env::var_os("KEYRACK_WRITE_DOCS").is_some() {
        std::fs::write("tests/it/inferred.keys.toml", &text).unwrap();
    }
    assert_eq!(text, INFERRED);
    assert_eq!((inference.declared, inference.undeclarable), (1, 1));
    assert_eq!(inference.undeclarable_example.as_deref(), Some("odd<name>"));
}

#[test]
fn proposals_are_sound_together() {
    assert_eq!(Registry::new(&[&inferred()]).problems(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn database_fits_the_declarations_proposed_for_it() {
    let server = keyrack_testkit::RedisServer::start();
    let store = Store::open(&server.url()).await.unwrap();
    seed(&store).await;
    let proposed = Registry::new(&[&inferred()]);
    let report = lint(&store, &proposed, &Options::default(), |_| {}).await.unwrap();
    let found: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "KL01 odd<name>: belongs to no declared family",
            "KL01 rjobs:hash: belongs to no declared family",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn update_adds_what_is_new_and_keeps_the_rest() {
    let server = keyrack_testkit::RedisServer::start();
    let store = Store::open(&server.url()).await.unwrap();
    seed(&store).await;
    run(&store, "SET coupon:1 10\nSET coupon:2 20\nSET coupon:3 5").await;
    let known = inferred();
    let registry = Registry::new(&[&known]);
    let inference = infer(&store, &registry, &InferOptions::default(), |_| {}).await.unwrap();
    let more = more_declarations(&inference, "inferred", &known);
    let text = format!("{INFERRED}{more}");
    let documents = read(&[Source { name: "updated", text: &text }])
        .unwrap_or_else(|errors| panic!("{}\n{more}", errors[0]));
    let names: Vec<&str> = documents[0].families.iter().map(|family| family.template).collect();
    assert!(names.contains(&"coupon:<coupon>") && names.contains(&"rjobs:hash"), "{names:?}");
    let report =
        lint(&store, &Registry::new(&[&documents[0].families]), &Options::default(), |_| {})
            .await
            .unwrap();
    assert_eq!(report.unknown.keys, 1, "{:?}", report.findings);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_new_refers_to_what_the_file_declares() {
    on_both_engines(async |store| {
        for n in 1..=4 {
            let lines = format!(
                "SET order:{n} x\nRPUSH user:{n}:orders {n}\nSET last:{n} order:{n}\nHSET bill:{n} order_id {n} of order:{n}"
            );
            run(store, &lines).await;
        }
        let file = "[document]\nname = \"shop\"\n[parts]\norder = \"integer\"\n\
                    [keys.purchase]\ntemplate = \"order:<order>\"\ntype = \"string\"\nttl = \"never\"\n";
        let known = read(&[Source { name: "shop", text: file }])
            .unwrap_or_else(|errors| panic!("{}", errors[0]))
            .remove(0)
            .families;
        let registry = Registry::new(&[&known]);
        let inference = infer(store, &registry, &InferOptions::default(), |_| {}).await.unwrap();
        let more = more_declarations(&inference, "shop", &known);
        for line in [
            "item = { is = \"reference\", to = \"purchase\", text = \"such as `1`\" }",
            "value = { is = \"key\", to = \"purchase\", text = \"such as `order:1`\" }",
            "order_id = { is = \"reference\", to = \"purchase\", text = \"such as `1`\" }",
            "of = { is = \"key\", to = \"purchase\", text = \"such as `order:1`\" }",
        ] {
            assert!(more.contains(line), "{line}\n{more}");
        }
        let text = format!("{file}{more}");
        let documents = read(&[Source { name: "shop", text: &text }])
            .unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]));
        let registry = Registry::new(&[&documents[0].families]);
        let report = lint(store, &registry, &Options::default(), |_| {}).await.unwrap();
        assert!(report.is_clean(), "{:?}", report.findings);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn undeclared_keys_are_told_by_shape() {
    on_both_engines(async |store| {
        let script = "for i = 1, 5000 do redis.call('SET', 'visit:' .. i .. ':page', i) end";
        run(store, &format!("EVAL '{}' 0", script.replace('\'', "\""))).await;
        let report = lint(store, registry(), &Options::default(), |_| {}).await.unwrap();
        let found: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
        let expected = "KL01 visit:<visit>:page: keys of no declared family, such as visit:1000:page (and 4999 more)";
        assert_eq!(found, [expected]);
        assert_eq!((report.problems(), report.unknown.keys), (1, 5_000));
    })
    .await;
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
