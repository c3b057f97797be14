//! What scripts and declarations have to agree on.

use keyrack_keys::Layout;
use keyrack_progress::keys::{self, BarName, StepPosition, TraceUid};

use crate::rig::user;

/// The names that scripts make themselves.
const STEPS: &str = include_str!("../../src/include/steps.lua");

#[test]
fn scripts_make_the_keys_of_traces_as_they_are_declared() {
    assert!(STEPS.contains("return trace .. ':step:' .. string.format('%d', position)"));
    assert!(STEPS.contains("local pace_key = trace .. ':pace'"));
    let uid = TraceUid::new("t1").expect("a uid");
    for (user, bar) in [(user("alice"), "import"), (user("a:b {c}"), "x:y:step")] {
        let bar = BarName::new(bar).expect("a name");
        let trace = keys::trace(&user, &bar, &uid);
        let pace = keys::trace_pace(&user, &bar, &uid);
        for layout in [Layout::Documented, Layout::Cluster] {
            assert_eq!(pace.placed(layout), format!("{}:pace", trace.placed(layout)));
        }
        for position in [1, 250] {
            let step = StepPosition::new(position).expect("a position");
            let step = keys::step(&user, &bar, &uid, &step);
            for layout in [Layout::Documented, Layout::Cluster] {
                let derived = format!("{}:step:{position}", trace.placed(layout));
                assert_eq!(step.placed(layout), derived);
            }
        }
    }
}
