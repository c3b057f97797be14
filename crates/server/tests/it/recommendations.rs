//! Recommendations over HTTP: lists, what users do with them, what is told at once, and the load.

use std::{ops::ControlFlow, sync::Arc};

use keyrack_recommender::{
    Memory, Recommender, Row, Settings, Source as _, Synced, Table, Weights,
    eval::{Evaluation, Interval, Measured, Scores},
};
use keyrack_services::{AppTables, Recommendations, TablesFuture};
use keyrack_store::Store;
use serde_json::{Value as Json, json};

use crate::site::Site;

/// The tables of a small app, as they are today.
#[derive(Debug)]
struct Tables {
    app: Memory,
}

impl AppTables for Tables {
    fn load<'a>(&'a self, into: &'a Recommender) -> TablesFuture<'a, Synced> {
        Box::pin(async {
            let mut app = self.app.clone();
            into.sync(&mut app, &mut |_| ControlFlow::Continue(())).await
        })
    }

    fn posts<'a>(&'a self, ids: &'a [u64]) -> TablesFuture<'a, Vec<Row>> {
        Box::pin(async { self.app.clone().posts(ids).await })
    }
}

/// Recommendations for an app of three challenges, one of them private, and 30 posts.
pub(crate) fn recommendations(store: &Store) -> Recommendations {
    let settings = Settings { break_text: "I have a break today".into(), ..Settings::default() };
    let recommender = Recommender::new(store.clone(), settings);
    let ago = |days: u64| {
        let day = recommender.today().saturating_sub(jiff::Span::new().days(days as i64));
        format!("{day} 01:00:00")
    };
    let mut app = Memory::default();
    for (id, category, public) in [("1", "0", "1"), ("2", "1", "1"), ("3", "2", "0")] {
        app.push(Table::Challenges, &[id, category, public, "30", &ago(6)]);
    }
    for post in 100..130u64 {
        let (id, author) = (post.to_string(), (10 + post % 4).to_string());
        let (challenge, written) = ((1 + post % 3).to_string(), ago((129 - post) / 5));
        app.push(Table::Posts, &[&id, &author, &challenge, &written, "Ran <b>5</b> km"]);
    }
    app.push(Table::Members, &["1", "7"]);
    app.push(Table::Reactions, &["1", "102", "7", "0"]);
    Recommendations::new(recommender).with_tables(Arc::new(Tables { app }))
}

/// Something to look at: a load, and an evaluation.
pub(crate) async fn furnish(site: &Site) {
    site.get("/UpdateRecommendation/").await.ok();
    let measured = |name: &str, ndcg: f64| Measured {
        name: name.into(),
        scores: Scores { ndcg, precision: ndcg / 2.0, diversity: 0.94, ..Scores::default() },
        ndcg: Interval { value: ndcg, low: 0.8 * ndcg, high: 1.2 * ndcg },
        coverage: 0.34,
    };
    let evaluation = Evaluation {
        users: 962,
        left_out: 38,
        measured: vec![measured("keyrack", 0.0436), measured("newest", 0.0129)],
        ratio: Interval { value: 3.39, low: 2.51, high: 4.79 },
        weights: Weights::default(),
    };
    let recommender = Recommender::new(site.store.clone(), Settings::default());
    recommender.adopt(evaluation).await.expect("adopted");
}

async fn loaded() -> Site {
    let site = Site::start().await;
    let synced = site.post("/api/1/recommender/sync", json!({})).await.ok();
    assert_eq!((&synced["posts"], &synced["private"]), (&json!(20), &json!(10)), "{synced}");
    site
}

fn ids(page: &Json) -> Vec<u64> {
    let items = page["items"].as_array().expect("items");
    items.iter().map(|item| item["post_id"].as_u64().expect("an id")).collect()
}

#[tokio::test]
async fn lists_have_reasons_and_pages_follow_each_other() {
    let site = loaded().await;
    let whole = site.get("/api/1/recommendations/7?limit=12").await.ok();
    let items = whole["items"].as_array().expect("items");
    assert_eq!(items[0]["challenge_id"], 1);
    let liked = items.iter().find(|item| item["reason"] == "good_challenge").expect("a reason");
    assert_eq!(liked["because"], "posts of challenge 1 are liked");
    assert!(!ids(&whole).contains(&102), "liked already");
    let mut paged = ids(&site.get("/api/1/recommendations/7?limit=6").await.ok());
    let cursor = site.get("/api/1/recommendations/7?limit=6").await.ok()["next_cursor"].clone();
    let cursor = cursor.as_str().expect("another page");
    let next = site.get(&format!("/api/1/recommendations/7?limit=6&cursor={cursor}")).await.ok();
    paged.extend(ids(&next));
    assert_eq!(paged, ids(&whole));
    let seeded = site.get("/api/1/recommendations/stranger?seed=5").await.ok();
    assert_eq!(seeded, site.get("/api/1/recommendations/stranger?seed=5").await.ok());
    assert_eq!(ids(&seeded).len(), 20);
}

