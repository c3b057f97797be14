//! `keyrack import`: moves waiting and delayed jobs of other libraries' queues into queues here.
//!
//! An entry is first moved into a list beside the place where it was found, then submitted under an id that
//! follows from its own, and removed when the store has it. So an import that is killed at any point goes on
//! when it is run again, and neither loses a job nor makes it twice.

mod bullmq;
mod celery;
mod foreign;
mod pickle;
mod place;
mod rq;
mod tally;

use std::{collections::HashMap, io::Write as _};

use anyhow::Context as _;
use keyrack_format as format;
use keyrack_jobs::{
    Error,
    bee::{Hive, Submission, SubmitOutcome},
};
use keyrack_store::{Connection, Store};

use self::{
    foreign::{Foreign, Library, Unfit},
    place::{Entry, Place},
    tally::Tally,
};
use crate::{Exit, Failure, Globals};

/// Jobs that are moved at once: so many are moved again, without a second job, after an import was killed.
const JOBS_AT_ONCE: usize = 200;
/// How often a place is gone through: what workers take meanwhile shifts the rest.
const ROUNDS_MAX: usize = 3;

/// The arguments of `keyrack import`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The library whose jobs are moved
    #[arg(value_enum)]
    library: Library,
    /// Redis of that library, such as redis://HOST:6379/0 [default: the store itself]
    #[arg(long, value_name = "URL")]
    from: Option<String>,
    /// Move jobs of this queue of the library only; can be repeated
    #[arg(long = "queue", value_name = "NAME")]
    queues: Vec<String>,
    /// What stands before the library's keys [default: bull for BullMQ, nothing for the others]
    #[arg(long)]
    prefix: Option<String>,
    /// Move jobs of the task or queue OLD into the queue NEW; can be repeated
    #[arg(long = "map", value_name = "OLD=NEW", value_parser = renaming)]
    renamings: Vec<(String, String)>,
    /// Show what would be moved, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Leave the jobs in the library's Redis too; stop its workers first
    #[arg(long, conflicts_with = "dry_run")]
    keep: bool,
}

const AFTER_HELP: &str = "\
Celery and RQ: a job goes into the queue that has the name of its task or function. Its arguments are
the same; keyword arguments are an object after them. BullMQ: a job goes into the queue of the same
name. Its argument is its data, and its name is a tag.

Delays, priorities, retries and time limits are kept. Running jobs, flows, chains and jobs whose
arguments are no JSON stay where they are; the command says how many. Run it again after it was
interrupted: no job is lost or moved twice, also with --keep, within 7 days.";

fn renaming(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((old, new)) if !old.is_empty() && !new.is_empty() => Ok((old.into(), new.into())),
        _ => Err("write OLD=NEW, such as tasks.add=add".to_owned()),
    }
}

/// Runs `keyrack import`.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    if args.library == Library::Rq && args.prefix.is_some() {
        let message = "--prefix: RQ's keys always begin with \"rq:\"";
        return Err(Failure::new(Exit::Usage, message).into());
    }
    let store = match args.dry_run && args.from.is_some() {
        // Nothing is written, so it need not be there.
        true => None,
        false => Some(globals.open_named_store().await?),
    };
    let source = match (&args.from, &store) {
        (Some(url), _) => Store::open(url).await.context("the store of --from")?,
        (None, Some(store)) => store.clone(),
        (None, None) => unreachable!("a store was opened"),
    };
    let hive = match store {
        Some(store) if !args.dry_run => Some(Hive::open(store).await?),
        _ => None,
    };
    let mut import = Import {
        from: source.connection(),
        now_ms: source.now_ms() as f64,
        names: args.renamings.iter().cloned().collect(),
        hive,
        tally: Tally::default(),
        args: &args,
    };
    let prefix = args.prefix.as_deref();
    let places = args.library.places(&source, prefix, &args.queues).await?;
    for place in &places {
        import.empty(place).await?;
    }
    for (reason, n) in args.library.others(&source, prefix, &args.queues).await? {
        import.tally.leave(reason, n);
    }
    report(&args, &import.tally, globals)
}

struct Import<'a> {
    args: &'a Args,
    from: Connection,
    now_ms: f64,
    names: HashMap<String, String>,
    /// Nothing in a dry run.
    hive: Option<Hive>,
    tally: Tally,
}

/// An entry, and the job that it becomes.
struct Moved {
    entry: Entry,
    foreign: Foreign,
    job: Submission,
}

