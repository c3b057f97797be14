//! `keyrack calc import`: events from a file, one on each line.

mod resume;
mod rows;

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use indicatif::ProgressBar;
use keyrack_calculations::{Accounts, EventResults, Line};
use keyrack_format as format;

use self::{
    resume::Resume,
    rows::{Columns, Format},
};
use crate::{Exit, Failure, Globals, input};

/// Events that are stored at once.
const EVENTS_AT_ONCE: usize = 5_000;
/// Longer lines are refused.
const LINE_BYTES_MAX: u64 = 1024 * 1024;
/// Refused lines that are told one by one.
const TOLD_MAX: u64 = 20;

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The file to import, or - for stdin
    file: PathBuf,
    /// Format of the file [default: by its extension, else ndjson]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Start over, even if an earlier import of this file was interrupted
    #[arg(long)]
    restart: bool,
}

const AFTER_HELP: &str = "\
Each event has account, project, dimension, key, value, created_at, interval and calculation. The
first line of a CSV file names the columns; lists in a cell are separated by spaces, \";\" or \"|\".
An interrupted import resumes where it stopped. Importing a file twice changes nothing.";

/// Takes in the events of a file.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let format = args.format.unwrap_or_else(|| Format::of(&args.file));
    let (mut reader, bytes) = open(&args.file)?;
    let mut resume = Resume::load(&args.file, bytes, args.restart)?;
    let columns = match format {
        Format::Ndjson => None,
        Format::Csv => Some(Columns::read(&mut *reader.by_ref())?),
    };
    let mut import = Import {
        accounts: super::open(globals).await?,
        globals,
        bar: input::file_bar(globals, bytes),
        columns,
        reader,
    };
    if resume.place.bytes > 0 {
        import.reader.seek(SeekFrom::Start(resume.place.bytes))?;
        let lines = format::count(resume.place.line);
        globals.say(format_args!("resuming the interrupted import after line {lines}"));
    } else if let Some(columns) = &import.columns {
        (resume.place.bytes, resume.place.line) = (columns.bytes, 1);
    }
    let ended = import.run(&mut resume).await;
    import.bar.finish_and_clear();
    let (stored, refused) = (resume.place.stored, resume.place.refused);
    globals.say(format_args!(
        "{} stored, {} refused",
        format::counted(stored, "event"),
        format::count(refused)
    ));
    ended?;
    resume.finish()?;
    if refused == 0 {
        return Ok(Exit::Ok);
    }
    Err(Failure::new(Exit::Failed, format!("{} not stored", format::counted(refused, "line")))
        .into())
}

/// What lines are read from.
trait Source: BufRead {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64>;
}

impl Source for BufReader<File> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        io::Seek::seek(self, to)
    }
}

impl Source for BufReader<io::Stdin> {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The file, and how many bytes it has, if known.
fn open(file: &Path) -> anyhow::Result<(Box<dyn Source>, Option<u64>)> {
    if input::is_stdin(file) {
        return Ok((Box::new(BufReader::new(io::stdin())), None));
    }
    let (mut opened, bytes) = input::open_file(file)?;
    // Without seeking, an import cannot go back to where it was.
    let bytes = bytes.filter(|_| opened.stream_position().is_ok());
    Ok((Box::new(BufReader::with_capacity(input::BUFFER_BYTES, opened)), bytes))
}

struct Import<'a> {
    accounts: Accounts,
    globals: &'a Globals,
    bar: ProgressBar,
    columns: Option<Columns>,
    reader: Box<dyn Source>,
}

/// Lines to be stored together.
#[derive(Default)]
struct EventBatch {
    lines: Vec<(u64, Line)>,
    refused: Vec<(u64, String)>,
    bytes: u64,
    line: u64,
    is_last: bool,
}

impl Import<'_> {
    async fn run(&mut self, resume: &mut Resume) -> anyhow::Result<()> {
        let mut batch = self.read_batch(resume.place.line)?;
        loop {
            let (is_last, bytes, line) = (batch.is_last, batch.bytes, batch.line);
            let EventBatch { lines, refused, .. } = batch;
            let (numbers, lines): (Vec<u64>, Vec<Line>) = lines.into_iter().unzip();
            let accounts = self.accounts.clone();
            let storing = tokio::spawn(async move { accounts.record(lines).await });
            // The next lines are read while these are stored.
            let next = if is_last { Ok(EventBatch::default()) } else { self.read_batch(line) };
            let outcomes = storing.await.context("storing events failed")??;
            let (stored, refused) = self.count(numbers, outcomes, refused, resume.place.refused);
            resume.place.stored += stored;
            resume.place.refused += refused;
            resume.place.bytes += bytes;
            resume.place.line = line;
            // After the events are stored: an interruption in between stores some again, which changes nothing.
            resume.save()?;
            self.bar.set_position(resume.place.bytes);
            self.bar.set_message(format::counted(resume.place.stored, "event"));
            if is_last {
                return Ok(());
            }
            batch = next?;
        }
    }

    fn read_batch(&mut self, line: u64) -> anyhow::Result<EventBatch> {
        let mut batch = EventBatch { line, ..EventBatch::default() };
        while batch.lines.len() + batch.refused.len() < EVENTS_AT_ONCE {
            let mut text = Vec::new();
            let limit = LINE_BYTES_MAX + 1;
            let mut bytes = self
                .reader
                .by_ref()
                .take(limit)
                .read_until(b'\n', &mut text)
                .context("could not read the events")? as u64;
            if bytes == 0 {
                batch.is_last = true;
                break;
            }
            batch.line += 1;
            let is_whole = text.last() == Some(&b'\n') || bytes < limit;
            if !is_whole {
                bytes += self.reader.skip_until(b'\n')? as u64;
            }
            batch.bytes += bytes;
            match self.event(&text, is_whole) {
                Ok(None) => {}
                Ok(Some(event)) => batch.lines.push((batch.line, event)),
                Err(reason) => batch.refused.push((batch.line, reason)),
            }
        }
        Ok(batch)
    }

    /// The event on a line; none on an empty one.
    fn event(&self, text: &[u8], is_whole: bool) -> Result<Option<Line>, String> {
        if !is_whole {
            return Err(format!("more than {LINE_BYTES_MAX} bytes"));
        }
        let text = std::str::from_utf8(text).map_err(|_| "not UTF-8".to_owned())?.trim();
        if text.is_empty() {
            return Ok(None);
        }
        match &self.columns {
            None => Line::from_json(text).map(Some).map_err(|error| error.to_string()),
            Some(columns) => columns.event(text).map(Some),
        }
    }

    /// Says which lines were refused; returns how many were stored and refused.
    fn count(
        &self,
        numbers: Vec<u64>,
        outcomes: EventResults,
        mut refused: Vec<(u64, String)>,
        refused_before: u64,
    ) -> (u64, u64) {
        let mut stored = 0;
        for (number, outcome) in numbers.into_iter().zip(outcomes) {
            match outcome {
                Ok(()) => stored += 1,
                Err(error) => refused.push((number, error.to_string())),
            }
        }
        refused.sort_unstable();
        for (at, (number, reason)) in (refused_before..).zip(&refused) {
            self.bar.suspend(|| match at {
                0..TOLD_MAX => self.globals.say(format_args!("line {number}: {reason}")),
                TOLD_MAX => self.globals.say("more lines were refused; they are not listed"),
                _ => {}
            });
        }
        (stored, refused.len() as u64)
    }
}
