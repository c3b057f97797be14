//! Bars and steps as their users define them.

use keyrack_progress::{
    BARS_MAX, BarSettings, Error, SAMPLING_MAX_AGE_MAX, SAMPLING_MAX_COUNT_MAX, STEPS_MAX,
    Sampling, StepConfig, Technique,
    keys::{self, Version},
};
use keyrack_store::ServiceError as _;

use crate::rig::{BAR, NOW, ProgressTest, TRACE, bar, everywhere};

const LEGS: &[(&str, u64, f64)] = &[("one", 0, 1.0), ("two", 5, 1.0), ("three", 0, 1.0)];
const MEAN: StepConfig = StepConfig {
    one_off_technique: Technique::ArithmeticMean,
    one_off_percentile: 0.0,
    iterated_technique: Technique::GeometricMean,
    iterated_percentile: 100.0,
};

#[tokio::test]
async fn bars_and_steps_are_defined_by_their_users() {
    everywhere(async |rig| {
        a_bar_is_there_once(&rig.of("once")).await;
        settings_have_bounds(&rig.of("bounds")).await;
        new_settings_keep_version_and_samples(&rig.of("kept")).await;
        a_new_step_makes_a_new_version(&rig.of("more")).await;
        a_step_that_is_deleted_makes_a_new_version(&rig.of("fewer")).await;
        a_step_keeps_its_samples_when_its_technique_changes(&rig.of("changed")).await;
        the_default_step_is_part_of_its_bar(&rig.of("default")).await;
        a_deleted_bar_leaves_nothing(&rig.of("deleted")).await;
        retained_traces_can_be_deleted(&rig.of("trace")).await;
        others_cannot_see_or_touch_it(&rig.of("mine"), &rig.of("theirs")).await;
        changes_at_the_same_time_do_not_mix(&rig.of("together")).await;
        bars_have_a_limit(&rig.of("many")).await;
    })
    .await;
}

fn word<T: std::fmt::Debug>(refused: Result<T, Error>) -> &'static str {
    refused.expect_err("a refusal").code()
}

async fn create(
    rig: &ProgressTest,
    settings: BarSettings,
    config: StepConfig,
) -> Result<(), Error> {
    rig.progress.create_bar(&rig.user, BAR, settings, config).await.map(drop)
}

async fn a_bar_is_there_once(rig: &ProgressTest) {
    let bar = rig.progress.create_bar(&rig.user, BAR, BarSettings::default(), MEAN).await;
    let bar = bar.expect("a bar");
    assert_eq!((bar.version, bar.created_at, bar.default_step_config), (0, NOW, MEAN));
    let again = create(rig, BarSettings::default(), StepConfig::default()).await;
    assert_eq!(word(again), "progress_bar_name_already_exists");
    let read = rig.progress.bar(&rig.user, BAR).await.expect("an answer");
    assert_eq!(read, Some(bar), "the first one stays");
}

async fn settings_have_bounds(rig: &ProgressTest) {
    let good = BarSettings::default();
    for bad in [
        BarSettings { sampling_max_count: 9, ..good },
        BarSettings { sampling_max_count: SAMPLING_MAX_COUNT_MAX + 1, ..good },
        BarSettings { sampling_max_age_seconds: Some(59), ..good },
        BarSettings { sampling_max_age_seconds: Some(SAMPLING_MAX_AGE_MAX + 1), ..good },
    ] {
        assert_eq!(word(create(rig, bad, MEAN).await), "invalid", "{bad:?}");
    }
    for bad in [
        StepConfig { one_off_technique: Technique::BestFitLinear, ..MEAN },
        StepConfig { one_off_percentile: -0.1, ..MEAN },
        StepConfig { one_off_percentile: 100.1, ..MEAN },
        StepConfig { iterated_percentile: f64::NAN, ..MEAN },
    ] {
        assert_eq!(word(create(rig, good, bad).await), "invalid", "{bad:?}");
    }
    assert_eq!(rig.progress.bar(&rig.user, BAR).await.expect("an answer"), None);
    let smallest =
        BarSettings { sampling_max_count: 10, sampling_max_age_seconds: Some(60), ..good };
    create(rig, smallest, MEAN).await.expect("the smallest allowed");
}

