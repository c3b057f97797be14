//! Messages that make no sense, whatever the trace looks like.

use keyrack_progress::{Error, ITERATIONS_MAX, NewTrace, Update};
use keyrack_store::{Class, ServiceError as _};

use crate::rig::{ProgressTest, done, everywhere, goes_on, iterated, starts};

#[tokio::test]
async fn messages_that_make_no_sense_change_nothing() {
    everywhere(async |rig| {
        traces_need_a_bar_a_uid_and_a_step(&rig.of("new")).await;
        iterations_have_to_fit_together(&rig.of("shape")).await;
        names_can_be_almost_anything(&rig.of("names")).await;
    })
    .await;
}

async fn traces_need_a_bar_a_uid_and_a_step(rig: &ProgressTest) {
    let long_uid = "u".repeat(156);
    let (long_name, wide_name) = ("n".repeat(256), "🐝".repeat(65));
    let new = starts("open");
    for (field, bad) in [
        ("uid", NewTrace { uid: String::new(), ..new.clone() }),
        ("uid", NewTrace { uid: long_uid, ..new.clone() }),
        ("uid", NewTrace { uid: "a b".into(), ..new.clone() }),
        ("uid", NewTrace { uid: "a:b".into(), ..new.clone() }),
        ("uid", NewTrace { uid: "é".into(), ..new.clone() }),
        ("bar name", NewTrace { pbar_name: String::new(), ..new.clone() }),
        ("pbar_name", NewTrace { pbar_name: long_name.clone(), ..new.clone() }),
        ("bar name", NewTrace { pbar_name: wide_name, ..new.clone() }),
        ("step_name", NewTrace { step_name: String::new(), ..new.clone() }),
        ("step_name", NewTrace { step_name: long_name, ..new.clone() }),
        ("iterations", NewTrace { iterations: Some(0), ..new.clone() }),
        ("iterations", NewTrace { iterations: Some(ITERATIONS_MAX + 1), ..new.clone() }),
        ("reports_every", NewTrace { reports_every: Some(0), ..new.clone() }),
        ("reports_every", NewTrace { reports_every: Some(86_401), ..new.clone() }),
    ] {
        let error = rig.create(&bad).await.expect_err("a refusal");
        assert_eq!(error.info().class, Class::Invalid, "{bad:?}");
        assert!(error.to_string().contains(field), "{error}");
    }
    let reserved = rig.create(&starts("default")).await.expect_err("a refusal");
    assert!(matches!(reserved, Error::StepReserved), "{reserved}");
    assert!(!rig.exists(&rig.trace_key()).await && !rig.exists(&rig.step_key(1)).await);
    assert_eq!(rig.progress.usage(&rig.user).await.expect("usage").traces, 0);
    let longest = NewTrace { uid: "u".repeat(155), pbar_name: "n".repeat(255), ..new };
    rig.create(&longest).await.expect("as long as can be");
}

async fn iterations_have_to_fit_together(rig: &ProgressTest) {
    rig.create(&NewTrace { iterations: Some(3), ..starts("read") }).await.expect("created");
    let update = iterated("read", 1, 3);
    let without = |iteration, iterations| Update { iteration, iterations, ..update.clone() };
    for bad in [
        without(None, Some(3)),
        without(Some(1), None),
        without(Some(0), None),
        without(Some(4), Some(3)),
        without(Some(0), Some(0)),
        without(Some(1), Some(ITERATIONS_MAX + 1)),
        done(without(Some(2), Some(3))),
        done(without(Some(3), None)),
        done(without(None, Some(3))),
        Update { step_name: String::new(), ..update.clone() },
    ] {
        rig.refuse(&bad, "invalid").await;
    }
    for bad in [
        Update { pbar_name: String::new(), ..update.clone() },
        Update { trace_uid: String::new(), ..update.clone() },
    ] {
        rig.refuse(&bad, "bad_name").await;
    }
    rig.accept(&without(Some(3), Some(3))).await;
    rig.accept(&done(without(Some(3), Some(3)))).await;
}

async fn names_can_be_almost_anything(rig: &ProgressTest) {
    for name in ["a:b", "x:y:step", "{tag}", "100 %", "🐝 é", "*?[]\\^", "\u{0}\u{7f}", ":"] {
        let new = NewTrace { pbar_name: name.into(), ..starts(name) };
        rig.create(&new).await.expect("created");
        let update = Update { pbar_name: name.into(), ..goes_on(name) };
        rig.accept(&done(update)).await;
        let handled = rig.progress.handle_completed(&rig.user, name, &new.uid, None).await;
        handled.expect("handled");
        let samples = rig.progress.samples(&rig.user, name).await.expect("an answer");
        let samples = samples.expect("a bar");
        assert_eq!((&*samples.bar.name, &*samples.steps[1].name), (name, name));
        assert_eq!(samples.traces.len(), 1, "{name} has the samples of its own trace only");
    }
    assert_eq!(rig.progress.list_bars(&rig.user).await.expect("bars").len(), 8);
}
