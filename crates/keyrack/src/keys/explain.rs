//! `keyrack keys explain`. Needs no store: everything it says is in the declarations.

use std::io::Write as _;

use keyrack_contract::registry;
use keyrack_keys::Explanation;
use serde_json::{Value, json};

use super::families;
use crate::{Exit, Failure, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The key or channel, in its documented form or its cluster form
    key: String,
}

/// Tells what a key is.
pub(super) fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let explanation = registry().explain(args.key.as_bytes()).ok_or_else(|| unknown(&args.key))?;
    if globals.json {
        globals.print_json(&as_json(&explanation))?;
    } else {
        let mut out = globals.out();
        write!(out, "{explanation}")?;
        out.flush()?;
    }
    Ok(Exit::Ok)
}

fn unknown(key: &str) -> Failure {
    let failure = Failure::new(Exit::NotFound, format!("\"{key}\" belongs to no declared family"));
    match families::nearest(key) {
        Some((family, None)) => {
            failure.hint(format!("the nearest is {}, such as {}", family.template, family.example))
        }
        Some((family, Some(reason))) => {
            failure.hint(format!("the nearest is {}, but {reason}", family.template))
        }
        None => failure.hint("\"keyrack keys list\" shows all families"),
    }
}

fn as_json(explanation: &Explanation) -> Value {
    let parts = explanation
        .parts
        .iter()
        .map(|part| json!({ "name": part.name, "value": part.value, "meaning": part.meaning }));
    json!({
        "name": explanation.name,
        "cluster": explanation.cluster,
        "parts": parts.collect::<Vec<_>>(),
        "family": families::as_json(explanation.family),
    })
}
