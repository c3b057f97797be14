//! All rows of a user.

use keyrack_progress::{BarSettings, StepConfig, Update};

use crate::rig::{BAR, NOW, ProgressTest, everywhere, goes_on, starts};

#[tokio::test]
async fn all_rows_of_a_user_are_listed() {
    everywhere(async |rig| {
        nothing_is_an_empty_list(&rig.of("nobody")).await;
        bars_steps_and_retained_traces_are_listed(&rig.of("lists")).await;
        more_bars_than_are_read_at_once_are_all_listed(&rig.of("many")).await;
    })
    .await;
}

async fn nothing_is_an_empty_list(rig: &ProgressTest) {
    let (progress, user) = (&rig.progress, &rig.user);
    assert!(progress.list_bars(user).await.expect("bars").is_empty());
    for bar in [None, Some(BAR)] {
        assert!(progress.list_steps(user, bar).await.expect("steps").is_empty());
        assert!(progress.list_traces(user, bar).await.expect("traces").is_empty());
        assert!(progress.list_trace_steps(user, bar).await.expect("steps").is_empty());
    }
}

async fn bars_steps_and_retained_traces_are_listed(rig: &ProgressTest) {
    let (progress, user) = (&rig.progress, &rig.user);
    let settings = BarSettings {
        sampling_max_count: 10,
        sampling_max_age_seconds: Some(60),
        ..Default::default()
    };
    rig.run("a", NOW, &[("open", 0, 1.0), ("read", 5, 2.0)]).await;
    progress.update_bar(user, BAR, settings, StepConfig::default()).await.expect("changed");
    rig.run("b", NOW + 10.0, &[("open", 0, 3.0), ("read", 10, 4.0)]).await;
    progress.create_bar(user, "other", settings, StepConfig::default()).await.expect("a bar");

    let bars = progress.list_bars(user).await.expect("bars");
    let names: Vec<&str> = bars.iter().map(|bar| &*bar.name).collect();
    assert_eq!(names, ["import", "other"], "oldest first");
    let steps = progress.list_steps(user, None).await.expect("steps");
    let seen: Vec<_> =
        steps.iter().map(|step| (&*step.progress_bar_name, step.position, &*step.name)).collect();
    let expected =
        [(BAR, 0, "default"), (BAR, 1, "open"), (BAR, 2, "read"), ("other", 0, "default")];
    assert_eq!(seen, expected);
    assert_eq!(progress.list_steps(user, Some(BAR)).await.expect("steps"), steps[..3]);

    let traces = progress.list_traces(user, None).await.expect("traces");
    let seen: Vec<_> =
        traces.iter().map(|trace| (&*trace.user_sub, trace.created_at - NOW)).collect();
    assert_eq!(seen, [("lists", 0.0), ("lists", 10.0)]);
    let rows = progress.list_trace_steps(user, None).await.expect("steps");
    let seen: Vec<_> = rows
        .iter()
        .map(|row| {
            let name = &*row.progress_bar_step_name;
            (name, row.progress_bar_step_position, row.duration(), row.normalized_duration())
        })
        .collect();
    let expected = [
        ("open", 1, 1.0, 1.0),
        ("read", 2, 2.0, 0.4),
        ("open", 1, 3.0, 3.0),
        ("read", 2, 4.0, 0.4),
    ];
    assert_eq!(seen, expected);
    assert_eq!(rows[3].progress_bar_trace_uid, traces[1].uid);
}

async fn more_bars_than_are_read_at_once_are_all_listed(rig: &ProgressTest) {
    for n in 0..120 {
        let name = format!("bar {n:03}");
        let new = keyrack_progress::NewTrace { pbar_name: name.clone(), ..starts("work") };
        rig.create(&new).await.expect("created");
        rig.accept(&Update { pbar_name: name.clone(), done: true, ..goes_on("work") }).await;
        let handled = rig.progress.handle_completed(&rig.user, &name, &new.uid, None).await;
        handled.expect("handled");
    }
    assert_eq!(rig.progress.list_bars(&rig.user).await.expect("bars").len(), 120);
    assert_eq!(rig.progress.list_traces(&rig.user, None).await.expect("traces").len(), 120);
}
