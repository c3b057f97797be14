//! `keyrack progress rm`.

use keyrack_format as format;
use keyrack_progress::keys::BarName;

use super::{OwnerArgs, bar, open, samples};
use crate::{Exit, Globals, terminal};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The bar
    #[arg(value_name = "BAR", value_parser = bar)]
    bar: BarName,
    /// Delete only this past run; "keyrack progress stats --runs" lists their ids
    #[arg(long, value_name = "UID")]
    run: Option<String>,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    owner: OwnerArgs,
}

/// Forgets a bar or one of its past runs.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let progress = open(globals).await?;
    let (user, bar) = (&args.owner.user, &args.bar);
    if let Some(run) = &args.run {
        progress.delete_trace(user, bar.as_str(), run).await?;
        globals.say(format_args!("deleted the run \"{run}\" of \"{bar}\""));
        return Ok(Exit::Ok);
    }
    let known = samples(&progress, user, bar).await?.traces.len() as u64;
    if !args.yes {
        let question = format!("forget \"{bar}\" and its {}?", format::counted(known, "past run"));
        if !terminal::confirmed(&question, "deleting a bar")? {
            globals.say("nothing was changed");
            return Ok(Exit::Failed);
        }
    }
    progress.delete_bar(user, bar.as_str()).await?;
    globals.say(format_args!("deleted \"{bar}\" and its {}", format::counted(known, "past run")));
    Ok(Exit::Ok)
}
