//! `keyrack journeys create`.

use std::{io::Write as _, time::Duration};

use clap::ArgGroup;
use keyrack_format as format;
use keyrack_journeys::{Journeys, Prompt};

use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("answer").required(true).args(["numeric", "press", "color", "word"]))]
pub(super) struct Args {
    /// The question that the audience answers
    text: String,
    /// Length of the journey, such as 60s
    #[arg(long, value_name = "TIME", value_parser = format::duration::parse_positive)]
    duration: Duration,
    /// Answers are numbers in this range, such as 1..10
    #[arg(long, value_name = "MIN..MAX", value_parser = range, allow_hyphen_values = true)]
    numeric: Option<(i64, i64)>,
    /// The answer is pressing and releasing a button
    #[arg(long)]
    press: bool,
    /// Answers are one of these colors, separated by commas
    #[arg(long, value_name = "COLOR", value_delimiter = ',')]
    color: Vec<String>,
    /// Answers are one of these words, separated by commas
    #[arg(long, value_name = "WORD", value_delimiter = ',')]
    word: Vec<String>,
}

/// Makes a journey.
pub(super) async fn run(
    args: Args,
    journeys: &Journeys,
    globals: &Globals,
) -> anyhow::Result<Exit> {
    let text = args.text;
    let prompt = match args.numeric {
        Some((min, max)) => Prompt::Numeric { text, min, max, step: 1 },
        None if args.press => Prompt::Press { text },
        None if args.word.is_empty() => Prompt::Color { text, colors: args.color },
        None => Prompt::Word { text, options: args.word },
    };
    let journey = journeys.create(prompt, args.duration.as_secs_f64()).await?;
    if globals.json {
        globals.print_json(&journey)?;
    } else {
        let mut out = globals.out();
        writeln!(out, "{}", journey.uid)?;
        out.flush()?;
    }
    Ok(Exit::Ok)
}

/// Reads `1..10`.
fn range(text: &str) -> Result<(i64, i64), String> {
    let ends =
        text.split_once("..").and_then(|(min, max)| Some((min.parse().ok()?, max.parse().ok()?)));
    ends.ok_or_else(|| "give two numbers, as in 1..10".into())
}
