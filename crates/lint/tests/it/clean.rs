//! The lint finds nothing in a database that keeps to its declarations.

use keyrack_contract::registry;
use keyrack_keys::{Family, Origin};
use keyrack_lint::{Options, Report, lint};
use keyrack_store::Store;
use proptest::prelude::*;

use crate::content::{TestRandom, know_accounts, write_example, write_random};
use crate::worlds::everywhere;

fn written_by_keyrack() -> Vec<&'static Family> {
    registry().families().filter(|family| family.origin != Origin::Foreign).collect()
}

async fn linted(store: &Store) -> Report {
    know_accounts(store).await;
    lint(store, registry(), &Options::default(), |_| {}).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn example_of_every_family_is_clean_everywhere() {
    everywhere(async |store| {
        let mut random = TestRandom(1);
        for family in written_by_keyrack() {
            write_example(store, family, &mut random).await;
        }
        let report = linted(store).await;
        assert_eq!(report.findings, Default::default());
        assert_eq!(report.families.len(), written_by_keyrack().len());
        assert_eq!(report.unknown.keys, 0);
        assert!(
            report.families.values().all(|tally| tally.bytes() > Some(0) && !tally.is_estimate())
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_content_is_clean_everywhere() {
    everywhere(async |store| {
        let mut random = TestRandom(2);
        for family in written_by_keyrack() {
            for _ in 0..5 {
                write_random(store, family, &mut random).await;
            }
        }
        let report = linted(store).await;
        assert_eq!(report.findings, Default::default());
        assert_eq!(report.keys, report.checked);
    })
    .await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn valid_content_of_any_families_is_clean(seed: u64, picks in prop::collection::vec(any::<prop::sample::Index>(), 1..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = Store::open("embedded:memory").await.unwrap();
            let (families, mut random) = (written_by_keyrack(), TestRandom(seed));
            for pick in picks {
                let family = *pick.get(&families);
                write_random(&store, family, &mut random).await;
            }
            let report = linted(&store).await;
            prop_assert!(report.findings.is_empty(), "{:?}", report.findings);
            Ok(())
        })?;
    }
}
