//! The reliability campaign: faults on real stores while clients submit jobs, and a count of what was lost.
//!
//! A *deployment* is one store with `keyrack serve`, three workers and five clients. A *fault* is injected while the clients submit, and
//! healed. Then every acknowledged job must have run, and the lint must find nothing. The result is one row of the table.
//!
//! In reading order: `fault` lists what can happen; `campaign` runs rounds of faults on each store; `deployment` starts the
//! processes and judges a fault; `store/` has the servers of each store and what is done to them; `worker_faults` and `clock_step` are about
//! the processes around a store; `client` submits, `worker` runs jobs, `serve` is the server; `journal` compares what was acknowledged with what
//! ran; `table` prints.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command reports to a terminal")]

mod fault;

mod campaign;

mod deployment;

mod store;

mod clock_step;
mod worker_faults;

mod client;
mod serve;
mod worker;

mod journal;
mod table;

mod time;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::{Parser, Subcommand};

use crate::{campaign::Plan, fault::Selection};

/// Injects faults into real stores while clients submit jobs, and counts what was lost.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask campaign", subcommand_negates_reqs = true)]
struct Args {
    /// Repeat rounds of all faults for so many minutes; one round always runs
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// The seed of every random choice; a random one if left out
    #[arg(long)]
    seed: Option<u64>,
    /// Put the table into docs/reliability.md
    #[arg(long)]
    write: bool,
    /// List the faults and the stores
    #[arg(long)]
    list: bool,
    /// Inject only these faults, or the faults of these stores
    #[arg(value_name = "FAULT|STORE", value_parser = fault::parse_selection)]
    faults: Vec<Selection>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs jobs; the campaign starts these processes itself
    #[command(hide = true)]
    Worker(worker::Args),
}

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match args.command {
        Some(Command::Worker(worker)) => worker::run(worker).map(|()| true),
        None if args.list => {
            print!("{}", fault::list());
            Ok(true)
        }
        None => {
            let plan = Plan {
                length: Duration::from_secs(60 * args.minutes),
                seed: args.seed.unwrap_or_else(|| fastrand::u64(..1_000_000)),
                selection: args.faults,
            };
            // A fault that cannot be carried out is told of in its row.
            std::panic::set_hook(Box::new(|_| {}));
            campaign::run(&plan).and_then(|table| {
                println!("\n{}", table.text());
                if args.write {
                    table.write_to(&reliability_page(), &plan)?;
                }
                Ok(table.passed())
            })
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn reliability_page() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reliability.md"))
}
