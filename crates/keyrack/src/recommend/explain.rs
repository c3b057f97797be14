//! `keyrack recommend explain`.

use std::io::Write as _;

use keyrack_recommender::{Explanation, keys::UserId};

use super::{Zone, open};
use crate::{
    Exit, Globals,
    table::{Cell, Table},
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The user
    user: UserId,
    /// The post
    post: u64,
    #[command(flatten)]
    zone: Zone,
}

/// Tells why a post is, or is not, recommended.
pub(super) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    let service = open(&args.zone, globals).await?;
    let explained = service.explain(&args.user, args.post).await?;
    if globals.json {
        globals.print_json(&explained)?;
        return Ok(Exit::Ok);
    }
    print(&explained, globals)?;
    Ok(Exit::Ok)
}

fn print(explained: &Explanation, globals: &Globals) -> anyhow::Result<()> {
    let mut out = globals.out();
    for why in &explained.against {
        writeln!(out, "against it: {why}")?;
    }
    if !explained.candidate {
        writeln!(out, "not among the posts that are looked at for this user today")?;
        return Ok(out.flush()?);
    }
    if let Some(because) = &explained.because {
        writeln!(out, "for it: {because}")?;
    }
    let mut table = Table::new(&["SIGNAL", "VALUE", "WEIGHT", "ADDS"]);
    let cell = |number: f64| Cell::number(format!("{number:.3}"));
    for share in &explained.signals {
        let adds = share.value * share.weight;
        table.row(vec![share.signal.into(), cell(share.value), cell(share.weight), cell(adds)]);
    }
    table.row(vec!["score".into(), "".into(), "".into(), cell(explained.score)]);
    table.print(&mut out)?;
    Ok(out.flush()?)
}
