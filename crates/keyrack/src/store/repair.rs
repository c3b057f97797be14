//! `keyrack store repair`.

use std::{io::Write as _, path::Path};

use keyrack_engine::log::{self, Repair};
use keyrack_format as format;
use serde_json::{Value, json};

use super::check::{damage_as_json, place};
use crate::{Exit, Globals, terminal::confirmed};

const QUESTION: &str = "cut the log there, keeping what is cut in files beside it?";

/// Repairs the log in a folder, once the user agrees.
pub(super) fn run(dir: &Path, yes: bool, globals: &Globals) -> anyhow::Result<Exit> {
    let report = log::check(dir)?;
    for damage in &report.damage {
        globals.say(format_args!("damaged: {}", place(damage)));
    }
    if !report.damage.is_empty()
        && !yes
        && !confirmed(QUESTION, &format!("repairing \"{}\"", dir.display()))?
    {
        globals.say("nothing was changed");
        return Ok(Exit::Failed);
    }
    let repair = if report.damage.is_empty() && !report.in_use {
        Repair { found: report, saved: Vec::new() }
    } else {
        // Looks again under the folder's lock, and refuses a folder in use.
        log::repair(dir)?
    };
    if globals.json {
        globals.print_json(&as_json(dir, &repair))?;
    } else {
        print(&repair, globals)?;
    }
    if repair.found.damage.is_empty() {
        globals.say("the log is intact; nothing to repair");
    } else {
        globals.say("repaired: the log was truncated at the first damage");
    }
    Ok(Exit::Ok)
}

fn print(repair: &Repair, globals: &Globals) -> anyhow::Result<()> {
    let mut out = globals.out();
    for saved in &repair.saved {
        let bytes = format::counted(saved.bytes, "byte");
        writeln!(
            out,
            "{}: {bytes} from byte {} on are now in {}",
            saved.file, saved.offset, saved.saved_as
        )?;
    }
    Ok(out.flush()?)
}

fn as_json(dir: &Path, repair: &Repair) -> Value {
    let saved = repair.saved.iter().map(|saved| {
        json!({
            "file": saved.file,
            "offset": saved.offset,
            "bytes": saved.bytes,
            "saved_as": saved.saved_as,
        })
    });
    json!({
        "dir": dir.display().to_string(),
        "damage": repair.found.damage.iter().map(damage_as_json).collect::<Vec<_>>(),
        "saved": saved.collect::<Vec<_>>(),
    })
}
