//! `keyrack top`: what happens in a store, in the terminal and as it happens.
//!
//! `snapshot` reads the store, `view` holds the sort order and the scroll position, `screen` draws.

mod runs;
mod screen;
mod snapshot;
mod view;

use std::{
    io::{self, IsTerminal as _},
    time::Duration,
};

use keyrack_format as format;
use ratatui::{
    DefaultTerminal,
    crossterm::event::{self, Event},
};
use tokio::{sync::mpsc, time::MissedTickBehavior};

use self::{
    snapshot::{Snapshot, SnapshotReader},
    view::{KeyAction, ScreenState},
};
use crate::{Exit, Failure, Globals, signals::Signals};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Refresh interval
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = format::duration::parse_positive)]
    every: Duration,
}

const AFTER_HELP: &str = "\
Keys: s sorts queues by the next column, arrows scroll, p or space freezes the screen, q quits.
IN and OUT count the jobs submitted and ended in the last minute.";

/// Draws until told to end.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        let failure = Failure::new(Exit::Usage, "\"keyrack top\" needs a terminal");
        return Err(failure
            .hint("\"keyrack jobs stats --json\" prints the numbers without one")
            .into());
    }
    let signals = Signals::listen(ratatui::restore)?;
    let store = globals.open_existing_store().await?;
    let mut reader = SnapshotReader::new(store);
    // The first look may fail; from then on the snapshot says what is wrong.
    let first = reader.read().await?;
    // Puts the terminal back in order before a panic is told.
    let mut terminal = ratatui::try_init()?;
    let ended = tokio::select! {
        ended = watch(&mut terminal, &mut reader, first, args.every) => ended,
        _ = signals.first() => Ok(()),
    };
    ratatui::restore();
    ended?;
    Ok(Exit::Ok)
}

async fn watch(
    terminal: &mut DefaultTerminal,
    reader: &mut SnapshotReader,
    mut snapshot: Snapshot,
    every: Duration,
) -> anyhow::Result<()> {
    let mut view = ScreenState::default();
    let mut events = events();
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        terminal.draw(|frame| screen::draw(frame, &snapshot, &mut view))?;
        tokio::select! {
            _ = ticks.tick() => {
                if !view.frozen {
                    match reader.read().await {
                        Ok(seen) => snapshot = seen,
                        Err(error) => snapshot.facts.store_error = Some(error.to_string()),
                    }
                }
            }
            event = events.recv() => match event {
                // The next snapshot fits the new size by itself.
                Some(event) => if view.take(&event) == KeyAction::Quit { return Ok(()) },
                None => return Ok(()),
            },
        }
    }
}

/// What is typed. Reading it blocks, so it has a thread of its own, which ends with the program.
fn events() -> mpsc::Receiver<Event> {
    let (tell, told) = mpsc::channel(16);
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if tell.blocking_send(event).is_err() {
                break;
            }
        }
    });
    told
}

#[cfg(test)]
mod tests;
