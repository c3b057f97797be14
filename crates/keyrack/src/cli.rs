//! What can be typed, and what it starts.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use clap::{Parser, Subcommand};

use crate::{Exit, Globals, keys};

/// Application state on documented Redis keys.
#[derive(Debug, Parser)]
#[command(name = "keyrack", version)]
struct Cli {
    /// The store, such as redis://127.0.0.1:6379 or embedded:./keyrack-data.
    #[arg(long, global = true, value_name = "URL")]
    store: Option<String>,
    /// Print data as JSON.
    #[arg(long, global = true)]
    json: bool,
    /// Print nothing but data and errors.
    #[arg(long, short, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List, explain and check keys.
    Keys(keys::Args),
}

/// Runs the program with the arguments it was started with.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let store = cli.store.unwrap_or_else(|| "embedded:./keyrack-data".into());
    let globals = Globals { store, json: cli.json, quiet: cli.quiet };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let ended = runtime.map_err(anyhow::Error::from).and_then(|runtime| {
        runtime.block_on(async {
            match cli.command {
                Command::Keys(args) => keys::run(args, &globals).await,
            }
        })
    });
    let exit = ended.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "error: {error:#}");
        Exit::Failed
    });
    exit.into()
}
