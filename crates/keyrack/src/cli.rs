//! The command line: arguments, and the command that each starts.

mod examples;

use std::{
    env,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use clap::{ArgAction, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use keyrack_format as format;

use crate::{
    Exit, Globals, audit, calc, config, demo, entitlements, files,
    globals::WaitArgs,
    health, import, jobs, journeys, keys, logging, progress, recommend, recurring,
    report::Report,
    serve,
    settings::{File, Flags, GLOBAL, GlobalFlags, Settings},
    store, token, top, updates, webhooks, work,
};

/// Job queues, progress bars, rate limits and rollups on Redis, or with no Redis at all.
///
/// Without a command, keyrack runs "serve".
#[derive(Debug, Parser)]
#[command(name = "keyrack", version, after_help = AFTER_HELP, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    settings: GlobalFlags,
    /// Read settings from this file instead of keyrack.toml [env: KEYRACK_CONFIG]
    #[arg(long, global = true, value_name = "FILE", help_heading = GLOBAL)]
    config: Option<PathBuf>,
    /// Print data as JSON
    #[arg(long, global = true, help_heading = GLOBAL)]
    json: bool,
    /// Print only data and errors
    #[arg(long, short, global = true, conflicts_with = "verbose", help_heading = GLOBAL)]
    quiet: bool,
    /// Log at level info; -vv logs at level trace
    #[arg(long, short, global = true, action = ArgAction::Count, help_heading = GLOBAL)]
    verbose: u8,
}

const AFTER_HELP: &str = "\
Settings come from flags, then KEYRACK_* variables, then keyrack.toml, then the defaults.
\"keyrack config show --origin\" prints the effective settings and where each comes from.

Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 conflict, 5 refused user or password,
6 store unreachable, 10 problems found";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server: HTTP API, dashboard and a port for Redis clients
    Serve(serve::Args),
    /// Run a demo that uses every service with made-up data
    Demo(demo::Args),
    /// Watch queues, progress bars and the store in the terminal
    Top(top::Args),
    /// Run a command for each job of a queue
    Work(work::Args),
    /// Submit, inspect and manage jobs and queues
    Jobs(jobs::Args),
    /// Move waiting jobs of Celery, RQ or BullMQ into queues here
    Import(import::Args),
    /// List, create, change, run and pause recurring jobs
    Recurring(recurring::Args),
    /// Import events, show their rollups, and verify them
    Calc(calc::Args),
    /// Create, list and revoke access tokens
    Token(token::Args),
    /// Show the audit log
    Audit(audit::Args),
    /// Run commands with a progress bar that learns their duration
    Progress(progress::Args),
    /// Look up and manage what users have paid for
    Entitlements(entitlements::Args),
    /// Upload files safely, and delete files nothing refers to
    Files(files::Args),
    /// Create and inspect journeys (live events with an audience)
    Journeys(journeys::Args),
    /// Load an app's posts and recommend them to users
    Recommend(recommend::Args),
    /// Run a command on every host when a repository is updated
    Updates(updates::Args),
    /// Send events to other servers, and see what came of it
    Webhooks(webhooks::Args),
    /// Look up declared Redis keys, and check a database against them
    Keys(keys::Args),
    /// Inspect, check and repair the store
    Store(store::Args),
    /// Ask a server whether it is ready
    Health(health::Args),
    /// Show the settings
    Config(config::Args),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write man pages of all commands into a folder
    Manual {
        /// The folder; it has to be there
        folder: PathBuf,
    },
}

/// Runs the program with the arguments it was started with.
pub fn main() -> ExitCode {
    let parsed = help_command().try_get_matches().and_then(|found| Cli::from_arg_matches(&found));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(answer) => return print_answer(&answer).into(),
    };
    let exit = run(cli).unwrap_or_else(|error| match Report::of(&error) {
        Some(report) => {
            let _ = writeln!(io::stderr(), "{}", format::visible_lines(&report.to_string()));
            report.exit
        }
        None => Exit::Ok,
    });
    exit.into()
}

/// The command line, with an example on each help page and the global options on the first only.
fn help_command() -> clap::Command {
    let root = Cli::command();
    let globals: Vec<clap::Arg> =
        root.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    let hidden: Vec<clap::Arg> = globals.into_iter().map(|arg| arg.hide(true)).collect();
    root.mut_subcommands(|command| examples::add_to_help(command, "", &hidden))
}

/// Help, the version, or what is wrong with the arguments. clap's own way of printing would panic on a closed pipe.
fn print_answer(answer: &clap::Error) -> Exit {
    if answer.use_stderr() {
        // What was typed may have been copied from data.
        let _ = write!(io::stderr(), "{}", format::visible_lines(&answer.render().to_string()));
        return Exit::Usage;
    }
    let _ = answer.print();
    Exit::Ok
}

