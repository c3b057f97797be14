//! Where we deliberately do otherwise than the original: the entries of `docs/deviations.md`, and how they are recognised.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::compare::Difference;

const TABLE: &str = include_str!("../../../src/bee/docs/deviations.md");

/// An entry of the list, and the differences that it explains.
struct Deviation {
    id: &'static str,
    explains: fn(&Difference) -> bool,
}

const DEVIATIONS: &[Deviation] = &[
    Deviation { id: "digits", explains: is_cut_number },
    Deviation { id: "names", explains: |it| it.path == "name" },
    Deviation { id: "scripts", explains: |it| it.path == "bee:scripts" && it.ours.is_none() },
    Deviation { id: "log", explains: |it| it.path == "bee:str:hive:options.log" },
    Deviation {
        id: "priority",
        explains: |it| it.path.ends_with("options.priority") && it.recorded == Some(json!("3")),
    },
    Deviation { id: "ranks", explains: is_ranked_order },
    Deviation { id: "later", explains: is_later },
    Deviation { id: "delay", explains: |it| it.scenario == "submit_delay" && names_delay(it) },
    Deviation {
        id: "undefined",
        explains: |it| it.path == "message 1.progress" && it.ours == Some(Json::Null),
    },
    Deviation {
        id: "tags",
        explains: |it| it.path.starts_with("bee:s:tags:") && it.ours.is_none(),
    },
    Deviation { id: "tags", explains: |it| it.scenario == "set_tags_unknown" },
    Deviation { id: "fence", explains: |it| it.scenario == "complete_twice" },
    Deviation { id: "fence", explains: |it| it.scenario == "lock_expiry_stale_done" },
    Deviation { id: "ghosts", explains: |it| it.scenario == "claim_missing_hash" },
    Deviation { id: "ghosts", explains: |it| it.scenario == "expiry_poison" },
    Deviation { id: "alone", explains: |it| it.scenario == "cancel_duplicate" },
    Deviation { id: "whole", explains: |it| it.scenario == "priority_null" },
    Deviation { id: "whole", explains: |it| it.scenario == "sub_job_canceled_parent" },
    Deviation { id: "hash", explains: |it| it.scenario == "custom_hash_number" },
    Deviation { id: "message", explains: |it| it.scenario == "fail_throw_null" },
    Deviation { id: "message", explains: |it| it.scenario == "fail_object_message" },
];

/// A number of which the original kept 14 digits, or the hash of such numbers.
fn is_cut_number(it: &Difference) -> bool {
    const HASHES: [(&str, &str); 3] = [
        ("args_through_worker", "hash of ints"),
        ("args_through_worker", "hash of floats"),
        ("claim_default_hash", "hash of A"),
    ];
    let number = |value: &Option<Json>| value.as_ref().and_then(Json::as_f64);
    match (number(&it.recorded), number(&it.ours)) {
        (Some(cut), Some(whole)) => format!("{whole:.13e}").parse() == Ok(cut),
        _ => HASHES.contains(&(it.scenario.as_str(), it.path.as_str())),
    }
}

/// Two jobs of one score that change places, since one of them has a priority: the first two of one claim, and those of two
/// claims one after the other. Nothing else of these scenarios is excused.
fn is_ranked_order(it: &Difference) -> bool {
    let path = it.path.as_str();
    match (it.scenario.as_str(), it.place.as_str()) {
        ("priority_order", "step 8") => {
            path.starts_with("reply[0].") || path.starts_with("reply[1].")
        }
        ("delay_promotion", "step 6" | "step 7") => path.starts_with("reply[0]."),
        ("delay_promotion", r#"checkpoint "first pop""# | r#"checkpoint "second pop""#) => [
            "bee:h:jobs:A",
            "bee:h:jobs:B",
            "bee:s:locks:h1:mail",
            "bee:ss:locks:mail",
            "bee:ss:queue:mail",
        ]
        .iter()
        .any(|key| path.starts_with(key)),
        _ => false,
    }
}

/// Scores of jobs with a negative priority in a queue without backlog, and of jobs that came while only such a one waited.
/// The other scores are the same.
fn is_later(it: &Difference) -> bool {
    let moved: &[&str] = match it.scenario.as_str() {
        "submit_priority" => &["p-3"],
        "priority_order" => &["b5_p-1"],
        "priority_head_in_future" => &["neg", "p5", "p10"],
        _ => return false,
    };
    let others = |scores: &Option<Json>| -> Option<Vec<Json>> {
        let is_moved = |entry: &Json| moved.iter().any(|jid| entry[0] == *jid);
        Some(scores.as_ref()?.as_array()?.iter().filter(|it| !is_moved(it)).cloned().collect())
    };
    it.path == "bee:ss:queue:mail"
        && others(&it.recorded).is_some()
        && others(&it.recorded) == others(&it.ours)
}

/// A delay that we refuse, and the one that stands there instead.
fn names_delay(it: &Difference) -> bool {
    let refused = |ours: &Json| ours.as_str().is_some_and(|why| why.starts_with("delay: -5 ms"));
    let mended = it.path.ends_with("options.delay") && it.recorded == Some(json!(-5));
    it.ours.as_ref().is_some_and(refused) || mended
}

/// Which row explains a difference, if one does.
pub(super) fn explanation(difference: &Difference) -> Option<&'static str> {
    DEVIATIONS.iter().find(|row| (row.explains)(difference)).map(|row| row.id)
}

/// The ids in the list.
pub(super) fn documented() -> BTreeSet<&'static str> {
    let id = |line: &'static str| line.strip_prefix("- `")?.split_once('`').map(|(id, _)| id);
    TABLE.lines().filter_map(id).collect()
}
