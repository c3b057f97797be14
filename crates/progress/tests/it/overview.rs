//! What those see who look after the bars of all users.

use std::collections::BTreeSet;

use keyrack_progress::NewTrace;

use crate::rig::{
    BAR, NOW, ProgressTest, TRACE, done, everywhere, goes_on, iterated, starts, user,
};

#[tokio::test]
async fn all_users_are_looked_after() {
    everywhere(async |rig| {
        traces_are_listed_while_they_are_under_way(&rig.of("goes")).await;
        users_of_this_month_and_the_last_are_all_found(&rig).await;
        bars_are_told_in_lines_and_samples_newest_first(&rig.of("lines")).await;
        traces_that_fell_silent_leave_with_the_next(&rig.of("silent")).await;
    })
    .await;
}

async fn running(rig: &ProgressTest) -> Vec<(String, String, f64)> {
    let all = rig.progress.running(0, 100).await.expect("a list");
    assert_eq!(rig.progress.running_count().await.expect("a count"), all.len() as u64);
    let own = all.into_iter().filter(|trace| trace.user == rig.user);
    own.map(|trace| (trace.bar, trace.trace, trace.heard_at - NOW)).collect()
}

async fn traces_are_listed_while_they_are_under_way(rig: &ProgressTest) {
    assert!(running(rig).await.is_empty());
    rig.start("read").await;
    let entry = |at| vec![(BAR.to_owned(), TRACE.to_owned(), at)];
    assert_eq!(running(rig).await, entry(0.0));
    rig.wait_until(NOW + 5.0);
    let update = iterated("copy", 0, 10);
    rig.accept(&keyrack_progress::Update { now: NOW + 5.0, ..update }).await;
    assert_eq!(running(rig).await, entry(5.0));
    let last = done(iterated("copy", 10, 10));
    rig.accept(&keyrack_progress::Update { now: NOW + 5.0, ..last }).await;
    assert!(running(rig).await.is_empty());
}

async fn users_of_this_month_and_the_last_are_all_found(rig: &ProgressTest) {
    for n in 0..300 {
        rig.of(&format!("user{n}")).start("read").await;
    }
    let (mut found, mut cursor) = (BTreeSet::new(), None::<String>);
    loop {
        let page = rig.progress.active_users(cursor.as_deref(), 50).await.expect("users");
        found.extend(page.users.into_iter().map(|(user, _)| user.to_string()));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert!((0..300).all(|n| found.contains(&format!("user{n}"))), "{found:?}");
    for wrong in ["", "2-0", "x", "0-", "0-x"] {
        let error = rig.progress.active_users(Some(wrong), 50).await.expect_err(wrong);
        assert!(error.to_string().contains("cursor"), "{error}");
    }
}

async fn bars_are_told_in_lines_and_samples_newest_first(rig: &ProgressTest) {
    assert!(rig.progress.bar_lines(&user("nobody"), 10).await.expect("lines").is_empty());
    let begins = [NOW + 10.0, NOW + 20_000.0, NOW + 40_000.0];
    for (n, begin) in begins.iter().enumerate() {
        rig.run(&format!("r{n}"), *begin, &[("open", 0, 1.0), ("read", 5, 2.0)]).await;
    }
    let lines = rig.progress.bar_lines(&rig.user, 10).await.expect("lines");
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((line.name.as_str(), line.steps, line.retained), (BAR, 2, 3));
    assert_eq!(line.last_at, Some(begins[2]));
    let samples = rig.progress.recent_samples(&rig.user, BAR, 2).await.expect("an answer");
    let samples = samples.expect("the bar is there");
    let seen: Vec<f64> = samples.traces.iter().map(|trace| trace.created_at).collect();
    assert_eq!(seen, begins[1..], "the newest, oldest first");
    assert!(rig.progress.recent_samples(&rig.user, "none", 2).await.expect("no bar").is_none());
}

async fn traces_that_fell_silent_leave_with_the_next(rig: &ProgressTest) {
    rig.start("read").await;
    rig.wait_until(NOW + 200_000.0);
    let other = rig.of("loud");
    let new = NewTrace { now: NOW + 200_000.0, ..starts("read") };
    other.create(&new).await.expect("created");
    // On a cluster the list is cleaned by those that end.
    let last = keyrack_progress::Update { now: NOW + 200_000.0, ..done(goes_on("read")) };
    other.accept(&last).await;
    assert!(running(rig).await.is_empty());
}