#[tokio::test]
async fn a_feed_speaks_of_items_and_takes_filters_and_feedback() {
    let site = loaded().await;
    assert_eq!(site.put("/api/1/feed/groups/21", json!({"section": 4})).await.status, 204);
    let item = json!({"id": 900, "author_id": "77", "group_id": 21});
    assert_eq!(site.post("/api/1/feed/items", item).await.ok()["taken"], true);
    let feed = site.get("/api/1/feed/users/9?sections=4").await.ok();
    assert_eq!(feed["items"].as_array().expect("items").len(), 1);
    let first = &feed["items"][0];
    assert_eq!(
        (&first["item_id"], &first["group_id"], &first["section"]),
        (&json!(900), &json!(21), &json!(4))
    );
    let feedback = |kind: &'static str, id: Option<u64>| {
        let body = json!({"user_id": 9, "item_id": 900, "kind": kind, "id": id});
        site.post("/api/1/feed/feedback", body)
    };
    assert_eq!(feedback("like", None).await.status, 422);
    assert_eq!(feedback("like", Some(70)).await.ok()["taken"], true);
    assert_eq!(feedback("shown", None).await.ok()["taken"], true);
    assert_eq!(site.get("/api/1/feed/users/9?sections=4").await.ok()["items"], json!([]));
    let groups =
        site.get("/api/1/feed/users/9?groups=1&without_authors=10,11&without_items=105").await.ok();
    let groups = groups["items"].as_array().expect("items").clone();
    assert!(!groups.is_empty());
    assert!(
        groups.iter().all(|item| item["group_id"] == 1 && item["author_id"] != "10"),
        "{groups:?}"
    );
    assert_eq!(site.get("/api/1/feed/users/9?sections=garden").await.status, 422);
    assert_eq!(site.get("/api/1/feed/users/9?sections=7").await.status, 422);
    assert_eq!(site.delete("/api/1/feed/items/900").await.status, 204);
    assert_eq!(site.get("/api/1/feed/users/10?sections=4").await.ok()["items"], json!([]));
}

#[tokio::test]
async fn what_a_user_does_counts_at_once() {
    let site = loaded().await;
    let told = |path: &'static str, body: Json| {
        let site = &site;
        async move { site.post(&format!("/api/1/recommendations/9/{path}"), body).await }
    };
    assert_eq!(
        told("liked", json!({"log_id": 2, "post_id": 105})).await.ok(),
        json!({"taken": true})
    );
    // 104 is private.
    let private = told("liked", json!({"log_id": 3, "post_id": 104})).await.ok();
    assert_eq!(private, json!({"taken": false}));
    assert_eq!(told("hidden", json!({"post_id": 106})).await.status, 204);
    assert_eq!(told("blocked", json!({"author_id": 11})).await.status, 204);
    assert_eq!(told("shown", json!({"post_ids": [108, 109]})).await.status, 204);
    let list = site.get("/api/1/recommendations/9").await.ok();
    let listed = ids(&list);
    assert!(!listed.contains(&105) && !listed.contains(&106), "{listed:?}");
    assert!(listed.iter().all(|post| post % 4 != 1), "no posts of 11: {listed:?}");
    assert_eq!(listed.last(), Some(&108), "what was shown comes last");
    assert_eq!(list["items"][0]["challenge_id"], 1, "the challenge of what was liked");
    told("blocked", json!({"author_id": "11", "blocked": false})).await;
    assert!(ids(&site.get("/api/1/recommendations/9").await.ok()).contains(&117));
    let why = site.get("/api/1/recommendations/9/explanation?post_id=106").await.ok();
    assert_eq!(why["against"], json!(["the user hid it"]));
}

#[tokio::test]
async fn what_an_app_tells_counts_at_once() {
    let site = loaded().await;
    let challenge = json!({"category": 4, "is_public": true, "duration": 10});
    assert_eq!(site.put("/api/1/recommender/challenges/9", challenge).await.status, 204);
    let post = json!({"id": 500, "user_id": 12, "challenge_id": 9, "written_text": "Swam"});
    assert_eq!(site.post("/api/1/recommender/posts", post).await.ok()["taken"], true);
    let rest = json!({"id": 501, "user_id": 12, "challenge_id": 9, "written_text": "I have a break today."});
    assert_eq!(site.post("/api/1/recommender/posts", rest).await.ok()["taken"], false);
    let like = json!({"log_id": 9, "post_id": 500, "user_id": "5"});
    assert_eq!(site.post("/api/1/recommender/reactions", like).await.ok()["taken"], true);
    let member = json!({"challenge_id": 9, "user_id": "5"});
    assert_eq!(site.post("/api/1/recommender/members", member).await.ok()["taken"], true);
    let stats = site.get("/api/1/recommender/stats").await.ok();
    assert_eq!((&stats["posts"], &stats["members"]), (&json!([10, 10, 0, 0, 1]), &json!(2)));
    assert_eq!(stats["days"].as_array().expect("days").len(), 7);
    assert!(ids(&site.get("/api/1/recommendations/6").await.ok()).contains(&500));
    let similar = site.get("/api/1/recommender/posts/102/similar?limit=3").await.ok();
    assert_eq!(similar["posts"].as_array().expect("posts").len(), 3);
    // It becomes private, and its posts are seen no more; neither is one that is deleted.
    let private = json!({"category": 4, "is_public": false, "duration": 10});
    assert_eq!(site.put("/api/1/recommender/challenges/9", private).await.status, 204);
    assert_eq!(site.delete("/api/1/recommender/posts/100").await.status, 204);
    let listed = ids(&site.get("/api/1/recommendations/6").await.ok());
    assert!(!listed.contains(&500) && !listed.contains(&100), "{listed:?}");
    assert_eq!(site.get("/api/1/recommender/posts/500/similar").await.status, 404);
}

