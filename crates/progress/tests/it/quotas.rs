//! How much one user may have.

use keyrack_progress::{Error, NewTrace, Quotas};

use crate::rig::{BAR, NOW, ProgressTest, done, everywhere, goes_on, starts};

#[tokio::test]
async fn a_user_has_no_more_traces_and_bars_than_the_quota_says() {
    everywhere(async |rig| {
        at_most_so_many_traces_are_stored(&of(&rig, "stored")).await;
        a_counted_trace_makes_room_after_a_quarter_of_an_hour(&of(&rig, "counted")).await;
        a_trace_that_goes_on_counts_for_as_long(&of(&rig, "long")).await;
        no_race_gets_round_the_quota(&of(&rig, "race")).await;
        bars_have_a_quota_too(&of(&rig, "bars")).await;
    })
    .await;
}

/// A user who may have two traces and one bar.
fn of(rig: &ProgressTest, sub: &str) -> ProgressTest {
    let progress = rig.progress.clone().with_quotas(Quotas { bars: 1, traces: 2 });
    ProgressTest { progress, ..rig.of(sub) }
}

fn trace(uid: &str) -> NewTrace {
    NewTrace { uid: uid.into(), ..starts("open") }
}

/// After how many seconds there is room for a trace that is refused now.
async fn refused(rig: &ProgressTest, uid: &str) -> u32 {
    match rig.create(&trace(uid)).await {
        Err(Error::TooManyTraces { max: 2, retry_after_s }) => retry_after_s,
        other => panic!("not refused: {other:?}"),
    }
}

async fn at_most_so_many_traces_are_stored(rig: &ProgressTest) {
    rig.create(&trace("a")).await.expect("the first");
    rig.create(&trace("b")).await.expect("the second");
    let retry_after_s = refused(rig, "c").await;
    assert_eq!(rig.find("c").await, None);
    assert_eq!(rig.progress.usage(&rig.user).await.expect("usage").traces, 2);
    rig.create(&trace("a")).await.expect("one that is there is replaced");
    rig.of("somebody else").create(&trace("c")).await.expect("not the user's");
    rig.clock.advance_ms(u64::from(retry_after_s) * 1000);
    rig.create(&trace("c")).await.expect("those who said nothing for a day are gone");
}

async fn a_counted_trace_makes_room_after_a_quarter_of_an_hour(rig: &ProgressTest) {
    rig.wait_until(NOW);
    rig.start("open").await;
    rig.create(&trace("other")).await.expect("the second");
    rig.accept(&done(goes_on("open"))).await;
    rig.progress.handle_completed(&rig.user, BAR, crate::rig::TRACE, None).await.expect("counted");
    assert!((899..=900).contains(&refused(rig, "c").await));
    rig.clock.advance_ms(900_000);
    rig.create(&trace("c")).await.expect("its time is over");
}

async fn a_trace_that_goes_on_counts_for_as_long(rig: &ProgressTest) {
    rig.start("open").await;
    rig.create(&trace("failed")).await.expect("the second");
    for _ in 0..60 {
        rig.clock.advance_ms(1_800_000);
        rig.accept(&goes_on("open")).await;
    }
    rig.create(&trace("b")).await.expect("the one that was silent for longer than a day is gone");
    let failure = keyrack_progress::TraceFailure::default();
    rig.progress.fail_trace(&rig.user, BAR, "b", failure).await.expect("failed");
    refused(rig, "c").await;
}

async fn no_race_gets_round_the_quota(rig: &ProgressTest) {
    let mut creating = tokio::task::JoinSet::new();
    for n in 0..20 {
        let rig = rig.clone();
        creating.spawn(async move { rig.create(&trace(&format!("t{n}"))).await.is_ok() });
    }
    let created = creating.join_all().await.into_iter().filter(|created| *created).count();
    assert_eq!(created, 2);
}

async fn bars_have_a_quota_too(rig: &ProgressTest) {
    let create = async |name: &str| {
        let settings = keyrack_progress::BarSettings::default();
        let config = keyrack_progress::StepConfig::default();
        rig.progress.create_bar(&rig.user, name, settings, config).await
    };
    create("one").await.expect("the first");
    let refused = create("two").await.expect_err("one too many");
    assert!(matches!(refused, Error::TooManyBars { max: 1 }), "{refused}");
    assert!(refused.to_string().contains("quota-bars"), "{refused}");
}
