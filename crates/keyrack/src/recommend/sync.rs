//! `keyrack recommend sync` and `rebuild`.

use std::{io::Write as _, ops::ControlFlow, time::Duration};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::tz::TimeZone;
use keyrack_http::human;
use keyrack_recommender::{Progress, Recommender, Settings, Synced};

use super::{Zone, source::Tables, zone};
use crate::{Exit, Globals, terminal};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The app's tables: sqlite:FILE, postgres://…, mysql://…, or a folder of CSV or NDJSON files
    #[arg(value_name = "FROM", env = "KEYRACK_RECOMMEND_FROM", hide_env_values = true)]
    from: String,
    /// What a table or column is called: post=posts, post.written_text=body
    #[arg(long, value_name = "OURS=THEIRS")]
    rename: Vec<String>,
    #[command(flatten)]
    zone: Zone,
    /// The zone of times that the tables give without one
    #[arg(long, value_name = "ZONE", default_value = "UTC", value_parser = zone)]
    database_zone: TimeZone,
    /// What posts say that only tell of a break; case and punctuation do not matter
    #[arg(long, value_name = "TEXT", default_value = "I have a break today")]
    break_text: String,
}

#[derive(Debug, clap::Args)]
pub(super) struct RebuildArgs {
    #[command(flatten)]
    sync: Args,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

const AFTER_HELP: &str = "\
The tables are challenge, groupchallengemembers, post, user_reaction_log and tracking. They are only
read. A load that is cut off is simply repeated. Run it once a night, shortly after midnight.

A password in FROM can be seen by other users of the machine; KEYRACK_RECOMMEND_FROM hides it.";

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
    let question = "forget what earlier loads have written, and load everything again?";
    if !args.yes && !terminal::agreed(question, "a rebuild")? {
        globals.say("nothing was changed");
        return Ok(Exit::Failed);
    }
    let bar = Bar::new(globals);
    let synced = service.rebuild(&mut tables, &mut |progress| bar.show(progress)).await;
    drop(bar);
    print(&synced?, globals)
}

async fn open(args: &Args, globals: &Globals) -> anyhow::Result<(Recommender, Tables)> {
    let settings = Settings {
        zone: args.zone.zone.clone(),
        database_zone: args.database_zone.clone(),
        break_text: args.break_text.clone(),
    };
    let tables = Tables::open(&args.from, &args.rename).await?;
    Ok((Recommender::new(globals.open_store().await?, settings), tables))
}

fn print(synced: &Synced, globals: &Globals) -> anyhow::Result<Exit> {
    if globals.json {
        globals.print_json(synced)?;
        return Ok(Exit::Ok);
    }
    let mut out = globals.out();
    let day = if synced.new_day { "a new day" } else { "the same day" };
    writeln!(out, "day {}, {day}", synced.day_index)?;
    writeln!(out, "{} going on", human::counted(synced.challenges, "challenge"))?;
    writeln!(out, "{} in, {} out", human::counted(synced.posts, "post"), synced.removed)?;
    writeln!(out, "{} to them", human::counted(synced.reactions, "reaction"))?;
    out.flush()?;
    if synced.skipped > 0 {
        globals.say(format_args!(
            "{} left out: no sense, or a challenge that is not there",
            human::counted(synced.skipped, "row")
        ));
    }
    Ok(Exit::Ok)
}

/// A line on stderr that tells how far the load is; nothing with `--quiet` or when stderr is no terminal.
struct Bar(ProgressBar);

const TEMPLATE: &str = "{spinner} {msg}, {human_pos} done, {elapsed}";
const TICK: Duration = Duration::from_millis(200);

impl Bar {
    fn new(globals: &Globals) -> Bar {
        let target =
            if globals.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(TICK);
        Bar(bar)
    }

    fn show(&self, progress: Progress) -> ControlFlow<()> {
        self.0.set_message(progress.step);
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
