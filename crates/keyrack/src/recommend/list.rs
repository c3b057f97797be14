//! `keyrack recommend for`.

use std::io::Write as _;

use keyrack_recommender::{Filter, Request, keys::UserId};

use super::{Zone, open};
use crate::{
    Exit, Globals,
    table::{Cell, Table},
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The user
    user: UserId,
    /// List at most N posts
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Continue after the page that printed this cursor
    #[arg(long)]
    cursor: Option<String>,
    /// Seed of the random part, for a reproducible list
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Only posts of this category
    #[arg(long, value_name = "CODE")]
    category: Vec<usize>,
    /// Only posts of this challenge
    #[arg(long, value_name = "ID")]
    challenge: Vec<u64>,
    /// No posts of this author
    #[arg(long, value_name = "USER")]
    without_author: Vec<String>,
    /// Not this post
    #[arg(long, value_name = "ID")]
    without_post: Vec<u64>,
    /// Only posts that came at most N nights ago
    #[arg(long, value_name = "N")]
    max_age: Option<u64>,
    #[command(flatten)]
    zone: Zone,
}

/// Lists what a user should see next.
pub(super) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    let service = open(&args.zone, globals).await?;
    let Args { user, limit, cursor, seed, .. } = args;
    let filter = Filter {
        categories: args.category,
        challenges: args.challenge,
        without_authors: args.without_author,
        without_posts: args.without_post,
        max_age: args.max_age,
    };
    let page = service.recommend(&Request { user, limit, cursor, seed, filter }).await?;
    if globals.json {
        globals.print_json(&page)?;
        return Ok(Exit::Ok);
    }
    if page.items.is_empty() {
        globals.say("nothing to recommend; \"keyrack recommend stats\" shows what was loaded");
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
        globals.say(format_args!("for more, use --cursor {cursor}"));
    }
    Ok(Exit::Ok)
}
