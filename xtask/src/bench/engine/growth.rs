//! What a sorted set's size does to its speed, as a client sees it.
//!
//! In pipelines, because one by one the network hides any difference. What is left is mostly waiting for memory, on any
//! server: redis-server's own ratio is shown beside the engine's.

use anyhow::Result;

use super::super::compare::Runs;
use super::super::load::{Load, Work};
use super::super::server::Server;
use super::super::table::{Row, Table};
use super::Programs;

const ROUNDS: u32 = 9;
const FEW: u32 = 1_000;
const MANY: u32 = 1_000_000;
/// How many times longer a request may take on the large set.
const RATIO_MAX: f64 = 3.0;

/// What is asked of a set: a name for it, the command, and what follows the set's key.
const REQUESTS: &[(&str, &str, &[&str])] = &[
    ("rank of a member", "ZRANK", &["member:__rand_int__"]),
    ("ten from a score on", "ZRANGE", &["__rand_int__", "+inf", "BYSCORE", "LIMIT", "0", "10"]),
];

/// Compares each server with itself; only the engine has to be good enough.
pub(super) fn run(programs: &Programs) -> Result<()> {
    let (subject, reference) = (programs.engine()?, Server::redis()?);
    for server in [&subject, &reference] {
        // Redis-benchmark writes its numbers with twelve digits.
        for n_members in [FEW, MANY] {
            server.feed((0..n_members).map(|n| format!("ZADD {n_members} {n} member:{n:012}")))?;
        }
    }
    let (of_subject, of_reference) = (measure(&subject)?, measure(&reference)?);
    println!("requests per second by members of the set, -P 16, keyrack-engine\n{of_subject}");
    println!("the same on redis-server, for information\n{of_reference}");
    of_subject.require(0.0..=RATIO_MAX)
}

fn measure(server: &Server) -> Result<Table> {
    let mut table = Table::new("1,000", "1,000,000");
    for (name, command, arguments) in REQUESTS {
        let (mut on_few, mut on_many) = (Runs::default(), Runs::default());
        for _ in 0..ROUNDS {
            for (runs, n_members) in [(&mut on_few, FEW), (&mut on_many, MANY)] {
                let key = n_members.to_string();
                let words = [&[*command, key.as_str()][..], arguments].concat();
                let load = Load {
                    label: name,
                    work: Work::Command(&words),
                    requests: 150_000,
                    clients: 50,
                    pipeline: 16,
                    keyspace: n_members,
                };
                runs.run(&load, server)?;
            }
        }
        table.add(Row {
            name: (*name).to_owned(),
            subject: on_few.median(),
            reference: on_many.median(),
            paired: None,
            per_cpu: on_many.cpu().zip(on_few.cpu()).map(|(many, few)| many / few),
        });
    }
    Ok(table)
}
