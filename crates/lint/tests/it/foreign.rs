//! Keys of other programs whose names have the form of a declared one.

use keyrack_contract::registry;
use keyrack_lint::{InferOptions, Options, Report, infer, lint};
use keyrack_store::Store;

use crate::content::know_account;
use crate::worlds::{everywhere, on_both_engines, run};

/// Keys as BullMQ has them, and one of a cache: all fit `<project>:<dimension>:<key>:<number>` or `…:set`.
const BULL: &str = r#"
    HSET bull:emails:job:1 name send data {} opts {} timestamp 1
    HSET bull:emails:job:2 name send data {} opts {} timestamp 1
    SET bull:emails:lock:3 token
    ZADD bull:emails:repeat:4 1 a
    SADD bull:emails:members:set 1 2
    SET cache:product:5:17 x
"#;

async fn linted(store: &Store) -> Report {
    lint(store, registry(), &Options::default(), |_| {}).await.unwrap()
}

fn codes(report: &Report) -> Vec<String> {
    let mut codes: Vec<String> =
        report.findings.iter().map(|finding| finding.to_string()[..4].to_owned()).collect();
    codes.dedup();
    codes
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_another_program_are_not_taken_for_output_events_on_every_store() {
    everywhere(async |store| {
        run(store, BULL).await;
        let report = linted(store).await;
        assert_eq!((report.keys, report.unknown.keys), (6, 6));
        assert!(report.families.is_empty(), "{:?}", report.families);
        assert_eq!(codes(&report), ["KL01"]);
        let inferred = infer(store, registry(), &InferOptions::default(), |_| {}).await.unwrap();
        assert_eq!((inferred.keys, inferred.declared), (6, 0));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_known_accounts_database_type_and_content_decide() {
    on_both_engines(async |store| {
        know_account(store, "7", 100).await;
        let lines = r#"
            db 100: HSET 2:job-skills:python:17 event_type fired threshold 3
            db 100: SADD 2:job-skills:python:set 17
            db 100: HSET bull:emails:job:1 name send data {} opts {}
            db 100: SET cache:product:5:17 x
            db 100: SADD cache:product:5:set red
            db 101: HSET 2:job-skills:python:17 event_type fired threshold 3
        "#;
        run(store, lines).await;
        let report = linted(store).await;
        let found: Vec<(&str, u64)> =
            report.families.iter().map(|(id, tally)| (id.as_str(), tally.keys)).collect();
        assert_eq!(
            found,
            [
                ("calculations.account_databases", 1),
                ("calculations.event", 1),
                ("calculations.events", 1)
            ]
        );
        assert_eq!((report.unknown.keys, codes(&report)), (4, vec!["KL01".to_owned()]));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn under_a_hash_tag_the_account_must_be_known_on_every_store() {
    everywhere(async |store| {
        know_account(store, "7", 0).await;
        let lines = r#"
            HSET {7}2:job-skills:python:17 event_type fired
            HSET {8}2:job-skills:python:17 event_type fired
            HSET {bull}emails:a:job:1 name send data {}
        "#;
        run(store, lines).await;
        let report = linted(store).await;
        assert_eq!(report.families["calculations.event"].keys, 1);
        assert_eq!((report.unknown.keys, codes(&report)), (2, vec!["KL01".to_owned()]));
    })
    .await;
}
