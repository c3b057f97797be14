//! The added keys: how they are written, and what is not shared between names.

use keyrack_keys::Layout;
use keyrack_progress::{BarSettings, NewTrace, Sampling, StepConfig, Update, keys};

use crate::rig::{
    BAR, NOW, ProgressTest, TRACE, bar, done, everywhere, fields, iterated, starts, trace_uid, user,
};

#[tokio::test]
async fn bars_are_written_as_declared() {
    everywhere(async |rig| {
        a_bar_and_its_steps_are_one_hash_and_one_list(&rig.of("bars")).await;
        an_age_that_is_not_set_is_not_there(&rig.of("ageless")).await;
        retained_traces_are_indexed_by_time(&rig.of("samples")).await;
        paces_come_and_go_with_the_retained_traces(&rig.of("paces")).await;
        results_of_examples_are_kept_for_ten_minutes(&rig.of("example")).await;
    })
    .await;
}

async fn a_bar_and_its_steps_are_one_hash_and_one_list(rig: &ProgressTest) {
    let created =
        rig.progress.create_bar(&rig.user, BAR, BarSettings::default(), StepConfig::default());
    let created = created.await.expect("a bar");
    assert!(created.uid.starts_with("ep_pb_") && created.uid.len() == 17);
    let mut stored = rig.hash(&keys::bar(&rig.user, &bar())).await;
    assert_eq!(stored.remove("revision").map(|revision| revision.len()), Some(11));
    let expected = fields([
        ("uid", &created.uid),
        ("version", "0"),
        ("sampling_max_count", "100"),
        ("sampling_max_age_seconds", "604800"),
        ("sampling_technique", "systematic"),
        ("created_at", "1667950000.0"),
    ]);
    assert_eq!(stored, expected);
    let steps: Vec<String> = rig.ask("LRANGE", &keys::steps(&rig.user, &bar()), &["0", "-1"]).await;
    let mut step: serde_json::Value = serde_json::from_str(&steps[0]).expect("JSON");
    let uid = step["uid"].take();
    assert!(uid.as_str().is_some_and(|uid| uid.starts_with("ep_pbs_")));
    let expected = serde_json::json!({
        "uid": null, "name": "default", "iterated": false, "created_at": NOW,
        "one_off_technique": "percentile", "one_off_percentile": 75.0,
        "iterated_technique": "best_fit.linear", "iterated_percentile": 75.0,
    });
    assert_eq!(step, expected);
    let listed: Vec<(String, String)> =
        rig.ask("ZRANGE", &keys::bars(&rig.user), &["0", "-1", "WITHSCORES"]).await;
    assert_eq!(listed, [("import".to_owned(), "1667950000".to_owned())]);
}

async fn an_age_that_is_not_set_is_not_there(rig: &ProgressTest) {
    let ageless = BarSettings {
        sampling_max_age_seconds: None,
        sampling_technique: Sampling::SimpleRandom,
        ..BarSettings::default()
    };
    let config = StepConfig::default();
    let with_age = BarSettings::default();
    rig.progress.create_bar(&rig.user, BAR, with_age, config).await.expect("a bar");
    let changed = rig.progress.update_bar(&rig.user, BAR, ageless, config).await.expect("changed");
    assert_eq!(changed.settings, ageless);
    let stored = rig.hash(&keys::bar(&rig.user, &bar())).await;
    assert_eq!(stored.get("sampling_max_age_seconds"), None);
    assert_eq!(stored["sampling_technique"], "simple_random");
    let read = rig.progress.bar(&rig.user, BAR).await.expect("an answer").expect("the bar");
    assert_eq!(read, changed);
}

