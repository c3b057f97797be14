//! `keyrack recurring list`.

use std::io::Write as _;

use jiff::Timestamp;
use keyrack_format as format;
use keyrack_jobs::recurring::{ListState, Listed, Listing, Members, Recurring, Target};
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
        globals.say("no recurring jobs; \"keyrack recurring create\" or [[recurring]] in keyrack.toml defines them, see \"keyrack recurring -h\"");
    } else {
        let mut out = globals.out();
        table(&listing).print(&mut out)?;
        out.flush()?;
    }
    for (name, error) in &listing.unreadable {
        globals.say(format_args!("\"{name}\" is not shown: {error}"));
    }
    tell_state(&recurring, &listing.state, globals);
    Ok(Exit::Ok)
}

/// Says whether the jobs of the file run.
fn tell_state(recurring: &Recurring, state: &ListState, globals: &Globals) {
    match (state, recurring.definitions().is_empty()) {
        (ListState::InForce, _) | (ListState::NoList, true) => {}
        (ListState::OtherList(_), true) => globals.say(
            "more recurring jobs run in this store, from the settings of a server; run this command in its folder to see them",
        ),
        (ListState::NoList, false) => globals.say(
            "the jobs of the settings are not scheduled yet; start \"keyrack serve\" with this file",
        ),
        (ListState::OtherList(_), false) => globals.say(
            "another list of recurring jobs runs in this store; \"keyrack serve\" with this file replaces it",
        ),
    }
}

fn table(listing: &Listing) -> Table {
    let mut table = Table::new(&["NAME", "NEXT RUN", "TO", "DEFINED IN", "WHEN"]);
    for job in &listing.jobs {
        let next = match job.next_run {
            _ if job.paused => Cell::painted("paused", Some(Color::Yellow)),
            Some(at) => local(at).into(),
            None => "never".into(),
        };
        let source = match job.version() {
            None => "settings".to_owned(),
            Some(version) => format!("store, version {version}"),
        };
        let (to, schedule) = (target(job.definition.target()), job.definition.schedule());
        let name = job.definition.name().into();
        table.row(vec![name, next, to.into(), source.into(), schedule.to_string().into()]);
    }
    table
}

/// A moment by the clock of this machine.
pub(super) fn local(at: Timestamp) -> String {
    format::local_s(unix_ms(at))
}

pub(super) fn target(target: &Target) -> String {
    match target {
        Target::Hot => "jobs:hot".to_owned(),
        Target::Bee(queue) => queue.to_string(),
    }
}

fn unix_ms(at: Timestamp) -> u64 {
    u64::try_from(at.as_millisecond()).unwrap_or(0)
}

/// The list as JSON.
#[derive(Serialize)]
struct ListJson<'a> {
    /// Whether the list of the settings is the one that runs.
    in_force: bool,
    jobs: Vec<JobJson<'a>>,
    /// Names of jobs in the store whose definitions cannot be read.
    unreadable: Vec<&'a str>,
}

/// A recurring job as JSON.
#[derive(Serialize)]
pub(super) struct JobJson<'a> {
    name: &'a str,
    /// `settings` or `store`.
    defined_in: &'static str,
    kwargs: &'a Members,
    schedule: String,
    /// The Bee queue; none for the hot queue.
    queue: Option<&'a str>,
    catch_up: u32,
    /// Of a job in the settings.
    digest: Option<&'a str>,
    /// Of a job in the store.
    version: Option<u64>,
    /// In unix milliseconds.
    next_run: Option<u64>,
    paused: bool,
}

fn as_json(listing: &Listing) -> ListJson<'_> {
    ListJson {
        in_force: listing.state == ListState::InForce,
        jobs: listing.jobs.iter().map(JobJson::of).collect(),
        unreadable: listing.unreadable.iter().map(|(name, _)| name.as_str()).collect(),
    }
}

impl JobJson<'_> {
    pub(super) fn of(job: &Listed) -> JobJson<'_> {
        JobJson {
            name: job.definition.name(),
            defined_in: if job.version().is_some() { "store" } else { "settings" },
            kwargs: job.definition.kwargs(),
            schedule: job.definition.schedule().to_string(),
            queue: match job.definition.target() {
                Target::Hot => None,
                Target::Bee(queue) => Some(queue.as_str()),
            },
            catch_up: job.definition.catch_up(),
            digest: job.digest(),
            version: job.version(),
            next_run: job.next_run.map(unix_ms),
            paused: job.paused,
        }
    }
}
