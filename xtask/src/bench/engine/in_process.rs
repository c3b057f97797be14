//! The engine inside the process that uses it, against a redis-server that the process talks to.
//!
//! The same program calls the same script from 64 tasks either way, with both cores at its disposal.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Context, Result};

use super::super::compare::median;
use super::super::server::{Role, Server, pinned};
use super::super::table::{Row, Table};
use super::Programs;
use crate::shell;

const ROUNDS: u32 = 5;
const SECONDS: &str = "2";
/// How many times redis-server's rate the engine has to reach.
const RATIO_MIN: f64 = 2.0;

/// Measures without a log, which is what the requirement is about, and with a log in each of its modes.
pub(super) fn run(programs: &Programs) -> Result<()> {
    let program = programs.script_rate();
    let mut in_memory = Table::new("keyrack-engine", "redis-server");
    in_memory.add(measure(&program, "without a log", None)?);
    println!("a script of ZADD and HSET from 64 tasks in one process\n{in_memory}");

    let mut logged = Table::new("keyrack-engine", "redis-server");
    for (name, fsync) in [
        ("fsync when the system likes", "no"),
        ("fsync every second", "everysec"),
        ("fsync before each reply", "always"),
    ] {
        logged.add(measure(&program, name, Some(fsync))?);
    }
    println!("the same with a log, for information\n{logged}");
    in_memory.require(RATIO_MIN..=f64::INFINITY)
}

fn measure(program: &Path, name: &str, fsync: Option<&str>) -> Result<Row> {
    let (mut subject, mut reference) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        reference.push(through_redis(program, fsync)?);
        subject.push(through_engine(program, fsync)?);
    }
    // Where the system puts the threads is luck, good or bad.
    let (subject, reference) = (median(&subject), median(&reference));
    Ok(Row { name: name.to_owned(), subject, reference, paired: None, per_cpu: None })
}

fn through_redis(program: &Path, fsync: Option<&str>) -> Result<f64> {
    let with_log = ["--appendonly", "yes", "--appendfsync", fsync.unwrap_or_default()];
    let more: &[&str] = if fsync.is_some() { &with_log } else { &[] };
    let server = Server::redis_as(Role::Anywhere, more)?;
    let url = format!("redis://127.0.0.1:{}", server.port());
    rate(program, &[url.as_ref()])
}

fn through_engine(program: &Path, fsync: Option<&str>) -> Result<f64> {
    let Some(fsync) = fsync else { return rate(program, &["memory".as_ref()]) };
    let folder = tempfile::tempdir().context("could not create a temporary folder")?;
    rate(program, &[folder.path().as_os_str(), fsync.as_ref()])
}

/// Runs the program once and reads the requests per second it prints.
fn rate(program: &Path, store: &[&OsStr]) -> Result<f64> {
    let mut command = pinned(program, Role::Anywhere);
    command.arg(SECONDS).args(store);
    let printed = shell::output(&mut command)?;
    printed.trim().parse().with_context(|| format!("\"{}\" is no rate", printed.trim()))
}