async fn retained_traces_are_indexed_by_time(rig: &ProgressTest) {
    rig.run(TRACE, NOW + 0.5, &[("read", 4, 2.0)]).await;
    let sample = rig.samples().await.traces.remove(0);
    assert!(sample.uid.starts_with("ep_pbt_") && sample.steps[0].uid.starts_with("ep_pbts_"));
    let index: Vec<(String, String)> =
        rig.ask("ZRANGE", &keys::traces(&rig.user, &bar()), &["0", "-1", "WITHSCORES"]).await;
    assert_eq!(index, [(sample.uid.clone(), "1667950000.5".to_owned())]);
    let stored = rig.hash(&keys::samples(&rig.user, &bar())).await;
    let expected = serde_json::json!({
        "uid": sample.uid, "created_at": NOW + 0.5,
        "steps": [{
            "uid": sample.steps[0].uid, "iterations": 4,
            "started_at": NOW + 0.5, "finished_at": NOW + 2.5,
        }],
    });
    let stored: serde_json::Value = serde_json::from_str(&stored[&sample.uid]).expect("JSON");
    assert_eq!(stored, expected);
}

/// Four iterations, of which the last takes as long as the others together.
async fn paces_come_and_go_with_the_retained_traces(rig: &ProgressTest) {
    rig.wait_until(NOW);
    rig.create(&NewTrace { iterations: Some(4), ..starts("read") }).await.expect("created");
    for (iteration, after) in [(1, 1.0), (2, 2.0), (3, 3.0)] {
        rig.wait_until(NOW + after);
        rig.accept(&Update { now: NOW + after, ..iterated("read", iteration, 4) }).await;
    }
    let pace = keys::trace_pace(&rig.user, &bar(), &trace_uid(TRACE));
    assert_eq!(rig.hash(&pace).await, fields([("1", "1:1.0000 2:2.0000 3:3.0000")]));
    rig.assert_expires_in(&pace, 86_400).await;
    rig.wait_until(NOW + 6.0);
    rig.accept(&done(Update { now: NOW + 6.0, ..iterated("read", 4, 4) })).await;
    rig.count(TRACE).await;
    let sample = rig.samples().await.traces.remove(0);
    let recent = rig.progress.recent_samples(&rig.user, BAR, 1).await.expect("an answer");
    assert_eq!(recent.expect("the bar").traces, std::slice::from_ref(&sample));
    let quarters = |pace: &[u16]| [pace[8], pace[16], pace[24]];
    assert_eq!(quarters(&sample.steps[0].pace), [167, 333, 500]);
    let paces = rig.hash(&keys::paces(&rig.user, &bar())).await;
    let stored: Vec<Vec<u16>> = serde_json::from_str(&paces[&sample.uid]).expect("JSON");
    assert_eq!(stored, [sample.steps[0].pace.clone()]);
    rig.progress.delete_trace(&rig.user, BAR, &sample.uid).await.expect("deleted");
    assert!(!rig.exists(&keys::paces(&rig.user, &bar())).await);
}

#[test]
fn names_that_look_like_other_keys_share_nothing() {
    let (alice, colon) = (user("alice"), keys::BarName::new("a:1").expect("a name"));
    let stats = keys::overall_stats(
        &alice,
        &colon,
        &keys::Version::new(2).expect("a version"),
        &keys::Technique::new("arithmetic_mean").expect("a technique"),
    );
    assert_eq!(stats.name(), "stats:alice:a%3A1:2:arithmetic_mean");
    assert_eq!(stats.placed(Layout::Cluster), "stats:{alice}:a%3A1:2:arithmetic_mean");
}

async fn results_of_examples_are_kept_for_ten_minutes(rig: &ProgressTest) {
    let uid = keys::ExampleUid::new("ep_t_1").expect("a uid");
    assert_eq!(rig.progress.example("ep_t_1").await.expect("an answer"), None);
    rig.progress.put_example("ep_t_1", 417).await.expect("kept");
    assert_eq!(rig.progress.example("ep_t_1").await.expect("an answer"), Some(417));
    assert_eq!(rig.ask::<String>("GET", &keys::example(&uid), &[]).await, "417");
    rig.assert_expires_in(&keys::example(&uid), 600).await;
    for number in [0, 10_001] {
        rig.progress.put_example("ep_t_2", number).await.expect_err("a refusal");
    }
    assert_eq!(rig.progress.example("ep_t_2").await.expect("an answer"), None);
}
