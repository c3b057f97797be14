//! How much memory the same data takes.

use anyhow::{Context, Result};

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

/// Requires that the engine uses little more than redis-server.
pub(super) fn run(programs: &Programs) -> Result<()> {
    measure(|| programs.engine(), Server::redis)?.require(0.0..=RATIO_MAX)
}

/// Fills both servers and prints what they use, and what the system gives them.
pub(super) fn measure(
    subject: impl Fn() -> Result<Server>,
    reference: impl Fn() -> Result<Server>,
) -> Result<Table> {
    let (mut used, mut resident) = (None, None);
    for (name, line) in FILLINGS {
        let (subject, reference) = (subject()?, reference()?);
        for server in [&reference, &subject] {
            server.feed((0..N).map(line))?;
        }
        for (table, field) in [(&mut used, "used_memory"), (&mut resident, "used_memory_rss")] {
            let table = table.get_or_insert_with(|| Table::new(subject.name(), reference.name()));
            table.add(Row {
                name: (*name).to_owned(),
                subject: subject.info(field)? / MIB,
                reference: reference.info(field)? / MIB,
                paired: None,
                per_cpu: None,
            });
        }
    }
    let (used, resident) = used.zip(resident).context("nothing was measured")?;
    println!("MiB in use\n{used}");
    println!("MiB resident, for information\n{resident}");
    Ok(used)
}
