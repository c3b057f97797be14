//! `keyrack recommend stats`.

use std::io::Write as _;

use keyrack_format as format;
use keyrack_recommender::{Recommender, Settings};

use crate::{Exit, Globals};

/// Shows what the recommender has.
pub(super) async fn run(globals: &Globals) -> anyhow::Result<Exit> {
    let service = Recommender::new(globals.open_existing_store().await?, Settings::default());
    let stats = service.stats().await?;
    if globals.json {
        globals.print_json(&stats)?;
        return Ok(Exit::Ok);
    }
    let mut out = globals.out();
    match (&stats.last_run, stats.day_index) {
        (Some(day), Some(index)) => {
            writeln!(out, "last load   {day}, day {index} of {}", stats.max_post_age)?;
        }
        _ => writeln!(out, "last load   never")?,
    }
    let posts: Vec<String> = stats.posts.iter().map(u64::to_string).collect();
    writeln!(
        out,
        "posts       {}, by category {}",
        stats.posts.iter().sum::<u64>(),
        posts.join(" ")
    )?;
    writeln!(out, "challenges  {} going on", stats.challenges)?;
    writeln!(out, "users       {} take part, {} react or follow", stats.members, stats.users)?;
    let tables = stats.tables.iter();
    let tables: Vec<String> =
        tables.map(|(table, rows)| format!("{table} {}", format::counted(*rows, "row"))).collect();
    writeln!(out, "tables      {}", tables.join(", "))?;
    out.flush()?;
    Ok(Exit::Ok)
}
