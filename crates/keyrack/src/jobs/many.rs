//! `keyrack jobs submit --many`: jobs from a file, one on each line.

mod lines;

use std::{
    io::{self, BufRead, BufReader, Write as _},
    path::Path,
};

use anyhow::Context as _;
use indicatif::ProgressBar;
use keyrack_format as format;
use keyrack_jobs::bee::{
    Hive, Submission,
    keys::{Jid, QueueName},
};
use serde_json::json;

use self::lines::InputLines;
use crate::{Exit, Failure, Globals, input};

/// Lines and bytes that are submitted at once; the hive makes smaller calls of them.
const LINES_PER_BATCH: usize = 2_000;
const BYTES_PER_BATCH: u64 = 8 * 1024 * 1024;
/// Refused lines that are told one by one.
const TOLD_MAX: u64 = 20;

/// Submits the jobs of a file.
pub(super) async fn run(file: &Path, queue: &QueueName, globals: &Globals) -> anyhow::Result<Exit> {
    let (reader, bytes) = open(file)?;
    let hive = super::open(globals).await?;
    let mut many = ManyJobs {
        hive,
        queue,
        globals,
        bar: input::file_bar(globals, bytes),
        lines: InputLines::new(reader),
        submitted: 0,
        refused: 0,
    };
    let ended = many.run().await;
    many.bar.finish_and_clear();
    let (submitted, refused) = (format::counted(many.submitted, "job"), many.refused);
    // What was done before an error counts all the same.
    globals.say(format_args!("{submitted} submitted, {} refused", format::count(refused)));
    ended?;
    if refused == 0 {
        return Ok(Exit::Ok);
    }
    let message = format!("{} not submitted", format::counted(refused, "line"));
    Err(Failure::new(Exit::Failed, message).into())
}

/// The lines, and how many bytes there are, if known.
fn open(file: &Path) -> anyhow::Result<(Box<dyn BufRead>, Option<u64>)> {
    if input::is_stdin(file) {
        return Ok((Box::new(BufReader::new(io::stdin())), None));
    }
    let (opened, bytes) = input::open_file(file)?;
    Ok((Box::new(BufReader::with_capacity(input::BUFFER_BYTES, opened)), bytes))
}

struct ManyJobs<'a> {
    hive: Hive,
    queue: &'a QueueName,
    globals: &'a Globals,
    bar: ProgressBar,
    lines: InputLines,
    submitted: u64,
    refused: u64,
}

/// Jobs to be submitted together, each with the number of its line.
#[derive(Default)]
struct JobBatch {
    numbers: Vec<u64>,
    jobs: Vec<Submission>,
    refused: Vec<(u64, String)>,
    bytes: u64,
}

impl ManyJobs<'_> {
    async fn run(&mut self) -> anyhow::Result<()> {
        loop {
            let (batch, is_last) = self.read_batch()?;
            let bytes = batch.bytes;
            self.submit(batch).await?;
            self.bar.inc(bytes);
            self.bar.set_message(format::counted(self.submitted, "job"));
            if is_last {
                return Ok(());
            }
        }
    }

    fn read_batch(&mut self) -> anyhow::Result<(JobBatch, bool)> {
        let mut batch = JobBatch::default();
        while batch.jobs.len() < LINES_PER_BATCH && batch.bytes < BYTES_PER_BATCH {
            let Some(line) = self.lines.next().context("could not read the jobs")? else {
                return Ok((batch, true));
            };
            batch.bytes += line.bytes;
            match line.job(self.queue) {
                Ok(None) => {}
                Ok(Some(job)) => {
                    batch.numbers.push(line.number);
                    batch.jobs.push(job);
                }
                Err(reason) => batch.refused.push((line.number, reason)),
            }
        }
        Ok((batch, false))
    }

    async fn submit(&mut self, batch: JobBatch) -> anyhow::Result<()> {
        let answers = self.hive.submit_many(batch.jobs).await?;
        let answers = answers.into_iter().map(|answer| answer.map_err(|error| error.to_string()));
        let refused = batch.refused.into_iter().map(|(number, reason)| (number, Err(reason)));
        let mut answers: Vec<_> = batch.numbers.into_iter().zip(answers).chain(refused).collect();
        answers.sort_unstable_by_key(|(number, _)| *number);
        let mut out = self.globals.out();
        for (number, answer) in &answers {
            match answer {
                _ if self.globals.json => writeln!(out, "{}", as_json(*number, answer))?,
                Ok(jid) => writeln!(out, "{jid}")?,
                Err(reason) => self.tell(*number, reason),
            }
            *if answer.is_ok() { &mut self.submitted } else { &mut self.refused } += 1;
        }
        Ok(out.flush()?)
    }

    fn tell(&self, number: u64, reason: &str) {
        self.bar.suspend(|| match self.refused {
            0..TOLD_MAX => self.globals.say(format_args!("line {number}: {reason}")),
            TOLD_MAX => self.globals.say("more lines were refused; they are not listed"),
            _ => {}
        });
    }
}

fn as_json(number: u64, answer: &Result<Jid, String>) -> serde_json::Value {
    match answer {
        Ok(jid) => json!({ "line": number, "jid": jid.as_str() }),
        Err(reason) => json!({ "line": number, "error": reason }),
    }
}
