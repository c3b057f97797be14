//! `keyrack config`: which settings hold, and why.

use std::io::Write as _;

use clap::Subcommand;
use serde::Serialize;

use crate::{
    Exit, Globals,
    settings::{DATA, STORE, Settings, Settled},
};

/// The arguments of `keyrack config`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print every setting, in the form of a settings file
    Show {
        /// Say where each value comes from
        #[arg(long)]
        origin: bool,
    },
}

/// Runs `keyrack config`.
pub(crate) fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let Command::Show { origin } = args.command;
    let lines: Vec<Line> = lines(&globals.settings)?;
    if globals.json {
        globals.print_json(&lines)?;
        return Ok(Exit::Ok);
    }
    let texts: Vec<String> = lines.iter().map(Line::text).collect();
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
struct Line {
    key: &'static str,
    /// What may be shown of it.
    value: Option<String>,
    origin: String,
    secret: bool,
    /// Whether it has a say; of "store" and "data" only one has.
    used: bool,
}

fn lines(settings: &Settings) -> anyhow::Result<Vec<Line>> {
    settings.store_url()?;
    let loser = if settings.get(&STORE).value.is_some()
        && settings.get(&STORE).origin > settings.get(&DATA).origin
    {
        DATA.key
    } else {
        STORE.key
    };
    let line = |settled: &Settled| Line {
        key: settled.setting.key,
        value: settled.shown(),
        origin: settled.whence(),
        secret: settled.setting.secret,
        used: settled.setting.key != loser && settled.value.is_some(),
    };
    Ok(settings.all().iter().map(line).collect())
}

impl Line {
    /// A line of a settings file; a comment when the value is not used or must not be shown.
    fn text(&self) -> String {
        let Some(value) = &self.value else { return format!("# {} is not set", self.key) };
        let assignment = format!("{} = {}", self.key, toml::Value::from(value.as_str()));
        let is_comment = !self.used || value.contains("***");
        if is_comment { format!("# {assignment}") } else { assignment }
    }
}
