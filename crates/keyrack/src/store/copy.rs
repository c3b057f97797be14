//! `keyrack store copy`.

mod pass;
mod position;
mod remove;

use std::num::NonZeroU32;
use std::path::PathBuf;

use keyrack_format as format;
use keyrack_keys::Layout;
use keyrack_lint::WalkRate;
use keyrack_store::{Error, Store, StoreUrl};
use serde_json::json;

use self::{
    pass::{Copy, Outcome},
    position::{Position, PositionFile},
};
use super::{open_existing, side::Side, verify::Comparison};
use crate::{Exit, Failure, Globals, keys::Bar};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Makes one pass over FROM and writes to TO what is missing or different there. Names are translated between a
cluster and a store without slots, and accounts of the calculations get their databases. Then both are compared as by
\"keyrack store verify\". Run it again for another pass, which copies what has changed since and removes what FROM has
no longer; for the last one nothing may write to FROM. A copy that was stopped goes on when it is run again.

Exits with 10 if the stores still differ, or if something could not be copied.")]
pub(super) struct Args {
    /// Where the data is: embedded:DIR, redis://HOST:PORT/DB, redis+sentinel://… or redis+cluster://…
    from: String,
    /// Where it goes, which has to be empty at first
    to: String,
    /// Look at no more than N keys per second
    #[arg(long, value_name = "N")]
    rate: Option<NonZeroU32>,
    /// Count what would be copied, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Copy into a store that has other keys: keys of the same name are overwritten, and none is removed
    #[arg(long)]
    into_nonempty: bool,
    /// Copy keys of no declared family too; only between stores that name keys alike
    #[arg(long)]
    undeclared: bool,
    /// Do not compare the stores after the pass
    #[arg(long)]
    no_verify: bool,
    /// The file that says how far the copy is
    #[arg(long, value_name = "FILE", default_value = "keyrack-copy.json")]
    cursor: PathBuf,
}

/// Makes a pass, and compares.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    crate::keys::declare_for_server(globals)?;
    let from = Side::new(open_existing(&args.from).await?).await?;
    let Some(mut to) = target(args).await? else {
        return nothing_there(args, &from, globals).await;
    };
    if from.store.to_string() == to.store.to_string() {
        let message = format!("FROM and TO are the same store, {}", from.store);
        return Err(Failure::new(Exit::Usage, message).into());
    }
    refuse_undeclared(args, &from, &to)?;
    let (name, other) = (from.store.to_string(), to.store.to_string());
    let left = PositionFile::read(&args.cursor, &name, &other)?;
    let is_empty = is_empty(&to.store).await?;
    if left.is_none() && !is_empty && !args.into_nonempty {
        return Err(not_empty(&to.store).into());
    }
    let fresh = left.is_none() && is_empty;
    let position =
        left.unwrap_or(Position { from: name, to: other, mirrors: is_empty, passes: 0, at: None });
    let mut file = PositionFile::new(args.cursor.clone(), position);
    if args.dry_run {
        globals.say(format_args!(
            "{} of the calculations to get a place",
            format::counted(to.missing_accounts(&from) as u64, "account")
        ));
    } else {
        // Before anything is written, so that a copy that was stopped is known.
        file.save()?;
        to.take_accounts(&from).await?;
    }
    let mirrors = file.position.mirrors && !args.dry_run;
    let outcome = pass(args, &from, &to, fresh, mirrors, &mut file, globals).await?;
    if !args.dry_run {
        file.position.at = None;
        file.position.passes += 1;
        file.save()?;
    }
    let comparison = match args.dry_run || args.no_verify {
        true => None,
        false => Some(Comparison::of(&from, &to, args.pace(), args.undeclared).await?),
    };
    report(args, &outcome, comparison.as_ref(), globals)
}

async fn pass(
    args: &Args,
    from: &Side,
    to: &Side,
    fresh: bool,
    mirrors: bool,
    file: &mut PositionFile,
    globals: &Globals,
) -> anyhow::Result<Outcome> {
    let bar = Bar::new(globals);
    let copy = Copy {
        from,
        to,
        pace: args.pace(),
        undeclared: args.undeclared,
        dry_run: args.dry_run,
        fresh,
    };
    let mut outcome = copy.walk(file, &bar).await?;
    if mirrors && !fresh {
        copy.remove(&mut outcome).await?;
    }
    Ok(outcome)
}

impl Args {
    fn pace(&self) -> WalkRate {
        WalkRate { keys_per_second: self.rate }
    }
}

