//! Recommendations, on every store.

use std::collections::HashSet;

use keyrack_recommender::{Error, Memory, Reason, Recommender, Request, Table};
use keyrack_testkit::{on_every_store_at, simulated_store};

use crate::world::{NOON, app, ms, recommender, sync, user};

async fn posts(service: &Recommender, who: &str) -> Vec<u64> {
    let page = service.recommend(&Request::of(user(who))).await.expect("a page");
    page.items.iter().map(|item| item.post_id).collect()
}

/// Ten public challenges of all categories and one private one in four, ten posts each.
fn large() -> Memory {
    let mut app = Memory::default();
    for challenge in 0..40u64 {
        let public = if challenge % 4 == 3 { "0" } else { "1" };
        let (id, category) = (challenge.to_string(), (challenge % 5).to_string());
        app.push(Table::Challenges, &[&id, &category, public, "60", "2024-01-05 00:00:00"]);
    }
    for post in 0..800u64 {
        let ids = [1000 + post, 500 + post % 90, post % 40].map(|id| id.to_string());
        let text = if post % 13 == 0 { "I have a break today!" } else { "Ran" };
        app.push(Table::Posts, &[&ids[0], &ids[1], &ids[2], "2024-01-12 00:00:00", text]);
    }
    app.rows(Table::Challenges)
        .sort_by_key(|row| row[0].clone().and_then(|id| id.parse::<u64>().ok()));
    app
}

#[tokio::test]
async fn liked_and_own_posts_are_not_recommended() {
    on_every_store_at(ms(NOON), async |store, _| {
        sync(&store, &mut app()).await;
        let service = recommender(&store);
        // 10 wrote 100 and likes 101 and 103; 12 wrote 103, and likes 100, though that was taken back.
        assert_eq!(posts(&service, "10").await, Vec::<u64>::new());
        assert_eq!(posts(&service, "12").await, [101]);
        let mut for_11 = posts(&service, "11").await;
        for_11.sort_unstable();
        assert_eq!(for_11, [100, 103]);
        let mut for_a_stranger = posts(&service, "stranger").await;
        for_a_stranger.sort_unstable();
        assert_eq!(for_a_stranger, [100, 101, 103]);
    })
    .await;
}

