//! `keyrack jobs why`.

use std::io::Write as _;

use keyrack_jobs::bee::keys::Jid;

use super::{names, open};
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The id of the job
    #[arg(value_name = "JOB", value_parser = names::jid)]
    jid: Jid,
}

/// Tells why a job is not running yet.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let why = open(globals).await?.why(&args.jid).await?;
    if globals.json {
        globals.print_json(&why)?;
        return Ok(Exit::Ok);
    }
    let mut out = globals.out();
    writeln!(out, "{}: {}", why.status, why.explanation)?;
    out.flush()?;
    Ok(Exit::Ok)
}