/// Opens the store to write to; none for a folder that a dry run would have to make.
async fn target(args: &Args) -> anyhow::Result<Option<Side>> {
    let url: StoreUrl = args.to.parse().map_err(Error::from)?;
    if args.dry_run && url.folder().is_some_and(|folder| !folder.is_dir()) {
        return Ok(None);
    }
    Ok(Some(Side::new(Store::open(&args.to).await?).await?))
}

/// A dry run into a folder that is not there: everything would be copied.
async fn nothing_there(args: &Args, from: &Side, globals: &Globals) -> anyhow::Result<Exit> {
    let to = Side::new(Store::open("embedded:memory").await?).await?;
    refuse_undeclared(args, from, &to)?;
    let position =
        Position { from: String::new(), to: String::new(), mirrors: true, passes: 0, at: None };
    let mut file = PositionFile::new(args.cursor.clone(), position);
    let copy = Copy {
        from,
        to: &to,
        pace: args.pace(),
        undeclared: args.undeclared,
        dry_run: true,
        fresh: true,
    };
    let outcome = copy.walk(&mut file, &Bar::new(globals)).await?;
    report(args, &outcome, None, globals)
}

fn refuse_undeclared(args: &Args, from: &Side, to: &Side) -> Result<(), Failure> {
    if !args.undeclared || from.layout() == to.layout() {
        return Ok(());
    }
    let one = |side: &Side| match side.layout() {
        Layout::Cluster => "a cluster",
        Layout::Documented => "a store without slots",
    };
    let message = format!("--undeclared: names change between {} and {}", one(from), one(to));
    let hint = "declare the keys in a keys file, and name it by the setting keys";
    Err(Failure::new(Exit::Usage, message).hint(hint))
}

async fn is_empty(store: &Store) -> anyhow::Result<bool> {
    let keyspaces = store.own_keyspaces().await?;
    Ok(keyspaces.iter().all(|keyspace| keyspace.keys() == 0))
}

fn not_empty(store: &Store) -> Failure {
    let message = format!("the store {store} is not empty");
    let hint = "to go on with a copy, name its cursor file by --cursor; --into-nonempty overwrites keys of the same name \
                and keeps the others";
    Failure::new(Exit::Conflict, message).hint(hint)
}

fn report(
    args: &Args,
    outcome: &Outcome,
    comparison: Option<&Comparison>,
    globals: &Globals,
) -> anyhow::Result<Exit> {
    let is_whole = outcome.impossible.keys == 0;
    let is_equal = comparison.is_none_or(Comparison::is_equal);
    if globals.json {
        globals.print_json(&json!({
            "dry_run": args.dry_run,
            "keys": outcome.keys,
            "copied": outcome.copied,
            "unchanged": outcome.unchanged,
            "removed": outcome.removed,
            "undeclared": outcome.undeclared.keys,
            "elsewhere": outcome.elsewhere,
            "impossible": outcome.impossible.keys,
            "comparison": comparison.map(Comparison::as_json),
        }))?;
    } else if let Some(comparison) = comparison {
        comparison.print(globals)?;
    }
    say(args, outcome, globals);
    if let Some(comparison) = comparison {
        comparison.say(globals);
        if !is_equal {
            globals
                .say("run it again for another pass; for the last one, stop what writes to FROM");
        }
    }
    Ok(if is_whole && is_equal { Exit::Ok } else { Exit::Findings })
}

fn say(args: &Args, outcome: &Outcome, globals: &Globals) {
    let Outcome { copied, unchanged, removed, .. } = outcome;
    let [copied, unchanged, removed] = [copied, unchanged, removed].map(|n| format::count(*n));
    match args.dry_run {
        true => globals.say(format_args!("{copied} keys to copy; nothing was changed")),
        false => globals
            .say(format_args!("{copied} keys copied, {unchanged} unchanged, {removed} removed")),
    }
    let such_as = |examples: &[String]| format!("such as {}", examples.join(", "));
    if outcome.undeclared.keys > 0 {
        let keys = format::counted(outcome.undeclared.keys, "key");
        let done = if args.undeclared { "copied" } else { "not copied" };
        let examples = such_as(&outcome.undeclared.examples);
        globals.say(format_args!("{done}: {keys} of no declared family, {examples}"));
    }
    if outcome.elsewhere > 0 {
        let keys = format::counted(outcome.elsewhere, "key");
        globals.say(format_args!("not copied: {keys} in databases that are not the store's"));
    }
    if outcome.impossible.keys > 0 {
        let keys = format::counted(outcome.impossible.keys, "key");
        let examples = such_as(&outcome.impossible.examples);
        globals.say(format_args!(
            "could not be copied: {keys} without a place or type there, {examples}"
        ));
    }
}
