//! Updates: a team that deploys all day.

use std::{collections::HashMap, time::Duration};

use keyrack_store::Store;
use keyrack_updates::{Turn, keys::Repo};

use crate::{
    agenda::{Agenda, Plan},
    company::Timed,
    dice::Dice,
    error::Error,
};

const REPOS: [&str; 3] = ["demo-backend", "demo-website", "demo-jobs"];
const HOSTS: [&str; 2] = ["demo-host-1", "demo-host-2"];

/// How long a host that wants to update waits for its turn; then it leaves that for the next time.
const PATIENCE: Duration = Duration::from_millis(500);

/// What is done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Deed {
    /// Somebody has pushed.
    Announce(&'static str),
    /// A host begins to update itself.
    Begin { repo: &'static str, host: &'static str },
    /// It runs again.
    End { repo: &'static str },
}

/// The plan.
#[derive(Debug, Default)]
pub(crate) struct Updates {
    agenda: Agenda,
    push_at: Duration,
}

impl Plan for Updates {
    fn next(&mut self, dice: &mut Dice) -> Timed {
        loop {
            if self.agenda.next_at().is_some_and(|at| at < self.push_at)
                && let Some(timed) = self.agenda.take()
            {
                return timed;
            }
            let (repo, mut at) = (*dice.pick(&REPOS), self.push_at);
            self.agenda.enter(at, Deed::Announce(repo));
            for host in HOSTS {
                self.agenda.enter(at, Deed::Begin { repo, host });
                at += Duration::from_millis(dice.between(2_000, 5_000));
                self.agenda.enter(at, Deed::End { repo });
            }
            // The next push comes when all hosts are done.
            self.push_at = at + Duration::from_millis(dice.between(3_000, 20_000));
        }
    }
}

/// Where pushes are announced.
#[derive(Debug)]
pub(crate) struct Desk {
    updates: keyrack_updates::Updates,
    turns: HashMap<&'static str, Turn>,
}

impl Desk {
    pub(crate) fn open(store: Store) -> Desk {
        Desk { updates: keyrack_updates::Updates::new(store), turns: HashMap::new() }
    }

    pub(crate) async fn perform(&mut self, deed: Deed) -> Result<(), Error> {
        match deed {
            Deed::Announce(repo) => {
                self.updates.announce(&Repo::new(repo)?).await?;
            }
            Deed::Begin { repo, host } => {
                let name = Repo::new(repo)?;
                let turn = self.updates.turn(&name, host);
                if let Ok(turn) = tokio::time::timeout(PATIENCE, turn).await {
                    self.turns.insert(repo, turn?);
                }
            }
            Deed::End { repo } => {
                if let Some(turn) = self.turns.remove(repo) {
                    turn.end().await?;
                }
            }
        }
        Ok(())
    }
}
