//! `keyrack calc ingest`.

use keyrack_calculations::{Intake, IntakeCounts, keys::IntakeName};
use keyrack_format as format;

use super::open;
use crate::{Exit, Globals, signals::Signals};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The list: events are pushed to calculations:intake:NAME
    #[arg(long, value_name = "NAME", value_parser = name, required_unless_present = "channel")]
    list: Option<IntakeName>,
    /// The channel: events are published on ps:calculations:intake:NAME
    #[arg(long, value_name = "NAME", value_parser = name, conflicts_with = "list")]
    channel: Option<IntakeName>,
    /// Stop when the list is empty and no other process has taken anything from it
    #[arg(long, requires = "list")]
    drain: bool,
}

const AFTER_HELP: &str = "\
An entry is one event as JSON, with \"account\" and \"project\" in place of the token. What is no event
is kept in calculations:intake:NAME:refused. Any number of processes may work on a list, and nothing
is lost when one dies; a channel is heard only while this runs.";

fn name(text: &str) -> Result<IntakeName, String> {
    IntakeName::new(text).map_err(|error| error.to_string())
}

/// Takes events in until told to stop.
pub(super) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    let signals = Signals::listen(|| {})?;
    let accounts = open(globals).await?;
    let stop = async {
        let _ = signals.first().await;
    };
    let tell =
        |taken: IntakeCounts| tracing::debug!(taken.stored, taken.refused, "events taken in");
    let taken = match (args.list, args.channel) {
        (Some(list), _) if args.drain => Intake::new(accounts, list)?.drain().await?,
        (Some(list), _) => Intake::new(accounts, list)?.run(stop, tell).await?,
        (None, Some(channel)) => accounts.listen(&channel, stop, tell).await?,
        (None, None) => IntakeCounts::default(),
    };
    let stored = format::counted(taken.stored, "event");
    globals.say(format_args!("{stored} stored, {} refused", format::count(taken.refused)));
    Ok(Exit::Ok)
}
