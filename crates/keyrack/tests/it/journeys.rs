//! `keyrack journeys`.

use serde_json::json;

use crate::{program::Run, world::World};

#[test]
fn a_journey_is_made_shown_listed_and_deleted() {
    let world = World::new();
    let mut create = world.keyrack("journeys create --duration 1m --numeric 1..10");
    create.arg("how are you?");
    let created = Run::of(create);
    assert_eq!(created.code, Some(0), "{created:?}");
    let uid = created.stdout.trim();
    assert!(uid.starts_with("oseh_j_"), "{uid}");
    let shown = world.json(&format!("journeys show {uid}"));
    let prompt =
        json!({"style": "numeric", "text": "how are you?", "min": 1, "max": 10, "step": 1});
    assert_eq!((&shown["prompt"], &shown["second"]), (&prompt, &json!(60)));
    assert_eq!((&shown["totals"]["users"], &shown["histogram"]), (&json!(0), &json!([])));
    assert!(world.printed(&format!("journeys show {uid}")).contains("at 60 s\n  users   0\n"));
    let listed = world.printed("journeys list");
    assert!(listed.contains(uid) && listed.contains("how are you?"), "{listed}");
    let run = world.run(&format!("journeys rm {uid}"));
    assert_eq!(
        (run.code, run.failure().0),
        (Some(2), "error: deleting a journey needs to be confirmed")
    );
    assert_eq!(world.run(&format!("journeys rm {uid} --yes")).code, Some(0));
    assert_eq!(world.run(&format!("journeys rm {uid} --yes")).code, Some(3));
    assert_eq!(world.run(&format!("journeys show {uid}")).code, Some(3));
    assert_eq!(world.json("journeys list"), json!([]));
}

#[test]
fn every_style_can_be_asked_for_and_nonsense_cannot() {
    let world = World::new();
    for (options, style) in
        [("--press", "press"), ("--color red,blue", "color"), ("--word a,b,c", "word")]
    {
        let created = world.json(&format!("journeys create q --duration 90s {options}"));
        assert_eq!(created["prompt"]["style"], style);
    }
    for bad in ["--numeric 5", "--numeric 9..1", "", "--press --word a"] {
        let run = world.run(&format!("journeys create q --duration 90s {bad}"));
        assert_eq!(run.code, Some(2), "{bad}: {run:?}");
    }
    assert_eq!(world.run("journeys create q --press --duration 5h").code, Some(2));
}
