//! `keyrack keys list`.

use std::io::Write as _;

use keyrack_contract::registry;
use keyrack_keys::Family;

use super::families;
use crate::{Exit, Failure, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only keys of this service, such as "jobs" or "jobs.bee"
    #[arg(long)]
    owner: Option<String>,
}

/// Lists families and channels.
pub(super) fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let chosen: Vec<&Family> =
        registry().all().filter(|family| is_owned(family, args.owner.as_deref())).collect();
    if let (Some(owner), []) = (&args.owner, &chosen[..]) {
        let mut owners: Vec<&str> = registry().all().map(|family| family.owner).collect();
        owners.dedup();
        let failure = Failure::new(Exit::NotFound, format!("\"{owner}\" owns no keys"));
        return Err(failure.hint(format!("owners are {}", owners.join(", "))).into());
    }
    if globals.json {
        let families: Vec<_> = chosen.into_iter().map(families::as_json).collect();
        globals.print_json(&families)?;
    } else {
        print(&chosen, globals)?;
    }
    Ok(Exit::Ok)
}

fn is_owned(family: &Family, owner: Option<&str>) -> bool {
    owner.is_none_or(|owner| family.owner == owner || family.owner_crate() == owner)
}

fn print(chosen: &[&Family], globals: &Globals) -> anyhow::Result<()> {
    let rows = chosen.iter().map(|family| {
        let expires = if family.is_channel() { String::new() } else { family.ttl.to_string() };
        [family.template.to_owned(), family.content.noun().to_owned(), expires, family.id()]
    });
    let titles = ["KEY OR CHANNEL", "TYPE", "EXPIRES", "FAMILY"].map(str::to_owned);
    let rows: Vec<[String; 4]> = [titles].into_iter().chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let [key, kind, expires] = [width(0), width(1), width(2)];
    let mut out = globals.out();
    for [a, b, c, d] in &rows {
        writeln!(out, "{a:key$}  {b:kind$}  {c:expires$}  {d}")?;
    }
    Ok(out.flush()?)
}
