//! `keyrack calc delete`: values of a key, or a key with all that belongs to it.

use keyrack_calculations::{
    Error, Stamp,
    keys::{Account, Dimension, DimensionKey, Project},
};
use keyrack_format as format;

use super::{
    open,
    scope::{parse_account, parse_dimension, parse_key, parse_project},
};
use crate::{Exit, Failure, Globals, terminal};

#[derive(Debug, clap::Args)]
#[command(after_help = "Output events of rules are kept.")]
pub(super) struct Args {
    /// The account
    #[arg(long, short, value_parser = parse_account)]
    account: Account,
    /// The project
    #[arg(value_parser = parse_project)]
    project: Project,
    /// The dimension
    #[arg(value_parser = parse_dimension)]
    dimension: Dimension,
    /// The key
    #[arg(value_parser = parse_key)]
    key: DimensionKey,
    /// Delete only the value at this time, such as "2014-10-17 21:34:07 -0400"; may be repeated
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    at: Vec<Stamp>,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

fn parse_time(text: &str) -> Result<Stamp, String> {
    text.parse().map_err(|error: keyrack_calculations::StampError| error.to_string())
}

/// Deletes values; the results follow.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let ledger = open(globals).await?.existing(&args.account).await?;
    let id = ledger.key(&args.project, &args.dimension, &args.key);
    let name = format!("{}/{}", args.dimension, args.key);
    let values = ledger.values_len(&id).await?;
    let question = match args.at.len() as u64 {
        0 => format!("delete \"{name}\" with its {}?", format::counted(values, "value")),
        n => format!("delete {} of \"{name}\"?", format::counted(n, "value")),
    };
    if !args.yes && !terminal::confirmed(&question, "deleting values")? {
        globals.say("nothing was changed");
        return Ok(Exit::Failed);
    }
    if args.at.is_empty() {
        if !ledger.delete_key(&id).await? {
            return Err(Error::NotFound { what: "key", name }.into());
        }
        globals.say(format_args!("deleted \"{name}\""));
        return Ok(Exit::Ok);
    }
    let deleted = ledger.delete_values(&id, &args.at).await?;
    globals.say(format_args!("deleted {} of \"{name}\"", format::counted(deleted, "value")));
    if deleted == 0 {
        let message = format!("\"{name}\" has no value at these times");
        return Err(Failure::new(Exit::NotFound, message).into());
    }
    Ok(Exit::Ok)
}
