//! `keyrack calc ingest`.

use keyrack_calculations::{Intake, IntakeCounts, keys::IntakeName};
use keyrack_format as format;

use super::open;
use crate::{Exit, Globals, signals::Signals};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// Read events pushed to the list calculations:intake:NAME
    #[arg(long, value_name = "NAME", value_parser = name, required_unless_present = "channel")]
    list: Option<IntakeName>,
    /// Read events published on the channel ps:calculations:intake:NAME
    #[arg(long, value_name = "NAME", value_parser = name, conflicts_with = "list")]
    channel: Option<IntakeName>,
    /// Stop when the list is empty and no other process holds events of it
    #[arg(long, requires = "list")]
    drain: bool,
}

const AFTER_HELP: &str = "\
An entry is one event as JSON, with \"account\" and \"project\" instead of a token. Invalid entries
are moved to calculations:intake:NAME:refused. Several processes may read one list; no event is lost
if one of them dies. Events on a channel are lost while no process listens.";

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
