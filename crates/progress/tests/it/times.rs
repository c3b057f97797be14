//! How long a trace will take: out of samples, and out of the cache.

use keyrack_progress::{
    BarSettings, Eta, Live, StepConfig, Technique,
    keys::{self, StepPosition, Version},
};

use crate::rig::{BAR, NOW, ProgressTest, TRACE, bar, everywhere, fields, goes_on};

#[tokio::test]
async fn times_follow_from_the_samples() {
    everywhere(async |rig| {
        nothing_is_known_of_an_unknown_bar(&rig.of("unknown")).await;
        nothing_is_known_without_samples(&rig.of("empty")).await;
        each_technique_has_its_number(&rig.of("techniques")).await;
        times_are_cached_as_documented(&rig.of("cached")).await;
        what_changes_the_times_drops_the_cache(&rig.of("dropped")).await;
        what_others_put_into_the_cache_is_not_believed(&rig.of("foreign")).await;
        nothing_is_cached_for_a_bar_that_has_changed_meanwhile(&rig.of("raced")).await;
    })
    .await;
}

/// Two runs: a one-off step of 1 s and 4 s, then 2 and 6 iterations in 5 s and 13 s.
async fn two_runs(rig: &ProgressTest) {
    rig.run("a", NOW, &[("open", 0, 1.0), ("read", 2, 5.0)]).await;
    let often = BarSettings {
        sampling_max_count: 100_000,
        sampling_max_age_seconds: Some(60),
        ..BarSettings::default()
    };
    let changed = rig.progress.update_bar(&rig.user, BAR, often, StepConfig::default()).await;
    changed.expect("changed");
    rig.run("b", NOW + 30.0, &[("open", 0, 4.0), ("read", 6, 13.0)]).await;
}

async fn eta(rig: &ProgressTest) -> Eta {
    rig.progress.eta(&rig.user, BAR).await.expect("times")
}

fn stats_keys(rig: &ProgressTest, version: u64) -> [keyrack_keys::Key; 3] {
    let technique = |name: &str| keys::Technique::new(name).expect("a technique");
    let version = Version::new(version).expect("a version");
    let step = |position, name| {
        let position = StepPosition::new(position).expect("a position");
        keys::step_stats(&rig.user, &bar(), &version, &position, &technique(name))
    };
    [
        keys::overall_stats(&rig.user, &bar(), &version, &technique("percentile_75")),
        step(1, "percentile_75"),
        step(2, "best_fit.linear"),
    ]
}

async fn nothing_is_known_of_an_unknown_bar(rig: &ProgressTest) {
    let eta = eta(rig).await;
    assert_eq!(eta, Eta::unknown());
    let expected = serde_json::json!({
        "technique": "percentile", "percentile": 0.5, "eta": 0.0, "version": -1, "steps": [],
    });
    assert_eq!(serde_json::to_value(&eta).expect("JSON"), expected);
    rig.start("open").await;
    let live = Live::at(NOW + 2.0, &eta, Some(&rig.trace().await));
    assert_eq!((live.remaining_eta_seconds, &*live.step_name), (-2.0, "open"));
}

async fn nothing_is_known_without_samples(rig: &ProgressTest) {
    two_runs(rig).await;
    for trace in rig.samples().await.traces {
        rig.progress.delete_trace(&rig.user, BAR, &trace.uid).await.expect("deleted");
    }
    let eta = eta(rig).await;
    assert_eq!((eta.eta, eta.version), (0.0, 0));
    let fits: Vec<_> = eta.steps.iter().map(|step| (step.eta_a, step.eta_b)).collect();
    assert_eq!(fits, [(0.0, None), (0.0, Some(0.0))]);
    for key in stats_keys(rig, 0) {
        assert!(!rig.exists(&key).await, "nothing is not cached");
    }
}

async fn each_technique_has_its_number(rig: &ProgressTest) {
    two_runs(rig).await;
    let set = async |technique, percentile| {
        let config = StepConfig {
            one_off_technique: technique,
            one_off_percentile: percentile,
            iterated_technique: technique,
            iterated_percentile: percentile,
        };
        let settings = rig.samples().await.bar.settings;
        rig.progress.update_bar(&rig.user, BAR, settings, config).await.expect("changed");
        for step in ["open", "read"] {
            rig.progress.update_step(&rig.user, BAR, step, config).await.expect("changed");
        }
        let eta = eta(rig).await;
        (eta.eta, eta.steps[0].eta_a, eta.steps[1].eta_a)
    };
    // Overall 6 s and 17 s; opening 1 s and 4 s; an iteration 2.5 s and 13/6 s.
    let iteration = 13.0 / 6.0;
    assert_eq!(set(Technique::Percentile, 0.0).await, (6.0, 1.0, iteration));
    assert_eq!(set(Technique::Percentile, 49.5).await, (6.0, 1.0, iteration));
    assert_eq!(set(Technique::Percentile, 50.0).await, (17.0, 4.0, 2.5));
    assert_eq!(set(Technique::Percentile, 100.0).await, (17.0, 4.0, 2.5));
    assert_eq!(set(Technique::ArithmeticMean, 0.0).await, (11.5, 2.5, (2.5 + iteration) / 2.0));
    let (overall, open, read) = set(Technique::GeometricMean, 0.0).await;
    assert!((overall - 102_f64.sqrt()).abs() < 1e-9 && (open - 2.0).abs() < 1e-9);
    assert!((read - (2.5 * iteration).sqrt()).abs() < 1e-9);
    let (overall, open, _) = set(Technique::HarmonicMean, 0.0).await;
    assert!((overall - 204.0 / 23.0).abs() < 1e-9 && (open - 1.6).abs() < 1e-9);
}