#[tokio::test]
async fn hidden_posts_and_blocked_authors_never_come_and_shown_ones_come_last() {
    on_every_store_at(ms(NOON), async |store, _| {
        sync(&store, &mut app()).await;
        let service = recommender(&store);
        let who = user("stranger");
        service.shown(&who, &[103]).await.expect("shown");
        let page = service.recommend(&Request::of(who.clone())).await.expect("a page");
        let last = page.items.last().expect("posts");
        assert_eq!((last.post_id, last.reason), (103, Reason::SeenBefore));
        service.hide(&who, 103).await.expect("hidden");
        service.block(&who, &user("10"), true).await.expect("blocked");
        assert_eq!(posts(&service, "stranger").await, [101]);
        service.block(&who, &user("10"), false).await.expect("not blocked");
        assert_eq!(posts(&service, "stranger").await.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn an_empty_pool_gives_an_empty_list() {
    on_every_store_at(ms(NOON), async |store, _| {
        assert!(posts(&recommender(&store), "10").await.is_empty());
        sync(&store, &mut Memory::default()).await;
        assert!(posts(&recommender(&store), "10").await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn pages_of_a_list_follow_each_other_without_gap_or_repetition() {
    on_every_store_at(ms(NOON), async |store, clock| {
        sync(&store, &mut large()).await;
        let service = recommender(&store);
        let who = user("1");
        let whole = service.recommend(&Request::of(who.clone()).limit(90)).await.expect("a page");
        assert_eq!(
            whole,
            service.recommend(&Request::of(who.clone()).limit(90)).await.expect("a page")
        );
        let mut request = Request::of(who.clone()).limit(30);
        let mut pages = Vec::new();
        for _ in 0..3 {
            let page = service.recommend(&request).await.expect("a page");
            let ids: Vec<u64> = page.items.iter().map(|item| item.post_id).collect();
            // The user looks at a page before asking for the next.
            clock.advance_ms(1000);
            service.shown(&who, &ids).await.expect("shown");
            pages.extend(ids);
            request.cursor = page.next_cursor;
        }
        let expected: Vec<u64> = whole.items.iter().map(|item| item.post_id).collect();
        assert_eq!(pages, expected);
        // A new list begins with what was not shown.
        let fresh = posts(&service, "1").await;
        assert!(fresh.iter().take(90).all(|post| !pages.contains(post)));
    })
    .await;
}

#[tokio::test]
async fn a_challenge_that_a_user_reacts_to_comes_first_and_says_why() {
    on_every_store_at(ms(NOON), async |store, _| {
        let mut app = large();
        let own = [1001, 1041, 1081, 1121, 1161].map(|post| (post, 1));
        // Others react to all challenges alike, so that none is liked more than others.
        let others = (1000..1800).step_by(3).map(|post| (post, post));
        for (id, (post, who)) in own.into_iter().chain(others).enumerate() {
            let values = [id as u64 + 1, post, who].map(|id| id.to_string());
            app.push(Table::Reactions, &[&values[0], &values[1], &values[2], "0"]);
        }
        sync(&store, &mut app).await;
        let service = recommender(&store);
        let page = service.recommend(&Request::of(user("1")).limit(10)).await.expect("a page");
        let first = &page.items[0];
        assert_eq!((first.challenge_id, first.reason), (1, Reason::Liked));
        assert_eq!(first.because, "you often react to challenge 1");
        let explained = service.explain(&user("1"), first.post_id).await.expect("an explanation");
        assert!(explained.against.is_empty() && explained.candidate);
        assert!((explained.score - first.score).abs() < 0.2, "{explained:?}");
        let liked = service.explain(&user("1"), 1041).await.expect("an explanation");
        assert_eq!(liked.against, ["the user has reacted to it"]);
        let error = service.explain(&user("1"), 1003).await.expect_err("a private post");
        assert!(matches!(error, Error::NoSuchPost { post: 1003 }), "{error}");
        let similar = service.similar(1041, 5).await.expect("posts");
        assert!(similar.len() == 5 && similar.iter().all(|similar| similar.challenge_id == 1));
    })
    .await;
}

#[tokio::test]
async fn private_and_break_posts_never_appear_in_1000_requests() {
    let (store, _clock) = simulated_store(ms(NOON), 1).await;
    sync(&store, &mut large()).await;
    let service = recommender(&store);
    let mut seen = HashSet::new();
    for seed in 0..1_000 {
        let mut request = Request::of(user(&(seed % 97).to_string())).limit(50);
        request.seed = Some(seed);
        let page = service.recommend(&request).await.expect("a page");
        assert_eq!(page.items.len(), 50);
        seen.extend(page.items.iter().map(|item| item.post_id));
    }
    let bad = seen.iter().find(|post| (*post - 1000) % 40 % 4 == 3 || (*post - 1000) % 13 == 0);
    assert_eq!(bad, None);
    // Nearly all posts that may be seen were seen by somebody.
    let good = (0..800u64).filter(|post| post % 40 % 4 != 3 && post % 13 != 0).count();
    assert!(seen.len() > good * 9 / 10 && seen.len() <= good, "{} of {good}", seen.len());
}

#[tokio::test]
async fn requests_that_make_no_sense_are_refused() {
    let (store, _clock) = simulated_store(ms(NOON), 1).await;
    let service = recommender(&store);
    for limit in [0, 501] {
        let refused = service.recommend(&Request::of(user("1")).limit(limit)).await;
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
    }
    let mut request = Request::of(user("1"));
    request.cursor = Some("nonsense".into());
    let refused = service.recommend(&request).await;
    assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
}