async fn new_settings_keep_version_and_samples(rig: &ProgressTest) {
    rig.run(TRACE, NOW, LEGS).await;
    let before = rig.samples().await;
    let settings =
        BarSettings { sampling_technique: Sampling::SimpleRandom, ..before.bar.settings };
    rig.progress.update_bar(&rig.user, BAR, settings, MEAN).await.expect("changed");
    let after = rig.samples().await;
    assert_eq!((after.bar.version, &after.traces), (0, &before.traces));
    assert_eq!((after.bar.settings, after.bar.default_step_config), (settings, MEAN));
    assert_eq!(after.steps[0].config, MEAN);
    assert_eq!(after.steps[1..], before.steps[1..], "steps that are there stay as they are");
    let nobodys = rig.progress.update_bar(&rig.user, "other", settings, MEAN).await;
    assert_eq!(word(nobodys), "pbar_not_found");
}

async fn a_new_step_makes_a_new_version(rig: &ProgressTest) {
    let add = async |name: &str| rig.progress.create_step(&rig.user, BAR, name, true, MEAN).await;
    assert_eq!(word(add("four").await), "pbar_not_found");
    rig.run(TRACE, NOW, LEGS).await;
    let step = add("four").await.expect("a step");
    assert_eq!((step.position, step.iterated, step.config), (4, true, MEAN));
    let after = rig.samples().await;
    assert_eq!((after.bar.version, after.traces.len(), after.steps.len()), (1, 0, 5));
    assert_eq!(after.steps[4], step);
    assert_eq!(word(add("four").await), "step_name_already_exists");
    assert_eq!(word(add("default").await), "step_name_already_exists");
    assert_eq!(word(add("").await), "invalid");
    for n in 5..=STEPS_MAX {
        add(&n.to_string()).await.expect("a step");
    }
    assert_eq!(word(add("one more").await), "too_many_steps");
}

async fn a_step_that_is_deleted_makes_a_new_version(rig: &ProgressTest) {
    let delete = async |name: &str| rig.progress.delete_step(&rig.user, BAR, name).await;
    assert_eq!(word(delete("two").await), "pbar_not_found");
    rig.run(TRACE, NOW, LEGS).await;
    assert_eq!(word(delete("four").await), "step_not_found");
    delete("two").await.expect("deleted");
    let after = rig.samples().await;
    let steps: Vec<_> = after.steps.iter().map(|step| (step.position, &*step.name)).collect();
    assert_eq!(steps, [(0, "default"), (1, "one"), (2, "three")], "later steps move up");
    assert_eq!((after.bar.version, after.traces.len()), (1, 0));
}

async fn a_step_keeps_its_samples_when_its_technique_changes(rig: &ProgressTest) {
    let change =
        async |bar: &str, step: &str| rig.progress.update_step(&rig.user, bar, step, MEAN).await;
    rig.run(TRACE, NOW, LEGS).await;
    assert_eq!(change(BAR, "two").await.expect("changed").config, MEAN);
    let after = rig.samples().await;
    assert_eq!((after.bar.version, after.traces.len()), (0, 1));
    assert_eq!((after.steps[2].config, after.steps[1].config), (MEAN, StepConfig::default()));
    assert_eq!(word(change("other", "two").await), "pbar_not_found");
    assert_eq!(word(change(BAR, "four").await), "step_not_found");
}

async fn the_default_step_is_part_of_its_bar(rig: &ProgressTest) {
    rig.run(TRACE, NOW, LEGS).await;
    let changed = rig.progress.update_step(&rig.user, BAR, "default", MEAN).await;
    assert_eq!(word(changed), "cannot_edit_default_step");
    let deleted = rig.progress.delete_step(&rig.user, BAR, "default").await;
    assert_eq!(word(deleted), "cannot_delete_default_step");
    assert_eq!(rig.samples().await.bar.version, 0);
}

