//! What the company does follows from its seed.

use std::{collections::BTreeSet, time::Duration};

use keyrack_demo::{Scenario, TimedAction};

fn first(seed: u64, n: usize) -> Vec<TimedAction> {
    Scenario::new(seed).take(n).collect()
}

#[test]
fn one_seed_gives_one_company() {
    assert_eq!(first(7, 20_000), first(7, 20_000));
    assert_ne!(first(7, 100), first(8, 100));
}

#[test]
fn nothing_is_done_before_what_was_done_before() {
    for seed in 0..20 {
        let at: Vec<Duration> = first(seed, 5_000).iter().map(|timed| timed.at).collect();
        assert!(at.is_sorted(), "seed {seed}");
    }
}

#[test]
fn every_service_is_used_within_ten_seconds() {
    for seed in 0..20 {
        let soon = Scenario::new(seed).take_while(|timed| timed.at < Duration::from_secs(10));
        let words = soon.map(|timed| {
            let text = format!("{:?}", timed.action);
            text.split('(').next().unwrap_or_default().to_owned()
        });
        let services: BTreeSet<String> = words.collect();
        assert_eq!(services.len(), 10, "seed {seed}: {services:?}");
    }
}

#[test]
fn billing_fails_once_within_half_a_minute() {
    let soon = Scenario::new(1).take_while(|timed| timed.at < Duration::from_secs(40));
    let outages = soon.filter(|timed| format!("{:?}", timed.action).ends_with("(Outage)"));
    assert_eq!(outages.count(), 1);
}
