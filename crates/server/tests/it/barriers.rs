//! Whether everybody can use the dashboard: with whatever senses and tools, and over whatever line.

use crate::browser::{Visitor, tour};

/// What a page may weigh on the way when it is first seen, with its stylesheet, script and icon.
const FIRST_LOAD_MAX: u64 = 100 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn no_page_keeps_anybody_out_in_either_theme() {
    let visitor = Visitor::new().await;
    let job = visitor.site.furnish().await;
    let mut found = Vec::new();
    for (name, path) in tour(&job) {
        visitor.open(&path).await;
        for theme in ["light", "dark"] {
            visitor.browser.prefer(theme).await;
            let barriers = visitor.browser.barriers().await;
            found.extend(barriers.into_iter().map(|told| format!("{name}, {theme}: {told}")));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_light_when_it_is_first_seen_and_asks_nobody_else() {
    let visitor = Visitor::new().await;
    let job = visitor.site.furnish().await;
    for (name, path) in tour(&job) {
        visitor.open(&path).await;
        let weight = visitor.browser.weight().await;
        assert!((1..=FIRST_LOAD_MAX).contains(&weight), "{name} weighs {weight} bytes");
    }
    visitor.asked_nobody_else().await;
}
