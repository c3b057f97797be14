//! What a completed trace does to its bar.

use keyrack_progress::{
    BarSettings, CountOutcome, StepConfig, Technique,
    keys::{self, Version},
};
use keyrack_store::ServiceError as _;

use crate::rig::{BAR, NOW, ProgressTest, TRACE, bar, done, everywhere, goes_on};

const ONE_OFF: &[(&str, u64, f64)] = &[("work", 0, 2.0)];
const ITERATED: &[(&str, u64, f64)] = &[("work", 4, 2.0)];

#[tokio::test]
async fn a_completed_trace_is_counted() {
    everywhere(async |rig| {
        the_first_trace_makes_the_bar(&rig.of("first")).await;
        other_steps_make_a_new_version(&rig.of("others")).await;
        a_bar_without_steps_takes_those_of_its_first_trace(&rig.of("empty")).await;
        traces_that_are_not_done_do_not_count(&rig.of("undone")).await;
        an_expected_version_has_to_be_the_bars(&rig.of("expected")).await;
        what_the_original_let_through_is_dropped(&rig.of("foreign")).await;
        completed_traces_can_be_read_for_a_while(&rig.of("late")).await;
        a_trace_can_be_finished_without_a_worker(&rig.of("alone")).await;
        completed_traces_are_listed_by_version(&rig.of("tcount")).await;
    })
    .await;
}

fn counted(version: u64, retained: bool) -> CountOutcome {
    CountOutcome::Counted { version, retained }
}

/// Version of the bar, names of its steps and whether they are iterated, and how many traces it retains.
async fn shape(rig: &ProgressTest) -> (u64, Vec<(String, bool)>, usize) {
    let samples = rig.samples().await;
    let steps = samples.steps.into_iter().map(|step| (step.name, step.iterated)).collect();
    (samples.bar.version, steps, samples.traces.len())
}

fn steps<const N: usize>(steps: [(&str, bool); N]) -> Vec<(String, bool)> {
    steps.into_iter().map(|(name, iterated)| (name.to_owned(), iterated)).collect()
}

async fn the_first_trace_makes_the_bar(rig: &ProgressTest) {
    let legs = [("open", 0, 1.0), ("read", 8, 3.5), ("close", 0, 0.25)];
    assert_eq!(rig.run(TRACE, NOW, &legs).await, counted(0, true));
    let expected = steps([("default", false), ("open", false), ("read", true), ("close", false)]);
    assert_eq!(shape(rig).await, (0, expected, 1));
    let samples = rig.samples().await;
    assert_eq!(samples.bar.settings, BarSettings::default());
    assert!(samples.steps.iter().all(|step| step.config == StepConfig::default()));
    let positions: Vec<u64> = samples.steps.iter().map(|step| step.position).collect();
    assert_eq!(positions, [0, 1, 2, 3]);
    let taken = &samples.traces[0];
    assert_eq!(taken.created_at, NOW);
    let seen: Vec<_> = taken.steps.iter().map(|step| (step.iterations, step.duration())).collect();
    assert_eq!(seen, [(None, 1.0), (Some(8), 3.5), (None, 0.25)]);
}

async fn other_steps_make_a_new_version(rig: &ProgressTest) {
    assert_eq!(rig.run("a", NOW, ONE_OFF).await, counted(0, true));
    assert_eq!(rig.run("b", NOW, ITERATED).await, counted(1, true));
    let expected = steps([("default", false), ("work", true)]);
    assert_eq!(shape(rig).await, (1, expected, 1), "the samples of the old steps are gone");
    let more = [("work", 4, 2.0), ("rest", 0, 1.0)];
    assert_eq!(rig.run("c", NOW, &more).await, counted(2, true));
    assert_eq!(rig.run("d", NOW, ITERATED).await, counted(3, true));
    let renamed = [("labour", 4, 2.0)];
    assert_eq!(rig.run("e", NOW, &renamed).await, counted(4, true));
    assert_eq!(shape(rig).await.2, 1);
}

async fn a_bar_without_steps_takes_those_of_its_first_trace(rig: &ProgressTest) {
    let config = StepConfig {
        one_off_technique: Technique::HarmonicMean,
        one_off_percentile: 12.5,
        iterated_technique: Technique::Percentile,
        iterated_percentile: 90.0,
    };
    let settings = BarSettings { sampling_max_count: 17, ..BarSettings::default() };
    let bar = rig.progress.create_bar(&rig.user, BAR, settings, config).await.expect("a bar");
    assert_eq!(rig.run(TRACE, NOW, ITERATED).await, counted(1, true));
    assert_eq!(shape(rig).await, (1, steps([("default", false), ("work", true)]), 1));
    let samples = rig.samples().await;
    assert_eq!((samples.bar.uid, samples.bar.settings), (bar.uid, settings));
    assert_eq!(samples.steps[1].config, config, "new steps are made like the default step");
}

