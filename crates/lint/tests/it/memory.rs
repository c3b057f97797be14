//! What takes memory, on every store.

use std::num::NonZeroU64;

use keyrack_keys::Registry;
use keyrack_keys::file::{Source, read};
use keyrack_lint::{MemoryOptions, MemoryReport, memory};
use keyrack_store::Store;

use crate::worlds::{everywhere, run};

const SHOP: &str = r#"
[document]
name = "shop"
[parts]
order = "integer"
[keys.order]
template = "order:<order>"
type = "string"
[keys.session]
template = "session:<order>"
type = "string"
secret = true
"#;

async fn measured(store: &Store, sample: u64) -> MemoryReport {
    let documents = read(&[Source { name: "shop.keys.toml", text: SHOP }]).unwrap();
    let registry = Registry::new(&[&documents[0].families]);
    let options =
        MemoryOptions { sample: NonZeroU64::new(sample).unwrap(), ..MemoryOptions::default() };
    memory(store, &registry, &options, |_| {}).await.unwrap()
}

#[tokio::test]
async fn keys_are_measured_by_family_and_shape() {
    everywhere(async |store| {
        let mut lines = String::new();
        for n in 0..200 {
            lines += &format!("SET order:{n} {}\nSET cart:{n}:items x\n", "v".repeat(n + 1));
            if n % 4 == 0 {
                lines += &format!("EXPIRE order:{n} 3000\n");
            }
        }
        lines += &format!("SET session:7 {}\n", "s".repeat(50_000));
        run(store, &lines).await;
        let report = measured(store, 1).await;
        let groups: Vec<_> = report
            .groups
            .iter()
            .map(|group| (group.name.as_str(), group.declared, group.measure.keys))
            .collect();
        assert_eq!(
            groups,
            [
                ("shop.session", true, 1),
                ("shop.order", true, 200),
                ("cart:<cart>:items", false, 200)
            ]
        );
        let order = &report.groups[1].measure;
        assert_eq!((order.measured, order.bytes_error()), (200, Some(0)));
        assert_eq!(order.lasting_share(), Some((0.75, 0.0)));
        assert_eq!((order.ttl.median(), order.ttl.count()), (Some("1h"), 50));
        assert!(order.biggest.as_ref().unwrap().0.starts_with("order:1"), "{order:?}");
        // The name of a key of a secret family is shown nowhere.
        assert_eq!(report.total.biggest.as_ref().unwrap().0, "(secret)");
        assert_eq!(report.total.keys, 401);
        let sum: u64 = report.groups.iter().map(|group| group.measure.bytes().unwrap()).sum();
        assert_eq!(report.total.bytes(), Some(sum));

        let sampled = measured(store, 5).await;
        let order_sampled = sampled.groups.iter().find(|group| group.name == "shop.order").unwrap();
        let order_sampled = &order_sampled.measure;
        assert_eq!(order_sampled.keys, 200);
        assert!((10..100).contains(&order_sampled.measured), "{order_sampled:?}");
        let (estimate, error) =
            (order_sampled.bytes().unwrap(), order_sampled.bytes_error().unwrap());
        // Which keys are chosen depends on their names alone, so this holds each time or never.
        assert!(estimate.abs_diff(order.bytes().unwrap()) <= error * 2, "{estimate} ± {error}");
        // The one large key is in every sample, so the sum is as sure as its parts.
        let (estimate, error) =
            (sampled.total.bytes().unwrap(), sampled.total.bytes_error().unwrap());
        let truth = report.total.bytes().unwrap();
        assert!(
            error > 0 && estimate.abs_diff(truth) <= error * 2,
            "{estimate} ± {error}, {truth}"
        );
    })
    .await;
}
