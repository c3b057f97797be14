//! Recommendations against simple lists, on a made-up app.

use std::fs;

use keyrack_recommender::eval::{App, GeneratedApp, RecordedApp, Size, evaluate, export, judge};

#[tokio::test]
async fn lists_are_half_as_good_again_as_the_best_simple_ones() {
    let size = Size { users: 300, challenges: 80, days: 24 };
    let world = GeneratedApp::generate(size, 1);
    let found = evaluate(&world, size.days, 1).await.expect("an evaluation");
    assert!(found.users > 200, "{found:#?}");
    assert!(found.ratio.value >= 1.5 && found.ratio.low > 1.0, "{found:#?}");
    let named = |name: &str| {
        found.measured.iter().find(|measured| measured.name == name).expect("measured")
    };
    assert!(named("keyrack").coverage >= named("newest").coverage, "{found:#?}");
    assert!(named("keyrack").scores.diversity >= named("newest").scores.diversity, "{found:#?}");
}

#[tokio::test]
async fn an_app_that_is_too_short_is_refused() {
    let world = GeneratedApp::generate(Size { users: 5, challenges: 2, days: 3 }, 1);
    assert!(evaluate(&world, 3, 1).await.is_err());
}

/// Two groups of users like the items of their group, one a day; a user comes at the end, and one never comes back.
#[tokio::test]
async fn lists_of_a_recorded_app_have_what_users_liked_later() {
    let (days, users, items) = (32, 40, 60);
    let files = tempfile::tempdir().expect("a folder");
    let write = |name: &str, lines: Vec<String>| {
        fs::write(files.path().join(name), lines.join("\n")).expect("a file");
    };
    write("about", vec![format!("{} 8 1997 9 20", users + 2)]);
    write("items", (1..=items).map(|id| format!("{id} 0 0")).collect());
    let item = |user: usize, day: usize| 2 * ((user * 7 + day * 11) % 30) + user % 2 + 1;
    let mut likes = Vec::new();
    for day in 0..days {
        // Who comes at the end likes what the first user liked before, in the days that are judged.
        let new = (day >= 24).then(|| (users, item(0, day - 24)));
        let gone = (day < 20).then(|| (users + 1, item(1, day)));
        let regular = (0..users).filter(|_| day < 30).map(|user| (user, item(user, day)));
        for (user, item) in regular.chain(new).chain(gone) {
            likes.push(format!("{user} {item} {day}"));
        }
    }
    write("likes", likes);
    let app = App::Recorded(RecordedApp::read(files.path()).expect("an app"));
    let lists = tempfile::tempdir().expect("a folder");
    export(&app, lists.path()).await.expect("lists");
    let judged = judge(&app, lists.path(), 1).expect("figures");
    let [ours, random] = &judged[..] else { panic!("{judged:#?}") };
    assert_eq!((&*ours.name, &*random.name), ("keyrack", "random"));
    // Each of forty liked six more of the thirty items of the group.
    assert!(ours.ndcg.value > 0.9 && ours.likes.value > 5.4, "{ours:#?}");
    assert!(random.ndcg.high < 0.5 && random.likes.value < 2.0, "{random:#?}");
    assert!((0.0..=8.0).contains(&ours.likes_new.value), "{ours:#?}");
    let wanted = fs::read_to_string(lists.path().join("earlier_wanted")).expect("a file");
    assert_eq!(
        wanted.lines().count(),
        users + 1,
        "who had not come yet has nothing to be tuned by"
    );
}
