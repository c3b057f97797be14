//! How a trace begins: its keys, its time, and what it replaces.

use keyrack_progress::{
    Error, NewTrace,
    keys::{self, Month, Year},
};
use keyrack_store::Event;

use crate::rig::{
    BAR, NOW, ProgressTest, TRACE, bar, done, everywhere, fields, goes_on, starts, trace_uid,
};

#[tokio::test]
async fn a_trace_begins_with_its_first_step() {
    everywhere(async |rig| {
        the_keys_are_as_documented(&rig.of("keys")).await;
        a_clock_that_is_off_does_not_count(&rig.of("clock")).await;
        a_trace_begins_anew_with_the_same_uid(&rig.of("again")).await;
        the_uid_of_a_retained_trace_is_taken(&rig.of("taken")).await;
        watchers_hear_of_every_change(&rig.of("watched")).await;
        traces_count_in_the_month_in_which_they_begin(&rig.of("usage")).await;
    })
    .await;
}

async fn the_keys_are_as_documented(rig: &ProgressTest) {
    let new = NewTrace { iterations: Some(7), now: NOW + 0.123456, ..starts("read") };
    rig.create(&new).await.expect("created");
    let expected = fields([
        ("created_at", "1667950000.123456"),
        ("last_updated_at", "1667950000.123456"),
        ("current_step", "1"),
        ("done", "0"),
    ]);
    assert_eq!(rig.hash(&rig.trace_key()).await, expected);
    let expected = fields([
        ("step_name", "read"),
        ("iteration", "0"),
        ("iterations", "7"),
        ("started_at", "1667950000.123456"),
    ]);
    assert_eq!(rig.hash(&rig.step_key(1)).await, expected);
    rig.assert_expires_in(&rig.trace_key(), 86_400).await;
    rig.assert_expires_in(&rig.step_key(1), 86_400).await;
    assert_eq!(rig.trace_key().name(), "trace:keys:import:t1");
    assert_eq!(rig.step_key(1).name(), "trace:keys:import:t1:step:1");
}

async fn a_clock_that_is_off_does_not_count(rig: &ProgressTest) {
    for (client, expected) in [
        (NOW + 299.5, NOW + 299.5),
        (NOW - 299.5, NOW - 299.5),
        (NOW + 300.0, NOW),
        (NOW - 300.0, NOW),
        (NOW + 1e9, NOW),
        (0.0, NOW),
        (-1.0, NOW),
        (f64::NAN, NOW),
        (f64::INFINITY, NOW),
        (1e300, NOW),
    ] {
        rig.create(&NewTrace { now: client, ..starts("open") }).await.expect("created");
        assert_eq!(rig.trace().await.created_at, expected, "created at {client}");
        let update = keyrack_progress::Update { now: client, ..goes_on("open") };
        rig.accept(&update).await;
        assert_eq!(rig.trace().await.last_updated_at, expected, "updated at {client}");
    }
}

async fn a_trace_begins_anew_with_the_same_uid(rig: &ProgressTest) {
    rig.start("one").await;
    for step in ["two", "three"] {
        rig.accept(&goes_on(step)).await;
    }
    rig.accept(&done(goes_on("three"))).await;
    // The original leaves steps behind which the trace no longer counts.
    rig.ask::<()>("HSET", &rig.trace_key(), &["current_step", "1"]).await;
    rig.start("one").await;
    let trace = rig.trace().await;
    assert!(!trace.done);
    assert_eq!(trace.steps.len(), 1);
    assert_eq!(trace.steps[0].finished_at, None, "no end of the earlier step is left");
    for position in [2, 3] {
        assert!(!rig.exists(&rig.step_key(position)).await, "step {position} is left");
    }
}

async fn the_uid_of_a_retained_trace_is_taken(rig: &ProgressTest) {
    rig.run(TRACE, NOW, &[("open", 0, 1.0)]).await;
    let retained = rig.samples().await.traces[0].uid.clone();
    let error = rig.create(&NewTrace { uid: retained.clone(), ..starts("open") }).await;
    assert!(matches!(error, Err(Error::UidTaken { trace }) if trace == retained));
    rig.start("open").await;
    assert!(!rig.trace().await.done, "the uid of a completed trace is free");
}

async fn watchers_hear_of_every_change(rig: &ProgressTest) {
    let channel = keys::trace_events(&rig.user, &bar(), &trace_uid(TRACE));
    assert_eq!(channel.name(), "ps:trace:watched:import:t1");
    let mut events = rig.store().subscribe(&[channel]).await.expect("a subscription");
    rig.start("open").await;
    rig.accept(&goes_on("open")).await;
    rig.accept(&goes_on("close")).await;
    rig.update(&goes_on("open")).await.expect_err("a repeated step");
    rig.accept(&done(goes_on("close"))).await;
    for expected in ["created", "updated", "updated", "updated"] {
        let Some(Event::Message(message)) = events.next().await else { panic!("no message") };
        assert_eq!(message.payload, expected.as_bytes());
    }
    assert!(rig.trace().await.done, "what a message tells of can be read");
}

async fn traces_count_in_the_month_in_which_they_begin(rig: &ProgressTest) {
    let december = 1_669_852_800.0;
    rig.wait_until(december + 60.0);
    for (uid, now) in [("a", december - 1.0), ("b", december), ("c", december + 90.0)] {
        rig.create(&NewTrace { uid: uid.into(), now, ..starts("open") }).await.expect("created");
    }
    let month = |month| {
        let year = Year::new(2022).expect("a year");
        keys::month_count(&year, &Month::new(month).expect("a month"))
    };
    let count = async |key| rig.ask::<Option<u64>>("HGET", &key, &[rig.user.as_str()]).await;
    assert_eq!(month(11).name(), "tcount:2022:11");
    assert_eq!((count(month(11)).await, count(month(12)).await), (Some(1), Some(2)));
    let usage = rig.progress.usage(&rig.user).await.expect("usage");
    assert_eq!((usage.traces, usage.period_start_at), (2, december));
    assert_eq!(rig.progress.usage(&rig.of("idle").user).await.expect("usage").traces, 0);
    assert!(rig.progress.bar(&rig.user, BAR).await.expect("an answer").is_none());
}