async fn a_deleted_bar_leaves_nothing(rig: &ProgressTest) {
    rig.run("a", NOW, &[("one", 0, 1.0)]).await;
    rig.run("b", NOW, LEGS).await;
    rig.progress.eta(&rig.user, BAR).await.expect("times");
    rig.progress.delete_bar(&rig.user, BAR).await.expect("deleted");
    let count =
        |version| keys::trace_count(&rig.user, &bar(), &Version::new(version).expect("a version"));
    for key in [
        keys::bar(&rig.user, &bar()),
        keys::steps(&rig.user, &bar()),
        keys::traces(&rig.user, &bar()),
        keys::samples(&rig.user, &bar()),
        keys::paces(&rig.user, &bar()),
        keys::bars(&rig.user),
        count(0),
        count(1),
    ] {
        assert!(!rig.exists(&key).await, "{key} is left");
    }
    assert_eq!(word(rig.progress.delete_bar(&rig.user, BAR).await), "pbar_not_found");
    rig.run("c", NOW, LEGS).await;
    let samples = rig.samples().await;
    assert_eq!((samples.bar.version, samples.traces.len()), (0, 1), "it begins anew");
}

async fn retained_traces_can_be_deleted(rig: &ProgressTest) {
    let delete = async |uid: &str| rig.progress.delete_trace(&rig.user, BAR, uid).await;
    assert_eq!(word(delete("x").await), "pbar_not_found");
    rig.run(TRACE, NOW, LEGS).await;
    assert_eq!(word(delete(TRACE).await), "trace_not_found");
    let uid = rig.samples().await.traces[0].uid.clone();
    delete(&uid).await.expect("deleted");
    assert!(rig.samples().await.traces.is_empty());
    assert_eq!(word(delete(&uid).await), "trace_not_found");
}

async fn others_cannot_see_or_touch_it(mine: &ProgressTest, theirs: &ProgressTest) {
    mine.run(TRACE, NOW, LEGS).await;
    let before = mine.samples().await;
    let (progress, user) = (&theirs.progress, &theirs.user);
    assert_eq!(progress.bar(user, BAR).await.expect("an answer"), None);
    assert_eq!(progress.eta(user, BAR).await.expect("times").version, -1);
    assert!(progress.list_bars(user).await.expect("bars").is_empty());
    assert!(progress.list_trace_steps(user, Some(BAR)).await.expect("steps").is_empty());
    assert_eq!(word(progress.delete_bar(user, BAR).await), "pbar_not_found");
    assert_eq!(word(progress.delete_step(user, BAR, "one").await), "pbar_not_found");
    let retained = &before.traces[0].uid;
    assert_eq!(word(progress.delete_trace(user, BAR, retained).await), "pbar_not_found");
    theirs.run(TRACE, NOW, &[("other", 0, 9.0)]).await;
    theirs.progress.create_step(user, BAR, "two", false, MEAN).await.expect("a step");
    assert_eq!(mine.samples().await, before);
}

async fn changes_at_the_same_time_do_not_mix(rig: &ProgressTest) {
    create(rig, BarSettings::default(), MEAN).await.expect("a bar");
    let mut changes = tokio::task::JoinSet::new();
    for n in 0..12 {
        let rig = rig.clone();
        changes.spawn(async move {
            let name = format!("step {n}");
            rig.progress.create_step(&rig.user, BAR, &name, false, MEAN).await.expect("a step")
        });
    }
    let mut positions: Vec<u64> =
        changes.join_all().await.into_iter().map(|step| step.position).collect();
    positions.sort_unstable();
    assert_eq!(positions, (1..=12).collect::<Vec<u64>>());
    assert_eq!(rig.samples().await.bar.version, 12);
}

async fn bars_have_a_limit(rig: &ProgressTest) {
    let key = keys::bars(&rig.user);
    for thousand in 0..BARS_MAX / 1000 {
        let names = (0..1000).flat_map(|n| ["1".to_owned(), format!("{thousand}-{n}")]);
        let names: Vec<String> = names.collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        rig.ask::<()>("ZADD", &key, &names).await;
    }
    let refused = create(rig, BarSettings::default(), MEAN).await;
    assert_eq!(word(refused), "too_many_progress_bars");
    rig.report(TRACE, NOW, LEGS).await;
    let refused = rig.progress.handle_completed(&rig.user, BAR, TRACE, None).await;
    assert_eq!(word(refused), "too_many_progress_bars");
    assert_eq!(rig.progress.bar(&rig.user, BAR).await.expect("an answer"), None);
    rig.report(TRACE, NOW, LEGS).await;
    rig.ask::<()>("ZREM", &key, &["0-0"]).await;
    rig.progress.handle_completed(&rig.user, BAR, TRACE, None).await.expect("counted");
    create(rig, BarSettings::default(), MEAN).await.expect_err("it is there");
}
