//! `keyrack recommend sync` and `rebuild`.

use std::{io::Write as _, ops::ControlFlow, path::PathBuf, time::Duration};

use anyhow::Context as _;
use indicatif::ProgressBar;
use jiff::tz::TimeZone;
use keyrack_format as format;
use keyrack_recommender::{Names, Progress, Recommender, Synced};

use super::{Zone, settings, source::SourceTables};
use crate::{Exit, Failure, Globals, input, settings::RECOMMEND_FROM, terminal};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The app's tables: sqlite:FILE, postgres://…, mysql://…, or a folder of CSV or NDJSON files
    /// [default: the setting "recommend-from"]
    #[arg(value_name = "FROM")]
    from: Option<String>,
    /// Name of a table or column in the app: post=posts, post.written_text=body
    /// [default: the setting "recommend-rename"]
    #[arg(long, value_name = "OURS=THEIRS", conflicts_with = "map")]
    rename: Vec<String>,
    /// File that says which tables of the app have items, groups and feedback
    /// [default: the setting "recommend-map"]
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
    #[command(flatten)]
    zone: Zone,
    /// Time zone of timestamps without one [default: the setting "recommend-database-zone"]
    #[arg(long, value_name = "ZONE", value_parser = settings::zone)]
    database_zone: Option<TimeZone>,
    /// Text of posts that only announce a break; they are not recommended. Case and punctuation are
    /// ignored [default: the setting "recommend-break-text"]
    #[arg(long, value_name = "TEXT")]
    break_text: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct RebuildArgs {
    #[command(flatten)]
    sync: Args,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

const AFTER_HELP: &str = "\
Reads the tables challenge, groupchallengemembers, post, user_reaction_log and tracking, and writes
nothing to them. An interrupted load can be repeated. Run it every night shortly after midnight.

Other users of the machine can see a password in FROM; use KEYRACK_RECOMMEND_FROM or
\"recommend-from\" in keyrack.toml instead.";

/// Loads what is new.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let (service, mut tables) = open(args, globals).await?;
    let bar = Bar::new(globals);
    let synced = service.sync(&mut tables, &mut |progress| bar.show(progress)).await;
    drop(bar);
    print(&synced?, globals)
}

/// Loads everything anew.
pub(super) async fn rebuild(args: &RebuildArgs, globals: &Globals) -> anyhow::Result<Exit> {
    let (service, mut tables) = open(&args.sync, globals).await?;
    let question = "delete what earlier loads wrote, and load everything again?";
    if !args.yes && !terminal::confirmed(question, "a rebuild")? {
        globals.say("nothing was changed");
        return Ok(Exit::Failed);
    }
    let bar = Bar::new(globals);
    let synced = service.rebuild(&mut tables, &mut |progress| bar.show(progress)).await;
    drop(bar);
    print(&synced?, globals)
}

async fn open(args: &Args, globals: &Globals) -> anyhow::Result<(Recommender, SourceTables)> {
    let mut goes = args.zone.settings(globals)?;
    if let Some(zone) = &args.database_zone {
        goes.database_zone = zone.clone();
    }
    if let Some(text) = &args.break_text {
        goes.break_text = text.clone();
    }
    let mapping = match &args.map {
        Some(path) => Some(settings::read_map(path)?),
        None if args.rename.is_empty() => settings::map(&globals.settings)?,
        None => None,
    };
    let names = match (&mapping, &args.rename[..]) {
        (Some(mapping), _) => mapping.names()?,
        (None, []) => settings::names(&globals.settings)?,
        (None, lines) => Names::parse(lines)?,
    };
    let set = globals.settings.get(&RECOMMEND_FROM).value.as_deref();
    let from = args.from.as_deref().or(set).ok_or_else(|| {
        let hint = format!("give FROM, or set {}", RECOMMEND_FROM.ways());
        Failure::new(Exit::Usage, "FROM is missing: where the app's tables are").hint(hint)
    })?;
    let tables =
        SourceTables::open(from, names).await.context("could not open the app's tables")?;
    let service = Recommender::new(globals.open_store().await?, goes);
    if let Some(mapping) = mapping {
        service.apply(&mapping).await?;
    }
    Ok((service, tables))
}

fn print(synced: &Synced, globals: &Globals) -> anyhow::Result<Exit> {
    if globals.json {
        globals.print_json(synced)?;
        return Ok(Exit::Ok);
    }
    let mut out = globals.out();
    let day = if synced.new_day { "a new day" } else { "the same day" };
    writeln!(out, "day {}, {day}", synced.day_index)?;
    writeln!(out, "{} going on", format::counted(synced.challenges, "challenge"))?;
    writeln!(out, "{} in, {} out", format::counted(synced.posts, "post"), synced.removed)?;
    writeln!(out, "{} to them", format::counted(synced.reactions, "reaction"))?;
    out.flush()?;
    if synced.skipped > 0 {
        globals.say(format_args!(
            "{} skipped: invalid, or of an unknown challenge",
            format::counted(synced.skipped, "row")
        ));
    }
    Ok(Exit::Ok)
}

/// A bar on stderr that tells how far the load is; nothing with `--quiet` or when stderr is no terminal.
struct Bar(ProgressBar);

/// While it is not known how much there is to do, and when it is.
const COUNTING: &str = "{spinner} {msg}, {human_pos} done, {elapsed}";
const MEASURED: &str = "{msg:10} {wide_bar} {human_pos} of {human_len}, {eta} left";
const TICK: Duration = Duration::from_millis(200);

impl Bar {
    fn new(globals: &Globals) -> Bar {
        let bar = input::bar(globals, None);
        input::set_style(&bar, COUNTING);
        bar.enable_steady_tick(TICK);
        Bar(bar)
    }

    fn show(&self, progress: Progress) -> ControlFlow<()> {
        if self.0.message() != progress.step {
            // Each step begins anew.
            self.0.set_message(progress.step);
            self.0.set_position(0);
            self.0.reset_eta();
            self.0.unset_length();
            input::set_style(&self.0, COUNTING);
        }
        if let Some(of) = progress.of {
            if self.0.length().is_none() {
                input::set_style(&self.0, MEASURED);
            }
            self.0.set_length(of);
        }
        if progress.rows > 0 {
            self.0.set_position(progress.rows);
        }
        ControlFlow::Continue(())
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