async fn times_are_cached_as_documented(rig: &ProgressTest) {
    two_runs(rig).await;
    let worked_out = eta(rig).await;
    assert_eq!((worked_out.eta, worked_out.steps[0].eta_a), (17.0, 4.0));
    let read = &worked_out.steps[1];
    assert_eq!((read.eta_a, read.eta_b), (2.0, Some(1.0)), "the slope, then the intercept");
    assert_eq!(read.seconds(10), 21.0);
    let [overall, open, read] = stats_keys(rig, 0);
    assert_eq!(rig.ask::<String>("GET", &overall, &[]).await, "17.0");
    assert_eq!(rig.hash(&open).await, fields([("a", "4.0"), ("check", "4.0,")]));
    let expected = fields([("a", "2.0"), ("b", "1.0"), ("check", "2.0,1.0")]);
    assert_eq!(rig.hash(&read).await, expected);
    for key in [&overall, &open, &read] {
        rig.assert_expires_in(key, 1800).await;
    }
    // What is read comes from there.
    rig.ask::<()>("SET", &overall, &["18.5", "EX", "1800"]).await;
    assert_eq!(eta(rig).await, Eta { eta: 18.5, ..worked_out });
    let fresh = rig.progress.fresh_eta(&rig.user, BAR).await.expect("times");
    assert_eq!(fresh.eta, 17.0);
    assert_eq!(rig.ask::<String>("GET", &overall, &[]).await, "17.0");
}

async fn what_changes_the_times_drops_the_cache(rig: &ProgressTest) {
    let assert_dropped = async |what: &str| {
        for key in stats_keys(rig, 0) {
            assert!(!rig.exists(&key).await, "{what} leaves {key}");
        }
        eta(rig).await;
    };
    two_runs(rig).await;
    assert_dropped("the start").await;
    rig.run("c", NOW + 60.0, &[("open", 0, 7.0), ("read", 6, 13.0)]).await;
    assert_eq!(eta(rig).await.eta, 20.0);
    rig.run("d", NOW + 90.0, &[("open", 0, 8.0), ("read", 6, 13.0)]).await;
    assert_dropped("a new sample").await;
    let uid = rig.samples().await.traces[0].uid.clone();
    rig.progress.delete_trace(&rig.user, BAR, &uid).await.expect("deleted");
    assert_dropped("a deleted sample").await;
    let config = StepConfig::default();
    rig.progress.update_step(&rig.user, BAR, "open", config).await.expect("changed");
    assert_dropped("a changed step").await;
    let settings = rig.samples().await.bar.settings;
    rig.progress.update_bar(&rig.user, BAR, settings, config).await.expect("changed");
    assert_dropped("a changed bar").await;
    rig.run("e", NOW + 120.0, &[("open", 0, 8.0)]).await;
    for key in stats_keys(rig, 0) {
        assert!(!rig.exists(&key).await, "a new version leaves {key}");
    }
    let eta = eta(rig).await;
    assert_eq!((eta.version, eta.eta, eta.steps.len()), (1, 8.0, 1));
    rig.progress.delete_bar(&rig.user, BAR).await.expect("deleted");
    let [overall, open, _] = stats_keys(rig, 1);
    assert!(!rig.exists(&overall).await && !rig.exists(&open).await);
}

async fn what_others_put_into_the_cache_is_not_believed(rig: &ProgressTest) {
    two_runs(rig).await;
    let right = eta(rig).await;
    let [overall, open, read] = stats_keys(rig, 0);
    // The original has intercept and slope the other way round, and no check.
    rig.ask::<()>("DEL", &read, &[]).await;
    rig.ask::<()>("HSET", &read, &["a", "1.0", "b", "2.0"]).await;
    assert_eq!(eta(rig).await, right);
    // It may also write over ours, and leave the check.
    rig.ask::<()>("HSET", &read, &["a", "1.0", "b", "2.0"]).await;
    assert_eq!(eta(rig).await, right);
    // Bars with colons in their names had keys of other types there.
    for key in [&open, &read] {
        rig.ask::<()>("DEL", key, &[]).await;
        rig.ask::<()>("SET", key, &["5", "EX", "60"]).await;
        assert_eq!(eta(rig).await, right, "{key} is a string");
    }
    rig.ask::<()>("DEL", &overall, &[]).await;
    rig.ask::<()>("HSET", &overall, &["a", "1.0"]).await;
    assert_eq!(eta(rig).await, right);
    rig.ask::<()>("SET", &overall, &["many", "EX", "60"]).await;
    assert_eq!(eta(rig).await, right);
    assert_eq!(rig.ask::<String>("GET", &overall, &[]).await, "17.0");
}

async fn nothing_is_cached_for_a_bar_that_has_changed_meanwhile(rig: &ProgressTest) {
    two_runs(rig).await;
    let mut work = tokio::task::JoinSet::new();
    for n in 0..10_u32 {
        let (counting, asking) = (rig.clone(), rig.clone());
        work.spawn(async move {
            let begins = NOW + 150.0 + f64::from(n);
            counting.run(&format!("n{n}"), begins, &[("open", 0, 1.0), ("read", 2, 5.0)]).await;
        });
        work.spawn(async move { drop(eta(&asking).await) });
    }
    work.join_all().await;
    let cached = eta(rig).await;
    assert_eq!(cached, rig.progress.fresh_eta(&rig.user, BAR).await.expect("times"));
    rig.start("open").await;
    rig.accept(&goes_on("read")).await;
    assert!(!cached.fits(&rig.find(TRACE).await.expect("the trace")), "it is one-off now");
}
