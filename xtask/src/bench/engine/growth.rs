//! What a sorted set's size does to its speed, as a client sees it.

use anyhow::Result;

use super::super::compare::Runs;
use super::super::load::{Load, Work};
use super::super::server::Server;
use super::super::table::{Row, Table};
use super::Programs;

const ROUNDS: u32 = 7;
const FEW: u32 = 1_000;
const MANY: u32 = 1_000_000;
/// How many times longer a request may take on the large set.
const RATIO_MAX: f64 = 3.0;

/// What is asked of a set, with the set's key left out.
const REQUESTS: &[(&str, &[&str], &[&str])] = &[
    ("rank of a member", &["ZRANK"], &["member:__rand_int__"]),
    ("ten from a score on", &["ZRANGE"], &["__rand_int__", "+inf", "BYSCORE", "LIMIT", "0", "10"]),
];

/// Compares each server with itself; only the engine has to be good enough.
pub(super) fn run(programs: &Programs) -> Result<()> {
    let subject = measure(&programs.engine()?)?;
    let reference = measure(&Server::redis()?)?;
    println!("requests per second on keyrack-engine by members of the set, -P 16\n{subject}");
    println!("the same on redis-server, for information\n{reference}");
    subject.require(0.0..=RATIO_MAX)
}

fn measure(server: &Server) -> Result<Table> {
    // Redis-benchmark writes its numbers with twelve digits.
    for n_members in [FEW, MANY] {
        server.feed((0..n_members).map(|n| format!("ZADD {n_members} {n} member:{n:012}")))?;
    }
    let mut table = Table::new("1,000", "1,000,000");
    for (name, command, arguments) in REQUESTS {
        let (mut on_few, mut on_many) = (Runs::default(), Runs::default());
        for _ in 0..ROUNDS {
            for (runs, n_members) in [(&mut on_few, FEW), (&mut on_many, MANY)] {
                let key = n_members.to_string();
                let words = [command, &[key.as_str()][..], arguments].concat();
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
            subject: on_few.best(),
            reference: on_many.best(),
            per_cpu: on_many.cpu().zip(on_few.cpu()).map(|(many, few)| many / few),
        });
    }
    Ok(table)
}
