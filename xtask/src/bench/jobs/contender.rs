//! Who takes part, and how each is built and started.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::super::server::{Role, Server, pinned};
use super::driver::Driver;
use crate::{setup, shell};

/// The versions are exact, so that a number can be measured again. BullMQ leaves the choice of a client to its users; with
/// ioredis it drains quicker than with node-redis.
const BULLMQ_MANIFEST: &str = r#"{
  "private": true,
  "type": "module",
  "dependencies": { "bullmq": "6.7.0", "ioredis": "5.11.1" }
}
"#;
const BULLMQ_PROGRAM: &str = include_str!("bullmq.mjs");
const APALIS_MANIFEST: &str = include_str!("../../../bench-apalis/Cargo.toml");

/// A job system as it takes part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Contender {
    BullMq {
        /// Several `addBulk` calls under way at once, jobs removed when they complete, a short event stream.
        tuned: bool,
    },
    Apalis {
        /// In one process, each with a connection of its own.
        workers: u32,
        /// Whether jobs are leased and events sent; without, a job that outlasts a heartbeat runs twice.
        leases: bool,
    },
    /// Ours with a redis-server.
    OnRedis,
    /// Ours with the engine inside the process.
    Embedded,
}

impl Contender {
    /// Ours, which earlier programs can be compared with.
    pub(super) const OURS: [Contender; 2] = [Contender::OnRedis, Contender::Embedded];

    pub(super) fn is_ours(self) -> bool {
        Contender::OURS.contains(&self)
    }

    /// The name for tables.
    pub(super) fn name(self) -> String {
        match self {
            Contender::BullMq { tuned: false } => "BullMQ".to_owned(),
            Contender::BullMq { tuned: true } => "BullMQ, tuned".to_owned(),
            Contender::Apalis { leases: true, .. } => "apalis-redis".to_owned(),
            Contender::Apalis { workers: 1, .. } => "apalis-redis, no leases".to_owned(),
            Contender::Apalis { workers, .. } => {
                format!("apalis-redis, no leases, {workers} workers")
            }
            Contender::OnRedis => "keyrack on redis".to_owned(),
            Contender::Embedded => "keyrack embedded".to_owned(),
        }
    }

    /// How many jobs may wait at once; more than 8,000 kill a worker of apalis, whose script unpacks them all onto Lua's stack.
    pub(super) fn backlog_max(self) -> u32 {
        match self {
            Contender::Apalis { .. } => 7_500,
            Contender::BullMq { .. } | Contender::OnRedis | Contender::Embedded => u32::MAX,
        }
    }

    /// Whether it works on a redis-server.
    pub(super) fn needs_redis(self) -> bool {
        self != Contender::Embedded
    }
}

/// The programs of all contenders, as their users would build them.
pub(super) struct Programs {
    bullmq: PathBuf,
    apalis: PathBuf,
    ours: PathBuf,
}

impl Programs {
    pub(super) fn build() -> Result<Programs> {
        Ok(Programs { bullmq: bullmq()?, apalis: apalis()?, ours: ours()? })
    }

    /// The same with ours as it was built before, beside an earlier `keyrack`.
    pub(super) fn of_before(&self, keyrack: &Path) -> Result<Programs> {
        let ours = keyrack.with_file_name("examples").join("contender");
        ensure!(
            ours.is_file(),
            "\"{}\" is missing; build it with \"cargo build --release --package keyrack-jobs --example contender\" there",
            ours.display()
        );
        Ok(Programs { bullmq: self.bullmq.clone(), apalis: self.apalis.clone(), ours })
    }

    /// Starts a contender on a server, which an embedded one does not look at.
    ///
    /// The server has one core and the client the other; an embedded contender is both and has both.
    pub(super) fn start(&self, contender: Contender, server: &Server) -> Result<Driver> {
        let command = match contender {
            Contender::BullMq { tuned } => {
                let mut command = pinned("node", Role::Load);
                command.arg(&self.bullmq).arg(server.port().to_string());
                command.args(tuned.then_some("tuned"));
                command
            }
            Contender::Apalis { workers, leases } => {
                let mut command = pinned(&self.apalis, Role::Load);
                command
                    .args([url_of(server), workers.to_string()])
                    .args(leases.then_some("leases"));
                command
            }
            Contender::OnRedis | Contender::Embedded => ours_on(&self.ours, contender, server),
        };
        Driver::start(&contender.name(), command)
    }
}

/// A program of ours on a server, or with the engine inside. It takes more arguments.
pub(super) fn ours_on(program: &Path, contender: Contender, server: &Server) -> Command {
    let (role, store) = match contender.needs_redis() {
        true => (Role::Load, url_of(server)),
        false => (Role::Anywhere, "embedded:memory".to_owned()),
    };
    let mut command = pinned(program, role);
    command.arg(store);
    command
}

fn url_of(server: &Server) -> String {
    format!("redis://127.0.0.1:{}", server.port())
}

/// The version of BullMQ that takes part.
pub(super) fn bullmq_version() -> &'static str {
    quoted_after(BULLMQ_MANIFEST, "\"bullmq\": \"")
}

/// The version of apalis-redis that takes part.
pub(super) fn apalis_version() -> &'static str {
    quoted_after(APALIS_MANIFEST, "apalis-redis = \"=")
}

/// What stands between `before` and the next quote.
fn quoted_after(text: &'static str, before: &str) -> &'static str {
    let (_, rest) = text.split_once(before).expect("the manifest has the package");
    rest.split('"').next().expect("splitting gives at least one part")
}

/// Node looks for packages from the program's own place on, so the program goes where they are.
pub(super) fn bullmq() -> Result<PathBuf> {
    let program = setup::node_packages("bullmq", BULLMQ_MANIFEST)?.join("bullmq.mjs");
    fs::write(&program, BULLMQ_PROGRAM)
        .with_context(|| format!("could not write \"{}\"", program.display()))?;
    Ok(program)
}

fn apalis() -> Result<PathBuf> {
    let folder = shell::target().join("bench-apalis");
    let build = "build --quiet --locked --release --manifest-path xtask/bench-apalis/Cargo.toml";
    shell::run(shell::cargo(build).arg("--target-dir").arg(&folder))?;
    Ok(folder.join("release/bench-apalis"))
}

pub(super) fn ours() -> Result<PathBuf> {
    let build = "build --quiet --release --package keyrack-jobs --example contender";
    shell::run(&mut shell::cargo(build))?;
    Ok(shell::target().join("release/examples/contender"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_manifests() {
        for version in [bullmq_version(), apalis_version()] {
            let parts: Vec<&str> = version.split('.').collect();
            assert_eq!(parts.len(), 3, "{version}");
            assert!(parts.iter().all(|part| part.parse::<u32>().is_ok()), "{version}");
        }
    }
}
