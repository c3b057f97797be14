//! What goes on inside, on stderr, for those who asked.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;

use crate::{
    Exit, Failure,
    settings::{LOG, Origin, Settings},
};

/// Sends log events to stderr, more of them for a command that runs on until it is stopped. `--quiet` and `--verbose`
/// win over the default, not over a filter that was asked for.
pub(crate) fn start(
    settings: &Settings,
    quiet: bool,
    verbose: u8,
    runs_on: bool,
) -> Result<(), Failure> {
    let log = settings.get(&LOG);
    let filter = match (&log.origin, quiet, verbose) {
        (Origin::Default, true, _) => "error",
        (Origin::Default, false, 1) => "info,keyrack=debug,keyrack_web=debug,keyrack_store=debug",
        (Origin::Default, false, 2..) => "trace",
        // "keyrack work" tells of each attempt by itself.
        (Origin::Default, false, 0) if runs_on => {
            "warn,keyrack=info,keyrack_jobs=info,keyrack_jobs::attempts=off"
        }
        _ => settings.value(&LOG),
    };
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        let message = format!("the log filter \"{filter}\" {} is not valid", log.whence());
        Failure::new(Exit::Usage, message).hint(format!("{error}; write for example \"info\""))
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .compact()
        .init();
    Ok(())
}
