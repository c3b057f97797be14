//! `keyrack jobs list`.

use std::{io::Write as _, str::FromStr};

use keyrack_format as format;
use keyrack_jobs::bee::{Filter, Hive, Job, JobState, PAGE_MAX, keys::QueueName};
use serde::Serialize;

use super::{names, open_queue, rows};
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The queue
    #[arg(value_parser = names::queue)]
    queue: QueueName,
    /// Only jobs in this state: running, queued, delayed, waiting (for other jobs), parked (until
    /// their tenant's turn), failed or ended
    #[arg(long = "in", value_name = "STATE")]
    place: Option<JobState>,
    /// Only jobs with this text in their data, id or tags
    #[arg(long)]
    text: Option<String>,
    /// Only jobs with this tag
    #[arg(long)]
    tag: Option<String>,
    /// Only jobs whose last failed attempt is in this group (see "keyrack jobs errors")
    #[arg(long, value_name = "GROUP")]
    error: Option<String>,
    /// List at most N jobs
    #[arg(long, value_name = "N", default_value_t = 50,
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
    /// Continue after an earlier list, with the cursor it printed
    #[arg(long, value_name = "CURSOR")]
    from: Option<ListCursor>,
}

/// Where a list goes on: a place, and a cursor in it.
#[derive(Debug, Clone, PartialEq)]
struct ListCursor {
    place: JobState,
    cursor: Option<String>,
}

impl FromStr for ListCursor {
    type Err = String;

    fn from_str(text: &str) -> Result<ListCursor, String> {
        let (place, cursor) = text.split_once('/').unwrap_or((text, ""));
        let cursor = Some(cursor.to_owned()).filter(|cursor| !cursor.is_empty());
        let place =
            place.parse().map_err(|_| "not a cursor printed by an earlier list".to_owned())?;
        Ok(ListCursor { place, cursor })
    }
}

impl std::fmt::Display for ListCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.place, self.cursor.as_deref().unwrap_or_default())
    }
}

/// The places of a whole queue, the liveliest first. The failed jobs are among those that have ended.
const EVERYWHERE: [JobState; 6] = [
    JobState::Running,
    JobState::Queued,
    JobState::Parked,
    JobState::Delayed,
    JobState::Waiting,
    JobState::Ended,
];

/// A page of a list, as JSON.
#[derive(Serialize)]
struct ListPage<'a> {
    jobs: &'a [Job],
    next: Option<String>,
}

/// Lists jobs.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let hive = open_queue(globals, &args.queue).await?;
    let (jobs, next) = args.jobs(&hive).await?;
    let next = next.map(|next| next.to_string());
    if globals.json {
        globals.print_json(&ListPage { jobs: &jobs, next })?;
        return Ok(Exit::Ok);
    }
    if jobs.is_empty() {
        globals.say("no matching jobs");
    } else {
        let mut out = globals.out();
        rows::table(&jobs, hive.now_ms(), false).print(&mut out)?;
        out.flush()?;
    }
    if let Some(next) = next {
        let listed = format::counted(jobs.len() as u64, "job");
        globals.say(format_args!("{listed}; for more, use a higher --limit or --from {next}"));
    }
    Ok(Exit::Ok)
}

impl Args {
    /// The jobs asked for, and where there are more.
    async fn jobs(&self, hive: &Hive) -> anyhow::Result<(Vec<Job>, Option<ListCursor>)> {
        let mut jobs = Vec::new();
        let limit = self.limit as usize;
        for place in self.places() {
            let (text, tag, error) = (self.text.clone(), self.tag.clone(), self.error.clone());
            let filter = Filter { place, text, tag, error };
            let from = self.from.as_ref().filter(|from| from.place == place);
            let mut cursor = from.and_then(|from| from.cursor.clone());
            loop {
                if jobs.len() >= limit {
                    let more = hive.list(&self.queue, &filter, cursor.as_deref(), 1).await?;
                    if !more.jobs.is_empty() || more.next.is_some() {
                        return Ok((jobs, Some(ListCursor { place, cursor })));
                    }
                    break;
                }
                let wanted = (limit - jobs.len()).min(PAGE_MAX);
                let page = hive.list(&self.queue, &filter, cursor.as_deref(), wanted).await?;
                jobs.extend(page.jobs);
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
        }
        Ok((jobs, None))
    }

    /// Where to look, in order.
    fn places(&self) -> Vec<JobState> {
        match (self.place, &self.from) {
            (Some(place), _) => vec![place],
            (None, None) => EVERYWHERE.to_vec(),
            (None, Some(from)) => {
                EVERYWHERE.into_iter().skip_while(|place| *place != from.place).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_cursor_reads_back() {
        for text in ["queued/", "running/1:2/3"] {
            assert_eq!(
                text.parse::<ListCursor>().map(|from| from.to_string()),
                Ok(text.to_owned())
            );
        }
        assert!("nowhere/1".parse::<ListCursor>().is_err());
    }

    #[test]
    fn every_place_is_listed_but_failed_twice() {
        let all: Vec<JobState> =
            JobState::ALL.into_iter().filter(|place| *place != JobState::Failed).collect();
        assert!(all.iter().all(|place| EVERYWHERE.contains(place)));
        assert_eq!(all.len(), EVERYWHERE.len());
    }
}
