//! What the original did, done by us: every recorded scenario gives the same replies, messages and keys.
//!
//! `recording` is what was recorded, `player` plays it with `verbs` in a `world` of its own, `compare` finds what
//! differs from the recorded messages and the recorded `keyspace`, and `deviations` knows which of that is meant to.

mod compare;
mod deviations;
mod hashes;
mod keyspace;
mod player;
mod recording;
mod verbs;
mod world;

use std::collections::BTreeSet;

use keyrack_testkit::RedisServer;

use self::{compare::Difference, recording::Scenario};

/// Fails on differences that no row of the table explains. Returns the rows that do explain one.
#[track_caller]
fn explained(differences: &[Difference]) -> BTreeSet<&'static str> {
    let unexplained: Vec<String> = differences
        .iter()
        .filter(|difference| deviations::explanation(difference).is_none())
        .map(ToString::to_string)
        .collect();
    let count = unexplained.len();
    assert!(unexplained.is_empty(), "{count} unexplained differences:\n{}", unexplained.join("\n"));
    differences.iter().filter_map(deviations::explanation).collect()
}

async fn replay_all(server: Option<&str>) -> Vec<Difference> {
    let mut differences = Vec::new();
    for scenario in Scenario::all() {
        differences.extend(player::replay(&scenario, server).await);
    }
    differences
}

async fn adopt_all(server: Option<&str>) -> Vec<Difference> {
    let mut differences = Vec::new();
    for scenario in Scenario::all() {
        for checkpoint in &scenario.checkpoints {
            differences.extend(player::adopt(&scenario, checkpoint, server).await);
        }
    }
    differences
}

#[tokio::test]
async fn every_recorded_scenario_replays_on_the_embedded_engine() {
    let occurred = explained(&replay_all(None).await);
    assert_eq!(occurred, deviations::documented(), "rows that occur, and rows of the table");
}

#[tokio::test]
async fn every_recorded_scenario_replays_on_redis() {
    let server = RedisServer::start();
    let occurred = explained(&replay_all(Some(&server.url())).await);
    assert_eq!(occurred, deviations::documented(), "rows that occur, and rows of the table");
}

#[tokio::test]
async fn what_the_original_left_at_any_checkpoint_is_carried_on_by_the_embedded_engine() {
    explained(&adopt_all(None).await);
}

#[tokio::test]
async fn what_the_original_left_at_any_checkpoint_is_carried_on_on_redis() {
    let server = RedisServer::start();
    explained(&adopt_all(Some(&server.url())).await);
}

/// The rows for defects excuse whole scenarios, so what we do in them is written down to the last value.
#[tokio::test]
async fn defects_of_the_original_are_not_repeated() {
    let mut report = String::new();
    for scenario in Scenario::all().iter().filter(|scenario| scenario.defect) {
        for difference in player::replay(scenario, None).await {
            report += &format!("{difference}\n");
        }
    }
    insta::assert_snapshot!(report);
}
