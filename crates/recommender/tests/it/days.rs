//! The ring of days: how long posts stay, on every store.

use keyrack_recommender::{Memory, Table};
use keyrack_store::Store;
use keyrack_testkit::{on_every_store_at, simulated_store};

use crate::world::{DAY_MS, NOON, app, assert_declared, dump, ms, recommender, sync};

/// An app with one long public challenge and a post for each given id.
fn app_with(posts: &[u64]) -> Memory {
    let mut app = Memory::default();
    app.push(Table::Challenges, &["1", "0", "1", "300", "2024-01-05 00:00:00"]);
    for post in posts {
        app.push(Table::Posts, &[&post.to_string(), "10", "1", "2024-01-12 00:00:00", "Ran"]);
    }
    app
}

async fn has(store: &Store, line: &str) -> bool {
    dump(store).await.contains(&line.to_owned())
}

#[tokio::test]
async fn a_post_stays_for_seven_nights_and_then_leaves_every_key() {
    on_every_store_at(ms(NOON), async |store, clock| {
        for night in 0..7 {
            sync(&store, &mut app_with(&[100])).await;
            assert!(has(&store, "recent_posts_for_category1: 100=0").await, "night {night}");
            assert!(has(&store, "post_clg_pair: 100=1").await, "night {night}");
            clock.advance_ms(DAY_MS);
        }
        let synced = sync(&store, &mut app_with(&[100])).await;
        assert_eq!((synced.day_index, synced.removed), (0, 1));
        let lines = dump(&store).await;
        let named = |name: &str| lines.iter().any(|line| line.starts_with(name));
        for key in ["recent_posts", "post_clg_pair", "post_author", "clg1posts"] {
            assert!(!named(key), "{key} in {lines:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn missed_nights_let_go_what_would_have_left_on_them() {
    on_every_store_at(ms(NOON), async |store, clock| {
        sync(&store, &mut app_with(&[100])).await;
        clock.advance_ms(3 * DAY_MS);
        sync(&store, &mut app_with(&[100, 101])).await;
        assert!(has(&store, "recent_posts_for_category1: 100=0 101=3").await);
        clock.advance_ms(5 * DAY_MS);
        sync(&store, &mut app_with(&[100, 101])).await;
        assert!(has(&store, "recent_posts_for_category1: 101=3").await);
        clock.advance_ms(40 * DAY_MS);
        sync(&store, &mut app_with(&[100, 101, 102])).await;
        assert!(has(&store, "recent_posts_for_category1: 102=6").await, "{:?}", dump(&store).await);
    })
    .await;
}

#[tokio::test]
async fn posts_keep_their_age_when_the_pool_gets_shorter_or_longer() {
    on_every_store_at(ms(NOON), async |store, clock| {
        let mut posts = Vec::new();
        for night in 0..7 {
            posts.push(100 + night);
            sync(&store, &mut app_with(&posts)).await;
            clock.advance_ms(DAY_MS);
        }
        recommender(&store).set_parameters(3, 5).await.expect("good numbers");
        let synced = sync(&store, &mut app_with(&posts)).await;
        // The last two are one and two nights old now.
        assert_eq!((synced.day_index, synced.removed), (1, 5));
        assert!(has(&store, "recent_posts_for_category1: 105=2 106=0").await);
        recommender(&store).set_parameters(10, 5).await.expect("good numbers");
        let synced = sync(&store, &mut app_with(&posts)).await;
        assert_eq!((synced.day_index, synced.removed), (1, 0));
        assert!(has(&store, "recent_posts_for_category1: 105=9 106=0").await);
        assert_declared(&store).await;
    })
    .await;
}

#[tokio::test]
async fn days_change_at_midnight_in_sydney_also_when_clocks_do() {
    // On 7 April 2024 clocks go back, and the day has 25 hours.
    let (store, clock) = simulated_store(ms("2024-04-06T12:59:00Z"), 1).await;
    assert_eq!(sync(&store, &mut app()).await.day_index, 0);
    let steps =
        [("2024-04-06T13:00:00Z", 1), ("2024-04-07T13:59:59Z", 1), ("2024-04-07T14:00:00Z", 2)];
    for (moment, index) in steps {
        clock.advance_ms(ms(moment) - store.now_ms());
        assert_eq!(sync(&store, &mut app()).await.day_index, index, "{moment}");
    }
}

#[tokio::test]
async fn numbers_that_make_no_sense_fall_back_or_are_refused() {
    let (store, _clock) = simulated_store(ms(NOON), 1).await;
    let service = recommender(&store);
    for (days, categories) in [(0, 5), (367, 5), (7, 0), (7, 6)] {
        assert!(service.set_parameters(days, categories).await.is_err(), "{days} {categories}");
    }
    let key = store.place(&keyrack_recommender::keys::parameters()).into_owned();
    let mut cmd = redis::cmd("HSET");
    cmd.arg(key).arg("max_post_age").arg("-3");
    cmd.query_async::<()>(&mut store.connection()).await.expect("a write");
    sync(&store, &mut app()).await;
    assert!(has(&store, "rs_param: day_index=0 last_run=2024-01-12 max_post_age=-3 ring=7").await);
}