#[tokio::test]
async fn published_paths_answer_as_clients_know_them() {
    let site = Site::start().await;
    let updated = site.get("/UpdateRecommendation/").await.ok();
    assert_eq!(updated, json!({"detail": "Recommendation updated successfully"}));
    let posts = site.get("/GetRecommendedPosts/7").await.ok();
    let posts = posts.as_array().expect("an array");
    assert_eq!(posts.len(), 19);
    // The newest first, as everybody may see it.
    let newest = &posts[0];
    assert_eq!((&newest["id"], &newest["user_id"]), (&json!(129), &json!(11)));
    assert_eq!(newest["written_text"], "Ran <b>5</b> km");
    assert!(
        newest["created_time"].as_str().is_some_and(|at| at.ends_with("T01:00:00")),
        "{newest}"
    );
    let ids: Vec<u64> = posts.iter().filter_map(|post| post["id"].as_u64()).collect();
    assert!(ids.is_sorted_by(|a, b| a > b), "{ids:?}");
    let picture = [("Sec-Fetch-Site", "cross-site")];
    assert_eq!(site.send("GET", "/UpdateRecommendation/", &picture, "").await.status, 403);
}

#[tokio::test]
async fn bad_requests_are_refused_with_a_reason() {
    let site = loaded().await;
    for (path, status, kind) in [
        ("/api/1/recommendations/7?limit=0", 422, "invalid"),
        ("/api/1/recommendations/7?limit=501", 422, "invalid"),
        ("/api/1/recommendations/7?cursor=nonsense", 422, "invalid"),
        ("/api/1/recommendations/7?unknown=1", 422, "invalid"),
        ("/api/1/recommendations/7/explanation?post_id=104", 404, "post_not_found"),
        ("/api/1/recommender/posts/x/similar", 422, "invalid"),
        ("/api/1/recommender/posts/100/similar?limit=0", 422, "invalid"),
        ("/api/1/recommender/evaluation", 404, "no_evaluation"),
    ] {
        let answer = site.get(path).await;
        assert_eq!((answer.status, &answer.json()["type"]), (status, &json!(kind)), "{path}");
    }
    let huge = u64::MAX;
    for (path, body) in [
        ("recommendations/7/liked", json!({"log_id": huge, "post_id": 100})),
        ("recommendations/7/hidden", json!({"post_id": huge})),
        ("recommendations/7/shown", json!({"post_ids": (0..1001).collect::<Vec<u64>>()})),
        ("recommender/posts", json!({"id": 1, "user_id": "", "challenge_id": 1})),
        ("recommender/reactions", json!({"log_id": -1, "post_id": 1, "user_id": 1})),
    ] {
        let answer = site.post(&format!("/api/1/{path}"), body).await;
        assert_eq!(answer.status, 422, "{path}: {answer:?}");
    }
    let challenge = json!({"category": 5, "is_public": true});
    assert_eq!(site.put("/api/1/recommender/challenges/9", challenge).await.status, 422);
    let never = json!({"category": 0, "is_public": true, "created_time": "yesterday"});
    assert_eq!(site.put("/api/1/recommender/challenges/9", never).await.status, 422);
}

#[tokio::test]
async fn pages_show_the_pool_a_list_and_how_to_begin() {
    let empty = Site::start().await;
    let page = empty.get("/recommender").await.body;
    assert!(page.contains("keyrack recommend sync sqlite:app.db"), "{page}");
    assert!(page.contains("keyrack recommend eval --save"), "{page}");
    let site = loaded().await;
    let page = site.get("/recommender").await.body;
    assert!(page.contains("20 posts of 7 days") && page.contains("class=\"c1\""), "{page}");
    let sent = site.get("/recommender?user=a%2Fb").await;
    assert_eq!((sent.status, sent.header("location")), (303, Some("/recommender/a%2Fb")));
    furnish(&site).await;
    let page = site.get("/recommender").await.body;
    assert!(page.contains("NDCG@10 is 3.39 times") && page.contains("0.044"), "{page}");
    let found = site.get("/api/1/recommender/evaluation").await.ok();
    assert_eq!(found["evaluation"]["measured"][0]["name"], "keyrack");
    let list = site.get("/recommender/7").await.body;
    assert!(list.contains("posts of challenge 1 are liked"), "{list}");
    assert!(list.contains("30 days to category 0 (100 %)"), "{list}");
}
