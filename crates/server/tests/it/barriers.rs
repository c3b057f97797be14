//! Whether everybody can use the dashboard: with whatever senses and tools, and over whatever line.

use crate::browser::{Visitor, tour};

/// What a page may weigh on the way when it is first seen, with its stylesheet, scripts and icon.
const FIRST_LOAD_MAX: u64 = 60 * 1024;
/// And when others have been seen before.
const NEXT_LOAD_MAX: u64 = 30 * 1024;

/// A phone, a tablet and a desk.
const SIZES: [(u32, u32); 3] = [(390, 844), (834, 1112), (1280, 900)];

#[tokio::test(flavor = "multi_thread")]
async fn no_page_keeps_anybody_out_in_either_theme_at_any_of_three_widths() {
    let visitor = Visitor::new().await;
    let job = visitor.site.furnish().await;
    let mut found = Vec::new();
    for (name, path) in tour(&job) {
        visitor.open(&path).await;
        for (width, height) in SIZES {
            visitor.browser.resize(width, height).await;
            for theme in ["light", "dark"] {
                visitor.browser.prefer(theme).await;
                let barriers = visitor.browser.barriers().await.into_iter();
                found.extend(barriers.map(|told| format!("{name}, {theme}, {width}: {told}")));
            }
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
        visitor.open(&path).await;
        let weight = visitor.browser.loaded().await;
        assert!((1..=NEXT_LOAD_MAX).contains(&weight), "{name} weighs {weight} bytes again");
    }
    visitor.asked_nobody_else().await;
}