async fn traces_that_are_not_done_do_not_count(rig: &ProgressTest) {
    assert_eq!(rig.count("nobody").await, CountOutcome::Nothing);
    rig.start("open").await;
    assert_eq!(rig.count(TRACE).await, CountOutcome::Nothing);
    assert!(rig.progress.bar(&rig.user, BAR).await.expect("an answer").is_none());
}

async fn an_expected_version_has_to_be_the_bars(rig: &ProgressTest) {
    let handle = async |version| {
        rig.progress.handle_completed(&rig.user, BAR, TRACE, version).await.expect("handled")
    };
    rig.report(TRACE, NOW, ONE_OFF).await;
    assert_eq!(handle(Some(0)).await, CountOutcome::OtherVersion, "there is no bar yet");
    assert_eq!(handle(None).await, counted(0, true));
    rig.report(TRACE, NOW, ITERATED).await;
    assert_eq!(handle(Some(1)).await, CountOutcome::OtherVersion);
    assert_eq!(handle(Some(0)).await, counted(1, true));
}

async fn what_the_original_let_through_is_dropped(rig: &ProgressTest) {
    for (uid, name) in [("repeated", "one"), ("reserved", "default")] {
        rig.start("one").await;
        rig.accept(&goes_on("two")).await;
        rig.ask::<()>("HSET", &rig.step_key(2), &["step_name", name, "finished_at", "1667950001"])
            .await;
        rig.ask::<()>("HSET", &rig.trace_key(), &["done", "1"]).await;
        assert_eq!(rig.count(TRACE).await, CountOutcome::Unusable, "{uid}");
    }
    assert!(rig.progress.bar(&rig.user, BAR).await.expect("an answer").is_none());
}

async fn completed_traces_can_be_read_for_a_while(rig: &ProgressTest) {
    rig.report(TRACE, NOW, &[("one", 0, 1.0), ("two", 0, 1.0)]).await;
    rig.assert_expires_in(&rig.trace_key(), 86_400).await;
    rig.count(TRACE).await;
    assert!(rig.trace().await.done);
    for key in [rig.trace_key(), rig.step_key(1), rig.step_key(2)] {
        rig.assert_expires_in(&key, 900).await;
    }
}

async fn a_trace_can_be_finished_without_a_worker(rig: &ProgressTest) {
    let before = rig.queued().await;
    rig.start("work").await;
    let under_way = rig.progress.finish_trace(&rig.user, &goes_on("work")).await;
    assert_eq!(under_way.expect_err("a refusal").code(), "invalid");
    let handled = rig.progress.finish_trace(&rig.user, &done(goes_on("work"))).await;
    assert_eq!(handled.expect("finished"), counted(0, true));
    assert_eq!(rig.queued().await, before, "nobody has anything left to do");
    let again = rig.progress.finish_trace(&rig.user, &done(goes_on("work"))).await;
    assert_eq!(again.expect_err("a refusal").code(), "trace_completed");
}

async fn completed_traces_are_listed_by_version(rig: &ProgressTest) {
    let settings = BarSettings { sampling_max_age_seconds: Some(60), ..BarSettings::default() };
    let bar_of = rig.progress.create_bar(&rig.user, BAR, settings, StepConfig::default());
    bar_of.await.expect("a bar");
    let key =
        |version| keys::trace_count(&rig.user, &bar(), &Version::new(version).expect("a version"));
    let listed = async |version| -> Vec<(String, f64)> {
        rig.ask("ZRANGE", &key(version), &["0", "-1", "WITHSCORES"]).await
    };
    let at = |uid: &str, seconds: f64| (uid.to_owned(), NOW + seconds);
    rig.run("a", NOW, ONE_OFF).await;
    rig.run("b", NOW + 10.5, ONE_OFF).await;
    rig.run("a", NOW + 20.0, ONE_OFF).await;
    assert_eq!(key(1).name(), "tcount:tcount:import:1");
    assert_eq!(listed(1).await, [at("a", 0.0), at("b", 10.5)], "a uid counts once");
    rig.assert_expires_in(&key(1), 360).await;
    rig.run("c", NOW + 360.0, ONE_OFF).await;
    assert_eq!(listed(1).await, [at("b", 10.5), at("c", 360.0)], "clipped with five minutes more");
    rig.run("d", NOW + 361.0, ITERATED).await;
    assert_eq!(listed(2).await, [at("d", 361.0)]);
    assert_eq!(listed(1).await.len(), 2, "the old version's count expires by itself");

    let settings = BarSettings { sampling_max_age_seconds: None, ..settings };
    let changed = rig.progress.update_bar(&rig.user, BAR, settings, StepConfig::default());
    changed.await.expect("changed");
    rig.run("e", NOW + 362.0, ITERATED).await;
    rig.assert_expires_in(&key(2), 604_800 + 300).await;
}
