//! `cargo xtask bench NAME`: speed as a ratio to redis-server or to others like us, measured in the same run.
//!
//! Absolute numbers say more about a machine than about a program, so every benchmark runs the
//! reference beside its subject: both pinned to one core, the load to another, in turns.

mod calc;
mod engine;
mod entitlements;
mod eta;
mod jobs;
mod journeys;
mod lint;
mod live;
mod noise;
mod pages;
mod recommend;
mod search;
mod watch;

mod cluster;
mod compare;
mod http;
mod load;
mod machine;
mod page;
mod report;
mod serve;
mod server;
mod table;

use anyhow::{Context, Result};

type Run = fn(&[&str]) -> Result<()>;

/// Name, what it measures, and how.
const BENCHES: &[(&str, &str, Run)] = &[
    (
        "calc",
        "calculations: events a second, cost at a million values, against recomputing",
        calc::run,
    ),
    (
        "clients",
        "the Node and Python packages against BullMQ, Celery and others",
        jobs::clients::run,
    ),
    ("engine", "keyrack-engine against redis-server: speed, memory, growth", engine::run),
    (
        "entitlements",
        "how fast entitlements are read, and how soon a purge arrives",
        entitlements::run,
    ),
    (
        "eta",
        "keyrack's estimates of remaining time against linear bars, tqdm, indicatif, and countdowns",
        eta::run,
    ),
    (
        "insight",
        "what a collector out of reach and webhooks cost jobs, in pairs with and without",
        jobs::insight::run,
    ),
    ("jobs", "keyrack's jobs against BullMQ and apalis-redis", jobs::run),
    ("journeys", "how late a thousand watchers see what happens on a journey", journeys::run),
    (
        "lint",
        "keyrack keys lint against redis-cli --bigkeys: a million keys of a server and of a cluster",
        lint::run,
    ),
    (
        "live",
        "a live page at five thousand events a second: what server and browser hold",
        live::run,
    ),
    ("noise", "redis-server against itself: how far from 1.00 a ratio strays here", noise::run),
    (
        "pages",
        "how long each page of the dashboard takes at ten thousand queues and a million jobs",
        pages::run,
    ),
    ("search", "how long the dashboard searches a million jobs", search::run),
    (
        "recommend",
        "how fast, private and good lists of posts are, and what a load costs",
        recommend::run,
    ),
    ("watch", "how late five thousand watchers see the updates of a trace", watch::run),
];

/// Runs the benchmark of this name, or lists all.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let Some((name, rest)) = arguments.split_first() else {
        for (name, purpose, _) in BENCHES {
            println!("{name:12} {purpose}");
        }
        return Ok(());
    };
    let (_, _, run) = BENCHES
        .iter()
        .find(|(known, ..)| known == name)
        .with_context(|| format!("no benchmark \"{name}\"; `cargo xtask bench` lists them"))?;
    run(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_benchmark_says_how_to_list_them() {
        let error = run(&["nothing"]).unwrap_err().to_string();
        assert_eq!(error, "no benchmark \"nothing\"; `cargo xtask bench` lists them");
    }
}
