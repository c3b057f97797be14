//! `keyrack keys infer`.

use std::{io::Write as _, num::NonZeroU32};

use keyrack_contract::registry;
use keyrack_format as format;
use keyrack_lint::{InferOptions, Inference, WalkRate};

use super::progress::Bar;
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Also propose declarations for keys that are declared already
    #[arg(long)]
    all: bool,
    /// Read at most N key names
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    keys: usize,
    /// Read the values of N keys per shape
    #[arg(long, value_name = "N", default_value_t = 100)]
    samples: usize,
    /// Scan at most N keys per second [default: unlimited]
    #[arg(long, value_name = "N")]
    pace: Option<NonZeroU32>,
}

/// Proposes declarations, as Rust for a `keys.rs`.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let options = InferOptions {
        all: args.all,
        keys_max: args.keys,
        samples: args.samples,
        pace: WalkRate { keys_per_second: args.pace },
    };
    let store = globals.open_existing_store().await?;
    let bar = Bar::new(globals);
    let inference =
        keyrack_lint::infer(&store, registry(), &options, |progress| bar.show(progress)).await?;
    drop(bar);
    if globals.json {
        globals.print_json(&inference)?;
    } else {
        let mut out = globals.out();
        out.write_all(keyrack_lint::declarations(&inference).as_bytes())?;
        out.flush()?;
    }
    globals.say(summary(&inference));
    Ok(Exit::Ok)
}

fn summary(inference: &Inference) -> String {
    let shapes = format::counted(inference.proposals.len() as u64, "shape");
    let mut words = format!("{} of {shapes}", format::counted(inference.keys, "key"));
    if inference.declared > 0 {
        words += &format!(
            "; {} already declared and left out (--all takes them in)",
            format::count(inference.declared)
        );
    }
    if let Some(example) = &inference.undeclarable_example {
        words += &format!(
            "; {} with names that no declaration can have, such as \"{example}\"",
            format::count(inference.undeclarable)
        );
    }
    if inference.truncated {
        words += "; there are more, which --keys would take in";
    }
    words
}
