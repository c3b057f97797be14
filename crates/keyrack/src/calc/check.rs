//! `keyrack calc verify` and `keyrack calc recompute`.

use std::io::Write as _;

use keyrack_calculations::Verdict;
use keyrack_format as format;
use serde_json::json;

use super::{open, scope::Scope};
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
#[command(after_help = "\"verify\" changes nothing and exits with 10 if it finds a difference.")]
pub(super) struct Args {
    #[command(flatten)]
    scope: Scope,
}

/// Compares and changes nothing.
pub(super) async fn verify(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let found = go_through(args, globals, false).await?;
    Ok(if found == 0 { Exit::Ok } else { Exit::Findings })
}

/// Calculates afresh.
pub(super) async fn recompute(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    go_through(args, globals, true).await?;
    Ok(Exit::Ok)
}

/// Goes through the keys; returns how many differences there were.
async fn go_through(args: &Args, globals: &Globals, mends: bool) -> anyhow::Result<usize> {
    let accounts = open(globals).await?;
    let ledger = args.scope.ledger(&accounts).await?;
    let ids = args.scope.keys(&ledger).await?;
    let mut all = Verdict::default();
    for id in &ids {
        let verdict = if mends { ledger.recompute(id).await? } else { ledger.verify(id).await? };
        all.compared += verdict.compared;
        all.unreadable += verdict.unreadable;
        all.differences.extend(verdict.differences);
    }
    if globals.json {
        let differences: Vec<_> = all
            .differences
            .iter()
            .map(|difference| {
                json!({
                    "key": difference.name,
                    "field": difference.field,
                    "stored": difference.stored,
                    "expected": difference.expected,
                })
            })
            .collect();
        globals.print_json(&json!({
            "keys": ids.len(),
            "compared": all.compared,
            "unreadable": all.unreadable,
            "differences": differences,
        }))?;
    } else {
        let mut out = globals.out();
        for difference in &all.differences {
            let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".into());
            writeln!(
                out,
                "{} {}: {} is stored, the values say {}",
                difference.name,
                difference.field,
                shown(&difference.stored),
                shown(&difference.expected)
            )?;
        }
        out.flush()?;
    }
    let differences = format::counted(all.differences.len() as u64, "difference");
    let keys = format::counted(ids.len() as u64, "key");
    let mended = if mends && !all.differences.is_empty() { ", mended" } else { "" };
    globals.say(format_args!(
        "{keys}, {} compared: {differences}{mended}",
        format::counted(all.compared, "result")
    ));
    if all.unreadable > 0 {
        globals.say(format_args!(
            "{} cannot be read and were left out",
            format::counted(all.unreadable, "value")
        ));
    }
    Ok(all.differences.len())
}
