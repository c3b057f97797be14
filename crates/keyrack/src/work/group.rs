//! Process groups: a command together with everything it has started.

use std::{
    collections::HashSet,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    process::{Child, Command},
    time::timeout,
};

/// All groups that are running.
#[derive(Debug, Clone, Default)]
pub(super) struct Groups(Arc<Mutex<HashSet<Pid>>>);

impl Groups {
    /// Starts a command as the leader of a group.
    pub(super) fn start(&self, mut command: Command) -> io::Result<(Child, Group)> {
        // Held while starting, so that whoever kills all groups gets this one too.
        let mut running = self.lock();
        let child = command.spawn()?;
        let id = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let id = id.ok_or_else(|| io::Error::other("the process has no id"))?;
        running.insert(id);
        Ok((child, Group { id, all: self.clone() }))
    }

    /// Kills every group; the program is about to end.
    pub(super) fn kill_all(&self) {
        for id in self.lock().iter() {
            signal(*id, Signal::KILL);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Pid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running command with everything it has started. Dropping it kills what is left.
#[derive(Debug)]
pub(super) struct Group {
    id: Pid,
    all: Groups,
}

impl Group {
    /// Tells all of it to stop, and kills what has not after a while. Returns how the command ended.
    pub(super) async fn stop(
        &self,
        child: &mut Child,
        grace: Duration,
    ) -> io::Result<std::process::ExitStatus> {
        signal(self.id, Signal::TERM);
        match timeout(grace, child.wait()).await {
            Ok(status) => status,
            Err(_) => {
                signal(self.id, Signal::KILL);
                child.wait().await
            }
        }
    }
}

impl Drop for Group {
    /// The leader may have ended long ago: its id stays taken as long as anybody is left in the group, and ids that are
    /// free are not given out again so soon that this could hit another.
    fn drop(&mut self) {
        self.all.lock().remove(&self.id);
        signal(self.id, Signal::KILL);
    }
}

/// A group that is gone needs no signal.
fn signal(group: Pid, signal: Signal) {
    let _ = kill_process_group(group, signal);
}