fn run(cli: Cli) -> anyhow::Result<Exit> {
    match &cli.command {
        Some(Command::Completions { shell }) => return completions(*shell),
        Some(Command::Manual { folder }) => return manual(folder),
        _ => {}
    }
    let of_server = match &cli.command {
        Some(Command::Serve(serve)) => serve.settings.0.clone(),
        Some(Command::Demo(demo)) => demo.settings.0.clone(),
        _ => Flags::default(),
    };
    let flags = cli.settings.0.and(of_server);
    let mut settings = resolve(&flags, cli.config)?;
    if matches!(&cli.command, Some(Command::Demo(demo)) if !demo.clean) {
        settings.use_memory_unless_set();
    }
    let runs_on =
        matches!(cli.command, None | Some(Command::Serve(_) | Command::Demo(_) | Command::Work(_)));
    logging::start(&settings, cli.quiet, cli.verbose, runs_on)?;
    let globals = Globals { settings, json: cli.json, quiet: cli.quiet };

    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if env::var_os("TOKIO_WORKER_THREADS").is_none() {
        // At least two: a script that does not end keeps one of them.
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        runtime.worker_threads(cores.max(2));
    }
    let runtime = runtime.enable_all().build()?;
    let ended = runtime.block_on(async {
        match cli.command {
            None => serve::run(&globals, None, WaitArgs::default()).await,
            Some(Command::Serve(args)) => serve::run(&globals, args.demo()?, args.wait).await,
            Some(Command::Demo(args)) => demo::run(args, &globals).await,
            Some(Command::Top(args)) => top::run(args, &globals).await,
            Some(Command::Work(args)) => work::run(args, &globals).await,
            Some(Command::Jobs(args)) => jobs::run(args, &globals).await,
            Some(Command::Import(args)) => import::run(args, &globals).await,
            Some(Command::Recurring(args)) => recurring::run(args, &globals).await,
            Some(Command::Calc(args)) => calc::run(args, &globals).await,
            Some(Command::Token(args)) => token::run(args, &globals).await,
            Some(Command::Audit(args)) => audit::run(args, &globals).await,
            Some(Command::Progress(args)) => progress::run(args, &globals).await,
            Some(Command::Entitlements(args)) => entitlements::run(args, &globals).await,
            Some(Command::Files(args)) => files::run(args, &globals).await,
            Some(Command::Journeys(args)) => journeys::run(args, &globals).await,
            Some(Command::Updates(args)) => updates::run(args, &globals).await,
            Some(Command::Webhooks(args)) => webhooks::run(args, &globals).await,
            Some(Command::Recommend(args)) => recommend::run(args, &globals).await,
            Some(Command::Keys(args)) => keys::run(args, &globals).await,
            Some(Command::Store(args)) => store::run(args, &globals).await,
            Some(Command::Health(args)) => health::run(args, &globals).await,
            Some(Command::Config(args)) => config::run(&args, &globals),
            Some(Command::Completions { shell }) => completions(shell),
            Some(Command::Manual { folder }) => manual(&folder),
        }
    });
    // A script that never ends keeps its thread; the process ends all the same.
    runtime.shutdown_background();
    ended
}

fn resolve(flags: &Flags, config: Option<PathBuf>) -> anyhow::Result<Settings> {
    let from_env = || env::var_os("KEYRACK_CONFIG").filter(|path| !path.is_empty());
    let named = config.or_else(|| from_env().map(PathBuf::from));
    let file = File::find(named.as_deref())?;
    Ok(Settings::resolve(flags, |name| env::var_os(name), file.as_ref())?)
}

fn completions(shell: clap_complete::Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "keyrack", &mut script);
    io::stdout().write_all(&script)?;
    io::stdout().flush()?;
    Ok(Exit::Ok)
}

fn manual(folder: &Path) -> anyhow::Result<Exit> {
    clap_mangen::generate_to(help_command(), folder)
        .with_context(|| format!("could not write into \"{}\"", folder.display()))?;
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_declared_without_contradiction() {
        Cli::command().debug_assert();
    }

    /// clap takes arguments of one name for the same, so a job's data could become the data folder.
    #[test]
    fn no_argument_of_a_command_has_the_name_of_a_global_one() {
        fn check(command: &clap::Command, globals: &[String]) {
            for argument in command.get_arguments().filter(|argument| !argument.is_global_set()) {
                let name = argument.get_id().to_string();
                assert!(!globals.contains(&name), "\"{name}\" of \"{}\"", command.get_name());
            }
            command.get_subcommands().for_each(|command| check(command, globals));
        }
        let cli = Cli::command();
        let globals = cli.get_arguments().filter(|argument| argument.is_global_set());
        let globals: Vec<String> = globals.map(|argument| argument.get_id().to_string()).collect();
        assert!(globals.contains(&"data".to_owned()));
        check(&cli, &globals);
    }

    #[test]
    fn settings_are_taken_before_and_after_the_command() {
        for line in ["keyrack --store x serve", "keyrack serve --store x"] {
            let cli = Cli::try_parse_from(line.split(' ')).expect("good arguments");
            assert_eq!(cli.settings.0.get(&crate::settings::STORE), Some("x"), "{line}");
        }
    }
}
