//! `keyrack store check`.

use std::{io::Write as _, path::Path};

use keyrack_engine::log::{self, Damage, Report};
use keyrack_format as format;
use serde_json::{Value, json};

use crate::{Exit, Failure, Globals};

/// Verifies the log in a folder.
pub(super) fn run(dir: &Path, globals: &Globals) -> anyhow::Result<Exit> {
    let report = log::check(dir)?;
    if globals.json {
        globals.print_json(&as_json(dir, &report))?;
    } else {
        print(&report, globals)?;
    }
    if report.in_use {
        globals.say("a process is using the folder, so its last write may look incomplete");
    }
    for damage in report.damage.iter().filter(|damage| damage.torn) {
        globals.say(format_args!(
            "incomplete last write, which the next start removes: {}",
            place(damage)
        ));
    }
    if let Some(damage) = report.damage.iter().find(|damage| !damage.torn) {
        let message = format!("the log in \"{}\" is damaged: {}", dir.display(), place(damage));
        let hint = format!(
            "restore it from a backup, or keep everything before the damage with: keyrack store repair \"{}\"",
            dir.display()
        );
        return Err(Failure::new(Exit::Failed, message).hint(hint).into());
    }
    let commands = report.files.iter().map(|file| file.commands).sum();
    globals.say(format_args!("intact: {}", format::counted(commands, "command")));
    Ok(Exit::Ok)
}

fn print(report: &Report, globals: &Globals) -> anyhow::Result<()> {
    let width = report.files.iter().map(|file| file.name.len()).max().unwrap_or(4).max(4);
    let mut out = globals.out();
    writeln!(
        out,
        "{:width$}  kind  {:>12}  {:>10}  {:>10}  {:>12}",
        "file", "bytes", "commands", "batches", "no checksum"
    )?;
    for file in &report.files {
        let kind = if file.base { "base" } else { "incr" };
        writeln!(
            out,
            "{:width$}  {kind}  {:>12}  {:>10}  {:>10}  {:>12}",
            file.name, file.bytes, file.commands, file.batches, file.bytes_unchecked
        )?;
    }
    Ok(out.flush()?)
}

fn as_json(dir: &Path, report: &Report) -> Value {
    let files = report.files.iter().map(|file| {
        json!({
            "name": file.name,
            "base": file.base,
            "bytes": file.bytes,
            "bytes_unchecked": file.bytes_unchecked,
            "batches": file.batches,
            "commands": file.commands,
        })
    });
    json!({
        "dir": dir.display().to_string(),
        "sound": report.is_sound(),
        "in_use": report.in_use,
        "files": files.collect::<Vec<_>>(),
        "damage": report.damage.iter().map(damage_as_json).collect::<Vec<_>>(),
    })
}

pub(super) fn damage_as_json(damage: &Damage) -> Value {
    json!({
        "file": damage.file,
        "offset": damage.offset,
        "bytes": damage.bytes,
        "reason": damage.reason,
        "torn": damage.torn,
    })
}

/// Where the damage is and what it is.
pub(super) fn place(damage: &Damage) -> String {
    let Damage { file, offset, bytes, reason, .. } = damage;
    let rest = format::counted(*bytes, "byte");
    format!("\"{file}\" at byte {offset}: {reason} ({rest} to the end)")
}
