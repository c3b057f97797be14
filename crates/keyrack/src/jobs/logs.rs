//! `keyrack jobs logs`.

use std::io::Write as _;

use clap::value_parser;
use keyrack_format as format;
use keyrack_jobs::bee::{
    keys::Jid,
    logs::{LOG_LINES_MAX, LogLevel, LogLine, LogPage},
};

use super::{names, open};
use crate::{
    Exit, Globals,
    terminal::{Color, Paint},
};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The id of the job
    #[arg(value_name = "JOB", value_parser = names::jid)]
    jid: Jid,
    /// Print further lines as they come, until the job has ended
    #[arg(long, short)]
    follow: bool,
    /// Print only the last N lines, 1 to 1000 [default: all that are kept]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1000))]
    last: Option<u16>,
}

const AFTER_HELP: &str = "\
A line has its time, the attempt that wrote it, its level and its text. The newest 1,000 lines of a
job are kept, of at most 256 KiB, as long as the job; how many were dropped goes to stderr.
With --json each line is an object on a line of its own.";

/// Prints the log of a job.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let hive = open(globals).await?;
    hive.job(&args.jid).await?;
    let page = hive.log_end(&args.jid, args.last.map_or(LOG_LINES_MAX, usize::from)).await?;
    if page.dropped > 0 {
        globals.say(format_args!("{} not kept", format::counted(page.dropped, "line")));
    }
    if page.lines.is_empty() && !args.follow {
        globals.say(format_args!("the job \"{}\" has logged nothing", args.jid));
    }
    print(&page, globals)?;
    if args.follow {
        let mut follower = hive.follow_log(&args.jid, page.next).await?;
        while let Some(page) = follower.next().await? {
            print(&page, globals)?;
        }
    }
    Ok(Exit::Ok)
}

fn print(page: &LogPage, globals: &Globals) -> anyhow::Result<()> {
    let mut out = globals.out();
    let paint = Paint::for_stdout();
    for line in &page.lines {
        match globals.json {
            true => writeln!(out, "{}", serde_json::to_string(line)?)?,
            false => writeln!(out, "{}", words(line, paint))?,
        }
    }
    // Whoever follows reads it now.
    Ok(out.flush()?)
}

/// A line for people. Anybody can write one, so nothing in it may move the cursor.
fn words(line: &LogLine, paint: Paint) -> String {
    let at = paint.apply(Some(Color::Dim), &format::local_ms(line.at));
    let attempt = paint.apply(Some(Color::Dim), &format!("#{}", line.attempt));
    let level = paint.apply(color(line.level), &format!("{:<5}", line.level.as_str()));
    let mut texts = line.text.lines();
    let mut words =
        format!("{at}  {attempt}  {level}  {}", plain(texts.next().unwrap_or_default()));
    for text in texts {
        words.push_str("\n    ");
        words.push_str(&plain(text));
    }
    words
}

fn plain(text: &str) -> String {
    format::one_line(text, None)
}

fn color(level: LogLevel) -> Option<Color> {
    match level {
        LogLevel::Error => Some(Color::Red),
        LogLevel::Warn => Some(Color::Yellow),
        LogLevel::Info => None,
        LogLevel::Debug | LogLevel::Trace => Some(Color::Dim),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_anybody_cannot_move_the_cursor() {
        let line = LogLine {
            n: 0,
            at: 0,
            level: LogLevel::Warn,
            attempt: 2,
            text: "red \u{1b}[31m\nsec\rond".into(),
        };
        let words = words(&line, Paint::for_stdout());
        assert!(words.ends_with("#2  warn   red \\u001b[31m\n    sec ond"), "{words:?}");
    }
}
