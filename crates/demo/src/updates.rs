//! Updates: a team that deploys all day.

use std::{collections::HashMap, time::Duration};

use keyrack_store::Store;
use keyrack_updates::{UpdateLock, keys::Repo};

use crate::{
    agenda::{Agenda, Plan},
    error::Error,
    random::Random,
    scenario::TimedAction,
};

const REPOS: [&str; 3] = ["demo-backend", "demo-website", "demo-jobs"];
const HOSTS: [&str; 2] = ["demo-host-1", "demo-host-2"];

/// How long a host that wants to update waits for its turn; then it leaves that for the next time.
const PATIENCE: Duration = Duration::from_millis(500);

/// What is done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
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
    fn next(&mut self, random: &mut Random) -> TimedAction {
        loop {
            if self.agenda.next_at().is_some_and(|at| at < self.push_at)
                && let Some(timed) = self.agenda.take()
            {
                return timed;
            }
            let (repo, mut at) = (*random.pick(&REPOS), self.push_at);
            self.agenda.enter(at, Action::Announce(repo));
            for host in HOSTS {
                self.agenda.enter(at, Action::Begin { repo, host });
                at += Duration::from_millis(random.between(2_000, 5_000));
                self.agenda.enter(at, Action::End { repo });
            }
            // The next push comes when all hosts are done.
            self.push_at = at + Duration::from_millis(random.between(3_000, 20_000));
        }
    }
}

/// Where pushes are announced.
#[derive(Debug)]
pub(crate) struct Driver {
    updates: keyrack_updates::Updates,
    turns: HashMap<&'static str, UpdateLock>,
}

impl Driver {
    pub(crate) fn open(store: Store) -> Driver {
        Driver { updates: keyrack_updates::Updates::new(store), turns: HashMap::new() }
    }

    pub(crate) async fn perform(&mut self, action: Action) -> Result<(), Error> {
        match action {
            Action::Announce(repo) => {
                self.updates.announce(&Repo::new(repo)?).await?;
            }
            Action::Begin { repo, host } => {
                let name = Repo::new(repo)?;
                let turn = self.updates.turn(&name, host);
                if let Ok(turn) = tokio::time::timeout(PATIENCE, turn).await {
                    self.turns.insert(repo, turn?);
                }
            }
            Action::End { repo } => {
                if let Some(turn) = self.turns.remove(repo) {
                    turn.end().await?;
                }
            }
        }
        Ok(())
    }
}