impl Import<'_> {
    /// Moves what a place holds.
    async fn empty(&mut self, place: &Place) -> anyhow::Result<()> {
        let stays = self.hive.is_none() || self.args.keep;
        if !stays {
            self.resume(place).await?;
        }
        let before = self.tally.clone();
        for round in 0..ROUNDS_MAX {
            if round > 0 {
                self.tally.unfit.clone_from(&before.unfit);
            }
            if self.go_through(place, stays).await? == 0 || stays {
                break;
            }
        }
        Ok(())
    }

    /// Finishes what an earlier import has begun.
    async fn resume(&mut self, place: &Place) -> anyhow::Result<()> {
        loop {
            let entries = place.held(&mut self.from, JOBS_AT_ONCE).await?;
            if entries.is_empty() {
                return Ok(());
            }
            let (jobs, unfit) = self.read(place, entries).await?;
            // It was fit before, so this is another version of the program, or other names.
            for (entry, reason) in unfit {
                place.put_back(&mut self.from, &entry).await?;
                self.tally.leave(reason, 1);
            }
            self.finish(place, jobs).await?;
        }
    }

    /// Goes through a place once, from its oldest entry. Returns how many jobs were moved.
    async fn go_through(&mut self, place: &Place, stays: bool) -> anyhow::Result<usize> {
        let (mut passed, mut moved) = (0, 0);
        loop {
            let entries = place.entries(&mut self.from, passed, JOBS_AT_ONCE).await?;
            if entries.is_empty() {
                return Ok(moved);
            }
            let n_entries = entries.len();
            let (mut jobs, unfit) = self.read(place, entries).await?;
            passed += if stays { n_entries } else { unfit.len() };
            for (_, reason) in unfit {
                self.tally.leave(reason, 1);
            }
            if !stays {
                let entries: Vec<&Entry> = jobs.iter().map(|job| &job.entry).collect();
                let is_held = place.hold(&mut self.from, &entries).await?;
                // A worker of the library has taken the others.
                let mut is_held = is_held.into_iter();
                jobs.retain(|_| is_held.next() == Some(true));
            }
            moved += jobs.len();
            self.finish(place, jobs).await?;
        }
    }

    /// The jobs that entries stand for, and those that stay, each with the reason.
    async fn read(
        &mut self,
        place: &Place,
        entries: Vec<Entry>,
    ) -> anyhow::Result<(Vec<Moved>, Vec<(Entry, Unfit)>)> {
        let read = {
            let (library, prefix) = (self.args.library, self.args.prefix.as_deref());
            library.read(&mut self.from, prefix, place, &entries).await?
        };
        let (mut jobs, mut unfit) = (Vec::new(), Vec::new());
        for (entry, read) in entries.into_iter().zip(read) {
            let submission = read.and_then(|foreign| {
                let job = foreign.submission(self.args.library, &self.names, self.now_ms)?;
                Ok((foreign, job))
            });
            match submission {
                Ok((foreign, job)) => jobs.push(Moved { entry, foreign, job }),
                Err(reason) => unfit.push((entry, reason)),
            }
        }
        Ok((jobs, unfit))
    }

    /// Submits jobs, and forgets their entries once the store has them.
    async fn finish(&mut self, place: &Place, jobs: Vec<Moved>) -> anyhow::Result<()> {
        let Some(hive) = &self.hive else {
            for Moved { foreign, job, .. } in jobs {
                self.tally.take(
                    &foreign.name,
                    job.queue().as_str(),
                    foreign.due_ms > Some(self.now_ms),
                );
            }
            return Ok(());
        };
        let submissions = jobs.iter().map(|moved| moved.job.clone()).collect();
        let answers = hive.submit_each(submissions).await?;
        let (mut forgotten, mut refused) = (Vec::new(), None);
        for (Moved { entry, foreign, job }, answer) in jobs.into_iter().zip(answers) {
            match answer {
                Ok(stored) if stored.outcome == SubmitOutcome::Created => {
                    self.tally.take(
                        &foreign.name,
                        job.queue().as_str(),
                        foreign.due_ms > Some(self.now_ms),
                    );
                }
                Ok(_) | Err(Error::Exists { .. }) => self.tally.before += 1,
                Err(error) => {
                    refused.get_or_insert(error);
                    continue;
                }
            }
            forgotten.push((entry, foreign.keys));
        }
        if !self.args.keep {
            place.forget(&mut self.from, &forgotten).await?;
        }
        // It stays in the list beside its place, where the next import finds it.
        refused.map_or(Ok(()), |error| Err(error.into()))
    }
}

fn report(args: &Args, tally: &Tally, globals: &Globals) -> anyhow::Result<Exit> {
    if globals.json {
        globals.print_json(&tally.to_json(args.dry_run))?;
        return Ok(Exit::Ok);
    }
    let mut out = globals.out();
    tally.table().print(&mut out)?;
    out.flush()?;
    let verb = if args.dry_run { "would be moved" } else { "moved" };
    globals.say(format_args!("{} {verb}", format::counted(tally.taken(), "job")));
    if tally.before > 0 {
        globals.say(format_args!("{} moved before", format::counted(tally.before, "job")));
    }
    for (reason, n) in &tally.unfit {
        globals.say(format_args!("{} not moved: {reason}", format::counted(*n, "job")));
    }
    Ok(Exit::Ok)
}
