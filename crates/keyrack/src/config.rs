//! `keyrack config`: which settings hold, and why.

use std::io::Write as _;

use clap::Subcommand;
use serde::Serialize;

use crate::{
    Exit, Globals,
    settings::{DATA, ResolvedSetting, STORE, Settings},
};

/// The arguments of `keyrack config`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the effective settings in the form of keyrack.toml
    Show {
        /// Also print where each value comes from
        #[arg(long)]
        origin: bool,
    },
}

/// Runs `keyrack config`.
pub(crate) fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let Command::Show { origin } = args.command;
    let lines: Vec<SettingLine> = lines(&globals.settings)?;
    if globals.json {
        globals.print_json(&lines)?;
        return Ok(Exit::Ok);
    }
    let texts: Vec<String> = lines.iter().map(SettingLine::text).collect();
    let width = texts.iter().map(String::len).max().unwrap_or(0);
    let mut out = globals.out();
    for (line, text) in lines.iter().zip(&texts) {
        if origin {
            writeln!(out, "{text:width$}  # {}", line.origin)?;
        } else {
            writeln!(out, "{text}")?;
        }
    }
    let recurring = globals.settings.recurring_text();
    if !recurring.is_empty() {
        write!(out, "\n{recurring}")?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}

/// A setting as it is shown.
#[derive(Serialize)]
struct SettingLine {
    key: &'static str,
    /// What may be shown of it.
    value: Option<String>,
    origin: String,
    secret: bool,
    /// Whether it has a say; of "store" and "data" only one has.
    used: bool,
}

fn lines(settings: &Settings) -> anyhow::Result<Vec<SettingLine>> {
    settings.store_url()?;
    let loser = if settings.get(&STORE).value.is_some()
        && settings.get(&STORE).origin > settings.get(&DATA).origin
    {
        DATA.key
    } else {
        STORE.key
    };
    let line = |resolved: &ResolvedSetting| SettingLine {
        key: resolved.setting.key,
        value: resolved.shown(),
        origin: resolved.whence(),
        secret: resolved.setting.secret,
        used: resolved.setting.key != loser && resolved.value.is_some(),
    };
    Ok(settings.all().iter().map(line).collect())
}

impl SettingLine {
    /// A line of a settings file; a comment when the value is not used or must not be shown.
    fn text(&self) -> String {
        let Some(value) = &self.value else { return format!("# {} is not set", self.key) };
        let assignment = format!("{} = {}", self.key, toml::Value::from(value.as_str()));
        let is_comment = !self.used || value.contains("***");
        if is_comment { format!("# {assignment}") } else { assignment }
    }
}
