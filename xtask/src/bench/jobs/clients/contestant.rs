//! Who takes part, and how each is built and started.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::super::super::server::{Role, Server, pinned};
use super::super::contender::bullmq;
use super::super::driver::Driver;
use crate::setup::{Peers, npm_package, peers};
use crate::{node, package, python, setup, shell};

const NODE_PROGRAM: &str = include_str!("../keyrack.mjs");
const PYTHON_PROGRAM: &str = include_str!("../peers.py");

/// A language with a package of ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Language {
    Node,
    Python,
}

impl Language {
    pub(super) fn title(self) -> &'static str {
        match self {
            Language::Node => "Node",
            Language::Python => "Python",
        }
    }

    /// What else has to be known about its table.
    pub(super) fn words(self) -> &'static str {
        match self {
            Language::Node => {
                "Handlers are async, up to 100 at once. BullMQ removes completed jobs, keyrack keeps them."
            }
            Language::Python => {
                "Celery's pool is `solo`, RQ's worker `SimpleWorker`, Dramatiq has 8 threads and no middleware, the \
                 others have up to 100 coroutines. They store no results and get a tenth of the jobs, RQ a fiftieth; \
                 the start of their workers is not counted. keyrack keeps results, and its start counts."
            }
        }
    }
}

/// A job system as it takes part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Contestant {
    BullMq,
    Node,
    NodeEmbedded,
    Celery,
    Rq,
    Arq,
    Dramatiq,
    Taskiq,
    Python,
    PythonAsync,
    PythonEmbedded,
}

impl Contestant {
    pub(super) const ALL: [Contestant; 11] = [
        Contestant::BullMq,
        Contestant::Node,
        Contestant::NodeEmbedded,
        Contestant::Celery,
        Contestant::Rq,
        Contestant::Arq,
        Contestant::Dramatiq,
        Contestant::Taskiq,
        Contestant::Python,
        Contestant::PythonAsync,
        Contestant::PythonEmbedded,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Contestant::BullMq => "BullMQ, tuned",
            Contestant::Node => "keyrack for Node on redis",
            Contestant::NodeEmbedded => "keyrack for Node, embedded",
            Contestant::Celery => "Celery",
            Contestant::Rq => "RQ",
            Contestant::Arq => "arq",
            Contestant::Dramatiq => "Dramatiq",
            Contestant::Taskiq => "Taskiq",
            Contestant::Python => "keyrack for Python on redis",
            Contestant::PythonAsync => "the same with coroutines",
            Contestant::PythonEmbedded => "keyrack for Python, embedded",
        }
    }

    pub(super) fn language(self) -> Language {
        match self {
            Contestant::BullMq | Contestant::Node | Contestant::NodeEmbedded => Language::Node,
            _ => Language::Python,
        }
    }

    pub(super) fn is_ours(self) -> bool {
        matches!(
            self,
            Contestant::Node
                | Contestant::NodeEmbedded
                | Contestant::Python
                | Contestant::PythonAsync
                | Contestant::PythonEmbedded
        )
    }

    /// It gets one of so many jobs.
    pub(super) fn jobs_share(self) -> u32 {
        match self {
            Contestant::Rq => 50,
            Contestant::Celery | Contestant::Arq | Contestant::Dramatiq | Contestant::Taskiq => 10,
            _ => 1,
        }
    }
}

/// The programs of the contestants.
pub(super) struct Programs {
    node: Option<NodePrograms>,
    python: Option<PythonPrograms>,
}

struct NodePrograms {
    bullmq: PathBuf,
    keyrack: PathBuf,
}

struct PythonPrograms {
    peers: Peers,
    /// The program for all of them.
    program: PathBuf,
    /// Where Python finds our package.
    packages: PathBuf,
}

impl Programs {
    pub(super) fn build(languages: &[Language]) -> Result<Programs> {
        // What people install, not what `--release` gives.
        package::build()?;
        let has = |language| languages.contains(&language);
        Ok(Programs {
            node: has(Language::Node).then(build_node).transpose()?,
            python: has(Language::Python).then(build_python).transpose()?,
        })
    }

    /// The server has one core and the client the other; an embedded client is both and has both.
    pub(super) fn start(&self, of: Contestant, server: &Server) -> Result<Driver> {
        let port = server.port().to_string();
        let url = format!("redis://127.0.0.1:{port}");
        let memory = "embedded:memory";
        let command = match of {
            Contestant::BullMq => self.node(|node| &node.bullmq, Role::Load, &[&port, "tuned"])?,
            Contestant::Node => self.node(|node| &node.keyrack, Role::Load, &[&url])?,
            Contestant::NodeEmbedded => {
                self.node(|node| &node.keyrack, Role::Anywhere, &[memory])?
            }
            Contestant::Celery => self.python(Role::Load, &["celery", &port])?,
            Contestant::Rq => self.python(Role::Load, &["rq", &port])?,
            Contestant::Arq => self.python(Role::Load, &["arq", &port])?,
            Contestant::Dramatiq => self.python(Role::Load, &["dramatiq", &port])?,
            Contestant::Taskiq => self.python(Role::Load, &["taskiq", &port])?,
            Contestant::Python => self.python(Role::Load, &["keyrack", &url])?,
            Contestant::PythonAsync => self.python(Role::Load, &["keyrack-async", &url])?,
            Contestant::PythonEmbedded => self.python(Role::Anywhere, &["keyrack", memory])?,
        };
        Driver::start(of.name(), command)
    }

    fn node(
        &self,
        program: fn(&NodePrograms) -> &PathBuf,
        role: Role,
        arguments: &[&str],
    ) -> Result<Command> {
        let programs = self.node.as_ref().context("the programs for Node were not built")?;
        let mut command = pinned("node", role);
        command.arg(program(programs)).args(arguments);
        Ok(command)
    }

    fn python(&self, role: Role, arguments: &[&str]) -> Result<Command> {
        let programs = self.python.as_ref().context("the programs for Python were not built")?;
        let environment = programs.peers.environment(arguments[0]);
        let mut command = pinned(environment.join("bin/python"), role);
        command.arg(&programs.program).args(arguments);
        command.env("PYTHONPATH", &programs.packages).env("PYTHONDONTWRITEBYTECODE", "1");
        Ok(command)
    }
}

fn build_node() -> Result<NodePrograms> {
    setup::run_npm()?;
    let package = npm_package().join("bench/node_modules/keyrack");
    node::compile(&package)?;
    fs::copy(package::built("libkeyrack_node.so"), package.join("keyrack.node"))
        .context("could not copy the native module")?;
    let keyrack = written(npm_package().join("bench/keyrack.mjs"), NODE_PROGRAM)?;
    Ok(NodePrograms { bullmq: bullmq()?, keyrack })
}

fn build_python() -> Result<PythonPrograms> {
    let peers = peers()?;
    let packages = shell::target().join("bench-python");
    let package = packages.join("keyrack");
    if package.exists() {
        fs::remove_dir_all(&package)?;
    }
    python::copy_package(&package::built("lib_keyrack.so"), &package)?;
    let program = written(packages.join("peers.py"), PYTHON_PROGRAM)?;
    Ok(PythonPrograms { peers, program, packages })
}

fn written(path: PathBuf, text: &str) -> Result<PathBuf> {
    fs::write(&path, text).with_context(|| format!("could not write \"{}\"", path.display()))?;
    Ok(path)
}
