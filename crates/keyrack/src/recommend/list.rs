//! `keyrack recommend for`.

use std::io::Write as _;

use keyrack_recommender::{Request, keys::UserId};

use super::{Zone, open};
use crate::{
    Exit, Globals,
    table::{Cell, Table},
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The user
    user: UserId,
    /// How many posts at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Where to go on, as the page before told
    #[arg(long)]
    cursor: Option<String>,
    /// The seed of chance, for a list that can be made again
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    zone: Zone,
}

/// Lists what a user should see next.
pub(super) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    let service = open(&args.zone, globals).await?;
    let Args { user, limit, cursor, seed, .. } = args;
    let page = service.recommend(&Request { user, limit, cursor, seed }).await?;
    if globals.json {
        globals.print_json(&page)?;
        return Ok(Exit::Ok);
    }
    if page.items.is_empty() {
        globals.say("nothing to recommend; \"keyrack recommend stats\" tells what was loaded");
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(&["POST", "CHALLENGE", "CATEGORY", "AUTHOR", "SCORE", "BECAUSE"]);
    for item in page.items {
        table.row(vec![
            Cell::number(item.post_id.to_string()),
            Cell::number(item.challenge_id.to_string()),
            Cell::number(item.category.to_string()),
            item.author_id.into(),
            Cell::number(format!("{:.3}", item.score)),
            item.because.into(),
        ]);
    }
    let mut out = globals.out();
    table.print(&mut out)?;
    out.flush()?;
    if let Some(cursor) = page.next_cursor {
        globals.say(format_args!("more with --cursor {cursor}"));
    }
    Ok(Exit::Ok)
}
