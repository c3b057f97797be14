//! What is told at once, on every store: it counts at once, and the load does not count it again.

use keyrack_recommender::{Challenge, Member, Post, Reaction, Table};
use keyrack_testkit::on_every_store_at;

use crate::world::{DAY_MS, LOADED, NOON, app, assert_declared, dump, ms, recommender, sync, user};

#[tokio::test]
async fn what_was_told_is_not_counted_again_by_the_load() {
    on_every_store_at(ms(NOON), async |store, _| {
        let service = recommender(&store);
        let mut app = app();
        let reactions = app.rows(Table::Reactions).split_off(3);
        let posts = app.rows(Table::Posts).split_off(1);
        sync(&store, &mut app).await;
        let post = Post {
            id: 101,
            author: user("11"),
            challenge: 1,
            day: None,
            has_bad_day: false,
            text: "Rain".into(),
        };
        assert!(service.add_post(post.clone()).await.expect("a post"));
        let reaction = Reaction { id: 5, post: 101, user: user("10"), cancelled: false };
        for _ in 0..2 {
            assert!(service.add_reaction(reaction.clone()).await.expect("a reaction"));
        }
        let lines = dump(&store).await;
        assert!(lines.contains(&"10_clgs_preference: 1=1".into()), "{lines:?}");
        assert!(lines.contains(&"post_popularity: 101=1".into()), "{lines:?}");
        app.rows(Table::Posts).extend(posts);
        app.rows(Table::Reactions).extend(reactions);
        sync(&store, &mut app).await;
        let lines = dump(&store).await;
        assert!(lines.contains(&"10_clgs_preference: 1=1".into()), "{lines:?}");
        assert!(lines.contains(&"post_popularity: 101=1".into()), "{lines:?}");
        assert!(
            !lines.iter().any(|line| line.contains("counted") || line.contains("told")),
            "{lines:?}"
        );
        assert_declared(&store).await;
    })
    .await;
}

#[tokio::test]
async fn like_and_cancel_leave_some_liking_and_the_post_liked() {
    on_every_store_at(ms(NOON), async |store, _| {
        let service = recommender(&store);
        sync(&store, &mut app()).await;
        for (id, cancelled) in [(6, false), (7, true)] {
            let reaction = Reaction { id, post: 103, user: user("11"), cancelled };
            assert!(service.add_reaction(reaction).await.expect("a reaction"));
        }
        let lines = dump(&store).await;
        assert!(lines.contains(&"11_clgs_preference: 3=0.4".into()), "{lines:?}");
        assert!(lines.contains(&"11_liked_posts: 103".into()), "{lines:?}");
        assert!(lines.contains(&"post_popularity: 101=1 103=1".into()), "{lines:?}");
    })
    .await;
}

#[tokio::test]
async fn private_breaks_and_unknown_are_not_taken() {
    on_every_store_at(ms(NOON), async |store, _| {
        let service = recommender(&store);
        sync(&store, &mut app()).await;
        let post = |id, challenge, text: &str| Post {
            id,
            author: user("10"),
            challenge,
            day: None,
            has_bad_day: false,
            text: text.into(),
        };
        for refused in
            [post(200, 2, "x"), post(201, 1, "I have a break today!"), post(202, 77, "x")]
        {
            assert!(!service.add_post(refused).await.expect("an answer"));
        }
        let reaction = Reaction { id: 6, post: 102, user: user("11"), cancelled: false };
        assert!(!service.add_reaction(reaction).await.expect("an answer"));
        assert!(
            !service
                .add_member(&Member { user: user("10"), challenge: 77 })
                .await
                .expect("an answer")
        );
        assert_eq!(dump(&store).await, LOADED);
    })
    .await;
}

#[tokio::test]
async fn challenges_and_members_count_at_once() {
    on_every_store_at(ms(NOON), async |store, _| {
        let service = recommender(&store);
        sync(&store, &mut app()).await;
        let finished = "2024-02-01".parse().expect("a day");
        let challenge = Challenge { id: 8, category: 2, public: true, duration: 20, finished };
        service.add_challenge(&challenge).await.expect("a challenge");
        assert!(service.add_challenge(&Challenge { category: 5, ..challenge }).await.is_err());
        for who in ["10", "13"] {
            assert!(
                service
                    .add_member(&Member { user: user(who), challenge: 8 })
                    .await
                    .expect("a member")
            );
        }
        assert_eq!(service.contribution(&user("10")).await.expect("numbers"), [29, 14, 20, 0, 0]);
        assert_eq!(service.contribution(&user("13")).await.expect("numbers"), [0, 0, 20, 0, 0]);
        assert_declared(&store).await;
    })
    .await;
}

#[tokio::test]
async fn what_users_did_with_a_post_is_forgotten_with_the_post() {
    on_every_store_at(ms(NOON), async |store, clock| {
        let service = recommender(&store);
        sync(&store, &mut app()).await;
        service.shown(&user("11"), &[100, 100, 103, 999]).await.expect("shown");
        service.hide(&user("11"), 100).await.expect("hidden");
        assert!(dump(&store).await.contains(&"post_shown: 100=1 103=1".into()));
        assert_declared(&store).await;
        clock.advance_ms(8 * DAY_MS);
        sync(&store, &mut app()).await;
        let lines = dump(&store).await;
        let left: Vec<&String> = lines
            .iter()
            .filter(|line| line.starts_with("11_") || line.starts_with("post_"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    })
    .await;
}
