//! Which completed traces a bar retains.

use keyrack_progress::{BarSettings, CountOutcome, Sampling, StepConfig};

use crate::rig::{BAR, NOW, ProgressTest, everywhere};

const LEGS: &[(&str, u64, f64)] = &[("work", 0, 0.001)];

#[tokio::test]
async fn a_bar_retains_what_its_sampling_says() {
    everywhere(async |rig| {
        systematic_sampling_retains_one_in_each_stretch_of_time(&rig.of("even")).await;
        a_newer_trace_blocks_an_older_one(&rig.of("late")).await;
        random_sampling_retains_all_up_to_the_count(&rig.of("few")).await;
        random_sampling_retains_each_with_the_same_chance(&rig.of("many")).await;
        without_an_age_stretches_are_those_of_a_week(&rig.of("ageless")).await;
        a_lower_count_drops_the_oldest(&rig.of("lowered")).await;
        hundred_traces_in_a_second_are_all_retained(&rig.of("dense")).await;
        old_traces_are_dropped(&rig.of("aged")).await;
    })
    .await;
}

/// Gives the bar its settings, and its one step by a first trace at the present time.
async fn set_up(rig: &ProgressTest, settings: BarSettings) {
    let config = StepConfig::default();
    rig.progress.create_bar(&rig.user, BAR, settings, config).await.expect("a bar");
    rig.progress.create_step(&rig.user, BAR, "work", false, config).await.expect("a step");
}

fn settings(count: u64, age: Option<u64>, technique: Sampling) -> BarSettings {
    BarSettings {
        sampling_max_count: count,
        sampling_max_age_seconds: age,
        sampling_technique: technique,
    }
}

/// Completes a trace that began so many seconds after [`NOW`]; tells whether it was retained.
async fn is_retained(rig: &ProgressTest, at: f64) -> bool {
    let handled = rig.run(&format!("t{}", (at * 1000.0) as i64), NOW + at, LEGS).await;
    let CountOutcome::Counted { version: 1, retained } = handled else { panic!("{handled:?}") };
    retained
}

async fn systematic_sampling_retains_one_in_each_stretch_of_time(rig: &ProgressTest) {
    set_up(rig, settings(10, Some(100), Sampling::Systematic)).await;
    for (at, retained) in
        [(0.0, true), (5.0, false), (9.99, false), (10.0, true), (19.0, false), (20.5, true)]
    {
        assert_eq!(is_retained(rig, at).await, retained, "{at}");
    }
    assert_eq!(rig.retained().await, [0.0, 10.0, 20.5]);
}

async fn a_newer_trace_blocks_an_older_one(rig: &ProgressTest) {
    set_up(rig, settings(10, Some(100), Sampling::Systematic)).await;
    assert!(is_retained(rig, 60.0).await);
    assert!(!is_retained(rig, 20.0).await);
    assert!(is_retained(rig, 70.0).await);
}

async fn random_sampling_retains_all_up_to_the_count(rig: &ProgressTest) {
    set_up(rig, settings(10, Some(3600), Sampling::SimpleRandom)).await;
    for at in 0..10 {
        assert!(is_retained(rig, f64::from(at)).await, "{at}");
    }
    assert_eq!(rig.retained().await.len(), 10);
}

async fn random_sampling_retains_each_with_the_same_chance(rig: &ProgressTest) {
    set_up(rig, settings(10, Some(3600), Sampling::SimpleRandom)).await;
    let mut retained = 0;
    for at in 0..100 {
        retained += u32::from(is_retained(rig, f64::from(at)).await);
        assert!(rig.retained().await.len() <= 10, "never more than the count");
    }
    // The sum of 10/n for n from 11 to 100 is about 22.6, and ten are retained before.
    assert!((22..=44).contains(&retained), "{retained} of 100 were retained");
    let late = rig.retained().await.into_iter().filter(|at| *at >= 50.0).count();
    assert!((1..=9).contains(&late), "{late} of the ten left are of the later half");
}

async fn without_an_age_stretches_are_those_of_a_week(rig: &ProgressTest) {
    // A week over this many is a hundred seconds.
    set_up(rig, settings(6048, None, Sampling::Systematic)).await;
    assert!(is_retained(rig, 100.0).await);
    assert!(!is_retained(rig, 199.0).await);
    assert!(is_retained(rig, 200.0).await);
}

async fn a_lower_count_drops_the_oldest(rig: &ProgressTest) {
    set_up(rig, settings(1000, Some(1000), Sampling::Systematic)).await;
    for at in 200..215 {
        assert!(is_retained(rig, f64::from(at)).await);
    }
    let lower = settings(10, Some(1000), Sampling::Systematic);
    let changed = rig.progress.update_bar(&rig.user, BAR, lower, StepConfig::default()).await;
    changed.expect("changed");
    assert_eq!(rig.retained().await.len(), 15, "until the next trace");
    assert!(!is_retained(rig, 220.0).await);
    let expected: Vec<f64> = (205..215).map(f64::from).collect();
    assert_eq!(rig.retained().await, expected);
}

async fn hundred_traces_in_a_second_are_all_retained(rig: &ProgressTest) {
    set_up(rig, settings(10_000, Some(100), Sampling::Systematic)).await;
    for at in 0..100 {
        let at = 230.0 + f64::from(at) / 100.0;
        assert!(is_retained(rig, at).await, "{at}");
    }
}

async fn old_traces_are_dropped(rig: &ProgressTest) {
    set_up(rig, settings(10, Some(60), Sampling::Systematic)).await;
    for at in [300.0, 310.0, 320.0] {
        assert!(is_retained(rig, at).await);
    }
    assert!(is_retained(rig, 370.0).await);
    assert_eq!(rig.retained().await, [310.0, 320.0, 370.0], "what is a minute old stays");
    assert!(is_retained(rig, 10_000.0).await);
    assert_eq!(rig.retained().await, [10_000.0]);
}
