//! Files: uploads that are saved in time, uploads that are not, and pictures that somebody wants to be gone.

use std::{collections::VecDeque, time::Duration};

use keyrack_files::File;
use keyrack_store::Store;

use crate::{agenda::Plan, error::Error, random::Random, scenario::TimedAction};

const PICTURES: &str = "demo-pictures";
const INVOICES: &str = "demo-invoices";

/// An upload may take so long before it counts as given up.
const PATIENCE: Duration = Duration::from_secs(600);
/// How many files wait at most: nobody sweeps here.
const WAITING_MAX: usize = 60;
/// How many wait when the demo starts.
const WAITING_FIRST: u64 = 25;

/// What is done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// An upload begins, or a deletion is asked for.
    Enter(DemoFile),
    /// It is on record now, or somebody thought better of it.
    Keep(DemoFile),
}

/// A file, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DemoFile {
    number: u64,
    /// Whether somebody wants it to be gone.
    unwanted: bool,
}

impl DemoFile {
    fn file(self) -> File {
        let DemoFile { number, unwanted } = self;
        if unwanted {
            let picture = File::new(PICTURES, format!("avatars/{number}.png"));
            return picture.expected().hint("the account was closed");
        }
        File::new(INVOICES, format!("2026/{number}.pdf")).hint("invoice upload")
    }
}

/// The plan.
#[derive(Debug, Default)]
pub(crate) struct Files {
    at: Duration,
    numbers: u64,
    waiting: VecDeque<DemoFile>,
}

impl Plan for Files {
    fn next(&mut self, random: &mut Random) -> TimedAction {
        self.at += Duration::from_millis(random.between(500, 2_500));
        let leaves = self.waiting.len() >= WAITING_MAX || random.percent(45);
        let action = match self.waiting.front().copied().filter(|_| leaves) {
            Some(paper) => {
                self.waiting.pop_front();
                Action::Keep(paper)
            }
            None => {
                self.numbers += 1;
                let paper = DemoFile { number: self.numbers, unwanted: random.percent(30) };
                self.waiting.push_back(paper);
                Action::Enter(paper)
            }
        };
        TimedAction { at: self.at, action: action.into() }
    }
}

/// Where files wait.
#[derive(Debug, Clone)]
pub(crate) struct Driver {
    files: keyrack_files::Files,
}

impl Driver {
    pub(crate) fn open(store: Store) -> Driver {
        Driver { files: keyrack_files::Files::new(store) }
    }

    pub(crate) async fn begin(&self, random: &mut Random) -> Result<(), Error> {
        for number in 0..WAITING_FIRST {
            let paper = DemoFile { number: number + 1_000_000, unwanted: random.percent(30) };
            let due = PATIENCE.mul_f64(random.below(100) as f64 / 100.0);
            self.files.enter(&paper.file(), due).await?;
        }
        Ok(())
    }

    pub(crate) async fn perform(&self, action: Action) -> Result<(), Error> {
        match action {
            Action::Enter(paper) if paper.unwanted => {
                self.files.enter(&paper.file(), Duration::ZERO).await?;
            }
            Action::Enter(paper) => self.files.enter(&paper.file(), PATIENCE).await?,
            Action::Keep(paper) => {
                // Somebody else's sweep may have been faster.
                self.files.keep(paper.file().member().as_bytes()).await?;
            }
        }
        Ok(())
    }
}
