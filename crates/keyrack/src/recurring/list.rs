//! `keyrack recurring list`.

use std::io::Write as _;

use jiff::Timestamp;
use keyrack_format as format;
use keyrack_jobs::recurring::{ListState, Listed, Listing, Members, Target};
use serde::Serialize;

use super::open;
use crate::{
    Exit, Globals,
    table::{Cell, Table},
    terminal::Color,
};

/// Lists the recurring jobs.
pub(super) async fn run(globals: &Globals) -> anyhow::Result<Exit> {
    let recurring = open(globals).await?;
    let listing = recurring.list().await?;
    if globals.json {
        globals.print_json(&as_json(&listing))?;
        return Ok(Exit::Ok);
    }
    if listing.jobs.is_empty() {
        globals.say("no recurring jobs; [[recurring]] in keyrack.toml defines them, see \"keyrack recurring -h\"");
        return Ok(Exit::Ok);
    }
    let mut out = globals.out();
    table(&listing).print(&mut out)?;
    out.flush()?;
    match listing.state {
        ListState::InForce => {}
        ListState::NoList => globals.say("these jobs are not scheduled yet; start \"keyrack serve\" with this file"),
        ListState::OtherList(_) => globals.say(
            "another list of recurring jobs runs in this store; \"keyrack serve\" with this file replaces it",
        ),
    }
    Ok(Exit::Ok)
}

fn table(listing: &Listing) -> Table {
    let mut table = Table::new(&["NAME", "NEXT RUN", "TO", "WHEN"]);
    for job in &listing.jobs {
        let next = match job.next_run.map(unix_ms) {
            _ if job.paused => Cell::painted("paused", Some(Color::Yellow)),
            Some(at) => format::local_s(at).into(),
            None => "never".into(),
        };
        let to = match job.definition.target() {
            Target::Hot => "jobs:hot".to_owned(),
            Target::Bee(queue) => queue.to_string(),
        };
        let schedule = job.definition.schedule().to_string();
        table.row(vec![job.definition.name().into(), next, to.into(), schedule.into()]);
    }
    table
}

fn unix_ms(at: Timestamp) -> u64 {
    u64::try_from(at.as_millisecond()).unwrap_or(0)
}

/// The list as JSON.
#[derive(Serialize)]
struct ListJson<'a> {
    /// Whether this list is the one that runs.
    in_force: bool,
    jobs: Vec<JobJson<'a>>,
}

/// A job of the list as JSON.
#[derive(Serialize)]
struct JobJson<'a> {
    name: &'a str,
    kwargs: &'a Members,
    schedule: String,
    /// The Bee queue; none for the hot queue.
    queue: Option<&'a str>,
    catch_up: u32,
    digest: &'a str,
    /// In unix milliseconds.
    next_run: Option<u64>,
    paused: bool,
}

fn as_json(listing: &Listing) -> ListJson<'_> {
    ListJson {
        in_force: listing.state == ListState::InForce,
        jobs: listing.jobs.iter().map(job_as_json).collect(),
    }
}

fn job_as_json(job: &Listed) -> JobJson<'_> {
    JobJson {
        name: job.definition.name(),
        kwargs: job.definition.kwargs(),
        schedule: job.definition.schedule().to_string(),
        queue: match job.definition.target() {
            Target::Hot => None,
            Target::Bee(queue) => Some(queue.as_str()),
        },
        catch_up: job.definition.catch_up(),
        digest: &job.digest,
        next_run: job.next_run.map(unix_ms),
        paused: job.paused,
    }
}
