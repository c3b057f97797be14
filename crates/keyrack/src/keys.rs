//! `keyrack keys`: what the declared keys are, and whether a database keeps to them.
//!
//! With `--keys` they are those of keys files; `declared` reads them before any command runs.

mod declared;

mod doc;
mod explain;
mod list;

mod infer;
mod lint;
mod memory;

mod check;
mod diff;
mod export;
mod fmt;
mod generate;
mod import;

mod acl;
mod migrate;

mod families;
mod progress;

use std::path::PathBuf;

use clap::Subcommand;

pub(crate) use self::progress::Bar;

use crate::{Exit, Globals};

/// The arguments of `keyrack keys`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    /// Keys files to work with; "keyrack" stands for keyrack's own keys [default: the setting keys]
    #[arg(
        id = "keys-files",
        long = "keys",
        value_name = "FILE",
        global = true,
        value_delimiter = ','
    )]
    files: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the declared keys and channels
    List(list::Args),
    /// Print the key reference (docs/keys.md), or one family of it
    Doc(doc::Args),
    /// Explain a key: its family, parts, type, content and TTL
    Explain(explain::Args),
    /// Check a live database against the declarations
    Lint(lint::Args),
    /// Show what takes memory, by family and by shape of name
    Memory(memory::Args),
    /// Print a Redis ACL user with exactly the rights keyrack needs
    Acl(acl::Args),
    /// Propose declarations for a database that keyrack did not write
    Infer(infer::Args),
    /// Draft a keys file from a page of text that lists keys
    Import(import::Args),
    /// Check keys files without a database, for CI
    Check(check::Args),
    /// Say what a change of keys files breaks, and for whom
    Diff(diff::Args),
    /// Print the declarations as a keys file
    Export(export::Args),
    /// Format keys files; comments and order stay
    Fmt(fmt::Args),
    /// Write code that builds, parses and checks the keys in other programs
    Generate(generate::Args),
    /// Rename keys, change how values are written, add TTLs
    Migrate(migrate::Args),
    /// Print the JSON Schema of keys files, for editors
    Schema,
}

/// Runs `keyrack keys`.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    // These read other files than those that a database is compared with.
    match &args.command {
        Command::Fmt(args) => return fmt::run(args, globals),
        Command::Diff(args) => return diff::run(args, globals),
        Command::Import(args) => return import::run(args, globals),
        Command::Schema => return export::schema(globals),
        _ => {}
    }
    let files = match &args.command {
        // What the file has already is not new.
        Command::Infer(infer) => infer.files(args.files, globals),
        _ => args.files,
    };
    let declared = declared::install(&files, globals)?;
    match args.command {
        Command::List(args) => list::run(&args, globals),
        Command::Doc(args) => doc::run(&args, &declared, globals),
        Command::Explain(args) => explain::run(&args, globals),
        Command::Lint(args) => lint::run(&args, globals).await,
        Command::Memory(args) => memory::run(&args, globals).await,
        Command::Acl(args) => acl::run(&args, globals),
        Command::Infer(args) => infer::run(&args, globals).await,
        Command::Check(args) => check::run(&args, &declared, globals),
        Command::Export(args) => export::run(&args, &declared, globals),
        Command::Migrate(args) => migrate::run(&args, globals).await,
        Command::Generate(args) => generate::run(&args, &declared, globals),
        Command::Fmt(_) | Command::Diff(_) | Command::Import(_) | Command::Schema => Ok(Exit::Ok),
    }
}

/// Adds the keys files of the settings to keyrack's own declarations, for a server.
pub(crate) fn declare_for_server(globals: &Globals) -> anyhow::Result<()> {
    let files = declared::setting(globals);
    if !files.is_empty() {
        let own = std::iter::once(PathBuf::from(declared::OWN));
        declared::install(&files.into_iter().chain(own).collect::<Vec<_>>(), globals)?;
    }
    Ok(())
}
