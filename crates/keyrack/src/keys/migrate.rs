//! `keyrack keys migrate`.

mod apply;
mod form;
mod place;
mod plan;

use std::{io::Write as _, num::NonZeroU32, path::PathBuf};

use keyrack_contract::registry;
use keyrack_format as format;
use serde_json::json;

use self::apply::{Outcome, walk};
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example of a plan, for keys that --keys declares as they are now:
  [[step]]
  keys = \"order\"
  encode = { 0 = \"false\", 1 = \"true\" }
  field = \"paid\"

  [[step]]
  keys = \"recent\"
  encode = \"unix-seconds to unix-ms\"
  place = \"score\"

  [[step]]
  keys = \"order\"
  ttl = \"30d\"

  [[step]]
  keys = \"order\"
  rename = \"orders:<order>\"

\"encode\" is a table of words, or \"A to B\" with two of \"unix-seconds\", \"unix-ms\" and \"iso-time\". \"field\" \
names a field of a hash; \"place\" says which values of other keys: \"value\" of a string or map, \"field\" of a map, \
\"item\" of a list, \"member\" of a set, \"member\" or \"score\" of a sorted set. Entries of streams cannot be changed.

Nothing is overwritten: a key whose new name is taken stays as it is, and so does a member. A migration that was \
stopped goes on when it is run again. Ends with 10 if something is left to do.")]
pub(super) struct Args {
    /// The plan
    plan: PathBuf,
    /// Change the keys; without it, only count them
    #[arg(long)]
    apply: bool,
    /// Look at no more than N keys per second
    #[arg(long, value_name = "N", default_value = "10000")]
    pace: NonZeroU32,
}

/// Carries a plan out, or says what it would do.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let steps = plan::read(&args.plan)?;
    let store = globals.open_existing_store().await?;
    let mut outcomes = Vec::new();
    for step in &steps {
        let mut outcome = walk(&store, registry(), step, args.pace, args.apply).await?;
        if args.apply {
            // What writers added meanwhile, or changed back, shows here.
            outcome.left = walk(&store, registry(), step, args.pace, false).await?.to_do;
        }
        outcomes.push(outcome);
    }
    let is_done = outcomes.iter().all(|outcome| outcome.is_done(args.apply));
    if globals.json {
        let steps = steps.iter().zip(&outcomes).map(|(step, outcome)| {
            json!({
                "step": step.to_string(),
                "keys": outcome.keys,
                "to_do": outcome.to_do,
                "done": outcome.done,
                "left": args.apply.then_some(outcome.left),
                "taken": outcome.taken,
                "unreadable": outcome.unreadable,
                "examples": outcome.examples,
            })
        });
        let steps: Vec<_> = steps.collect();
        globals.print_json(&json!({ "applied": args.apply, "done": is_done, "steps": steps }))?;
    } else {
        let mut out = globals.out();
        for (step, outcome) in steps.iter().zip(&outcomes) {
            writeln!(out, "{step}\n  {}", words(outcome, args.apply))?;
            for example in &outcome.examples {
                writeln!(out, "  {example}")?;
            }
        }
        out.flush()?;
    }
    if !args.apply {
        globals.say("nothing was changed; --apply changes it");
    }
    Ok(if is_done { Exit::Ok } else { Exit::Findings })
}

fn words(outcome: &Outcome, applied: bool) -> String {
    let mut words = format!("{}, ", format::counted(outcome.keys, "key"));
    words += &match applied {
        true => {
            format!("{} changed, {} left", format::count(outcome.done), format::count(outcome.left))
        }
        false => format!("{} to change", format::count(outcome.to_do)),
    };
    if outcome.taken > 0 {
        words += &format!(", {} whose new name or member is taken", format::count(outcome.taken));
    }
    if outcome.unreadable > 0 {
        words += &format!(", {} with another form or type", format::count(outcome.unreadable));
    }
    words
}
