//! How much memory the same data takes.

use anyhow::Result;

use super::super::server::Server;
use super::super::table::{Row, Table};
use super::Programs;

const N: u32 = 1_000_000;
/// How much more than redis-server the engine may use.
const RATIO_MAX: f64 = 1.5;
const MIB: f64 = 1024.0 * 1024.0;

/// The command that a number stands for.
type Line = fn(u32) -> String;

/// What a server is filled with.
const FILLINGS: &[(&str, Line)] = &[
    ("a million hashes of five fields", |n| {
        format!(
            "HSET user:{n} name user-{n:06} city berlin-{:03} plan premium-{} seen {} visits {n}",
            n % 997,
            n % 7,
            1_667_950_000 + n
        )
    }),
    ("a sorted set of a million members", |n| {
        format!("ZADD ranking {} member:{n:012}", n.wrapping_mul(2_654_435_761))
    }),
];

/// Fills servers and asks them what they use; what the system gives them is shown beside it.
pub(super) fn run(programs: &Programs) -> Result<()> {
    let mut used = Table::new("keyrack-engine", "redis-server");
    let mut resident = Table::new("keyrack-engine", "redis-server");
    for (name, line) in FILLINGS {
        let (reference, subject) = (Server::redis()?, programs.engine()?);
        for server in [&reference, &subject] {
            server.feed((0..N).map(line))?;
        }
        for (table, field) in [(&mut used, "used_memory"), (&mut resident, "used_memory_rss")] {
            table.add(Row {
                name: (*name).to_owned(),
                subject: subject.info(field)? / MIB,
                reference: reference.info(field)? / MIB,
                per_cpu: None,
            });
        }
    }
    println!("MiB in use\n{used}");
    println!("MiB resident, for information\n{resident}");
    used.require(0.0..=RATIO_MAX)
}
