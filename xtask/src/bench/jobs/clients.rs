//! The packages of other languages against the job systems of those languages: `cargo xtask bench clients`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::super::compare::median;
use super::super::report::{Bound, Limit, Section, Table, tenths, whole};
use super::super::server::{Role, Server, pinned};
use super::super::{machine, page};
use super::contender::{bullmq, bullmq_version};
use super::driver::{Driver, Jobs};
use super::options::Options;
use super::quiet::Quiet;
use super::turn::{Figures, InAndOut, in_and_out};
use crate::setup::npm_package;
use crate::shell::{self, cargo};
use crate::{node, setup};

const PROGRAM: &str = include_str!("keyrack.mjs");
/// Enough for Node to compile what it runs often.
const WARM_UP_JOBS: u32 = 5_000;

/// Who takes part.
#[derive(Clone, Copy)]
enum Client {
    BullMq,
    OnRedis,
    Embedded,
}

const CLIENTS: [Client; 3] = [Client::BullMq, Client::OnRedis, Client::Embedded];

impl Client {
    fn name(self) -> &'static str {
        match self {
            Client::BullMq => "BullMQ, tuned",
            Client::OnRedis => "keyrack for Node on redis",
            Client::Embedded => "keyrack for Node, embedded",
        }
    }
}

struct Programs {
    bullmq: PathBuf,
    keyrack: PathBuf,
}

impl Programs {
    fn build() -> Result<Programs> {
        setup::run_npm()?;
        shell::run(&mut cargo("build --quiet --release --package keyrack-node"))?;
        let package = npm_package().join("bench/node_modules/keyrack");
        node::compile(&package)?;
        fs::copy(shell::target().join("release/libkeyrack_node.so"), package.join("keyrack.node"))
            .context("could not copy the native module")?;
        let keyrack = npm_package().join("bench/keyrack.mjs");
        fs::write(&keyrack, PROGRAM)
            .with_context(|| format!("could not write \"{}\"", keyrack.display()))?;
        Ok(Programs { bullmq: bullmq()?, keyrack })
    }

    /// The server has one core and the client the other; an embedded client is both and has both.
    fn start(&self, client: Client, server: &Server) -> Result<Driver> {
        let node = |program: &PathBuf, role, arguments: &[&str]| -> Command {
            let mut command = pinned("node", role);
            command.arg(program).args(arguments);
            command
        };
        let port = server.port().to_string();
        let command = match client {
            Client::BullMq => node(&self.bullmq, Role::Load, &[&port, "tuned"]),
            Client::OnRedis => {
                node(&self.keyrack, Role::Load, &[&format!("redis://127.0.0.1:{port}")])
            }
            Client::Embedded => node(&self.keyrack, Role::Anywhere, &["embedded:memory"]),
        };
        Driver::start(client.name(), command)
    }
}

/// Measures all clients; fails at the end when a limit was missed.
pub(in super::super) fn run(arguments: &[&str]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let programs = Programs::build()?;
    let quiet = if options.write { Quiet::Required } else { Quiet::Hoped };
    let server = Server::redis()?;
    let mut turns = CLIENTS.map(|_| Vec::new());
    for round in 1..=options.rounds {
        for (client, turns) in CLIENTS.iter().zip(&mut turns) {
            let take = || take_turn(&programs, &server, *client, options.jobs);
            let turn = quiet.turn(take, |turn| turn.others)?;
            println!("round {round}: {:26} {turn}", client.name());
            turns.push(turn);
        }
    }
    let about = format!(
        "The Node package against BullMQ: `cargo xtask bench clients --write`.\n\n{}- redis-server {} \
         without persistence; BullMQ {} and keyrack on Node {}\n",
        machine::describe()?,
        machine::redis_version()?,
        bullmq_version(),
        machine::printed("node", "--version")?.trim_start_matches('v'),
    );
    page::conclude("Clients", &about, &[section(&options, &turns)], options.write)
}

fn section(options: &Options<'_>, turns: &[Vec<Figures>; 3]) -> Section {
    let mut table =
        Table::new(&["system", "submit, jobs/s", "drain, jobs/s", "client CPU, µs a job"]);
    for (client, turns) in CLIENTS.iter().zip(turns) {
        let middle = Figures::middle(turns);
        let (submit, drain) = (whole(middle.submit_rate), whole(middle.drain_rate));
        table.add(vec![client.name().to_owned(), submit, drain, tenths(middle.client_us)]);
    }
    let words = format!(
        "{} jobs with async handlers that do nothing and 100 bytes of JSON each are submitted in bulk, then \
         worked off by one process that runs up to 100 at once. All take turns on one redis-server, {} rounds, \
         medians. Every job has to be handled exactly once. The server has a core of its own and the client \
         another; the embedded store has both. BullMQ removes completed jobs, keyrack keeps them.",
        whole(f64::from(options.jobs)),
        options.rounds,
    );
    Section { title: "Node", words, table, limits: limits(turns) }
}

fn limits([bullmq, on_redis, embedded]: &[Vec<Figures>; 3]) -> Vec<Limit> {
    let drain = |turn: &Figures| turn.drain_rate;
    let submit = |turn: &Figures| turn.submit_rate;
    let limit = |what: &str, measured, at_least| Limit {
        what: what.to_owned(),
        measured,
        bound: Bound::AtLeast(at_least),
    };
    vec![
        limit("drain, times tuned BullMQ's rate", ratio(on_redis, bullmq, drain), 3.5),
        limit("submit, times tuned BullMQ's rate", ratio(on_redis, bullmq, submit), 3.5),
        limit("embedded drain, times the rate on redis", ratio(embedded, on_redis, drain), 1.0),
    ]
}

/// Taken within a round, whose turns follow each other, and then the median of all rounds.
fn ratio(subject: &[Figures], reference: &[Figures], figure: fn(&Figures) -> f64) -> f64 {
    let rounds = subject.iter().zip(reference);
    median(&rounds.map(|(ours, theirs)| figure(ours) / figure(theirs)).collect::<Vec<f64>>())
}

/// One client's share of a round: all jobs in, all jobs out.
fn take_turn(programs: &Programs, server: &Server, client: Client, jobs: u32) -> Result<Figures> {
    server.ask(&["FLUSHALL"])?;
    let mut driver = programs.start(client, server)?;
    in_and_out(server, &mut driver, Jobs { first: 0, count: WARM_UP_JOBS, levels: 1 })?;
    let mut total = InAndOut::default();
    let measured = Jobs { first: WARM_UP_JOBS, count: jobs, levels: 1 };
    total.add(&in_and_out(server, &mut driver, measured)?);
    let n_left = driver.left()?;
    ensure!(n_left == 0, "\"{}\" has {n_left} jobs left", client.name());
    Ok(Figures::new(&total, f64::from(jobs)))
}
