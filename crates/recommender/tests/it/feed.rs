//! Filters, other apps, and what nights learn.

use std::collections::HashMap;

use keyrack_recommender::{
    Error, Files, Filter, Mapping, Memory, Recommender, Request, Table, keys,
};
use keyrack_store::Store;
use keyrack_testkit::{on_every_store_at, simulated_store};

use crate::world::{DAY_MS, NOON, assert_declared, ms, recommender, sync, user};

/// Ten challenges of five categories with 40 posts each of 20 authors.
fn app() -> Memory {
    let mut app = Memory::default();
    for challenge in 0..10u64 {
        let (id, category) = (challenge.to_string(), (challenge % 5).to_string());
        app.push(Table::Challenges, &[&id, &category, "1", "60", "2024-01-05 00:00:00"]);
    }
    for post in 0..400u64 {
        let ids = [1000 + post, 500 + post % 20, post % 10].map(|id| id.to_string());
        let written = format!("2024-01-{:02} 00:00:00", 9 + post / 100);
        app.push(Table::Posts, &[&ids[0], &ids[1], &ids[2], &written, "Ran"]);
    }
    app
}

async fn list(service: &Recommender, filter: Filter) -> Vec<(u64, usize, String)> {
    let request = Request { filter, ..Request::of(user("1")).limit(30) };
    let page = service.recommend(&request).await.expect("a page");
    page.items.into_iter().map(|item| (item.challenge_id, item.category, item.author_id)).collect()
}

#[tokio::test]
async fn filters_leave_what_the_caller_wants_and_lists_stay_full() {
    on_every_store_at(ms(NOON), async |store, _| {
        sync(&store, &mut app()).await;
        let service = recommender(&store);
        let of_categories = Filter { categories: vec![2, 3], ..Filter::default() };
        let found = list(&service, of_categories).await;
        assert_eq!(found.len(), 30);
        assert!(found.iter().all(|(_, category, _)| [2, 3].contains(category)), "{found:?}");
        let found = list(&service, Filter { challenges: vec![7], ..Filter::default() }).await;
        assert_eq!(found.len(), 30);
        assert!(found.iter().all(|(challenge, ..)| *challenge == 7), "{found:?}");
        let without = Filter { without_authors: vec!["503".into()], ..Filter::default() };
        let found = list(&service, without).await;
        assert!(found.len() == 30 && found.iter().all(|(.., author)| author != "503"), "{found:?}");
        let found = list(&service, Filter { max_age: Some(0), ..Filter::default() }).await;
        assert!(!found.is_empty() && found.len() <= 100);
        let refused = Request {
            filter: Filter { categories: vec![9], ..Filter::default() },
            ..Request::of(user("1"))
        };
        let refused = service.recommend(&refused).await;
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
    })
    .await;
}

const SHOP: &str = r#"{
    "max_age_days": 90,
    "items": {"table": "product", "id": "id", "author": "seller", "group": "line", "created": "listed_at"},
    "groups": {"table": "line", "id": "id", "section": "department", "sections": ["garden", "kitchen"]},
    "feedback": {"table": "purchase", "id": "id", "item": "product", "user": "buyer", "undone": "returned"}
}"#;

#[tokio::test]
async fn a_shop_is_loaded_by_its_own_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = [
        (
            "product.csv",
            "id,seller,line,listed_at\n1,ann,7,2023-12-01\n2,bob,8,2024-01-10\n3,ann,8,2023-08-01\n",
        ),
        ("line.csv", "id,department\n7,garden\n8,kitchen\n9,cellar\n"),
        ("purchase.csv", "id,product,buyer,returned\n1,1,carl,0\n2,2,dora,1\n"),
    ];
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    let mapping: Mapping = serde_json::from_str(SHOP).expect("a mapping");
    on_every_store_at(ms(NOON), async |store, _| {
        let service = recommender(&store);
        service.apply(&mapping).await.expect("parameters");
        let mut tables =
            Files::open(folder.path(), &mapping.names().expect("names")).expect("files");
        let synced = sync(&store, &mut tables).await;
        // The third product is too old, and the third line is of no section.
        assert_eq!((synced.posts, synced.challenges, synced.skipped), (2, 2, 1));
        let page = service.recommend(&Request::of(user("carl"))).await.expect("a page");
        let items: Vec<(u64, usize)> =
            page.items.iter().map(|item| (item.post_id, item.category)).collect();
        assert_eq!(items, [(2, 1)]);
        assert_declared(&store).await;
    })
    .await;
}

async fn learned(store: &Store) -> HashMap<String, String> {
    let mut cmd = redis::cmd("HGETALL");
    cmd.arg(&*store.place(&keys::learned()));
    let mut learned: HashMap<String, String> =
        cmd.query_async(&mut store.connection()).await.expect("a hash");
    // That follows the likes of each load.
    assert!(learned.remove("likes_by_age").is_some());
    learned
}

#[tokio::test]
async fn nights_learn_from_new_likes_once_a_day() {
    let (store, clock) = simulated_store(ms(NOON), 1).await;
    let mut app = app();
    let react = |app: &mut Memory, first: u64| {
        for n in 0..60u64 {
            // Everybody likes posts of two challenges of one category.
            let (user, post) = (n % 12, 1000 + (first + n * 7) % 40 * 10 + (n % 12) % 5);
            let row = [first + n, post, user, 0].map(|number| number.to_string());
            app.push(Table::Reactions, &[&row[0], &row[1], &row[2], &row[3]]);
        }
    };
    react(&mut app, 1);
    sync(&store, &mut app).await;
    assert_eq!(learned(&store).await.keys().collect::<Vec<_>>(), ["day"]);
    clock.advance_ms(DAY_MS);
    react(&mut app, 61);
    sync(&store, &mut app).await;
    let after_a_night = learned(&store).await;
    let weights: HashMap<String, f64> =
        serde_json::from_str(&after_a_night["known"]).expect("JSON");
    let built_in = keyrack_recommender::Weights::default();
    assert!(weights["liking"] > built_in.0[0], "{weights:?}");
    react(&mut app, 121);
    sync(&store, &mut app).await;
    assert_eq!(learned(&store).await, after_a_night, "the same day teaches nothing more");
    assert_declared(&store).await;
}
