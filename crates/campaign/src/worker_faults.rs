//! Workers that are killed or stopped.

use std::time::Duration;

use fastrand::Rng;

use crate::deployment::Processes;

/// Longer than a silent worker keeps its jobs, which is 15 s at most.
const STOPPED: Duration = Duration::from_secs(16);

/// Kills one or two workers; new ones take their places.
pub(crate) async fn kill(processes: &mut Processes, random: &mut Rng) {
    for _ in 0..random.u8(1..=2) {
        let n = random.usize(..processes.workers.len());
        processes.workers[n].kill();
        tokio::time::sleep(Duration::from_millis(random.u64(0..1000))).await;
        processes.workers[n] = processes.start_worker(None);
    }
}

/// Stops a worker for so long that others take its jobs, and lets it go on.
pub(crate) async fn stop(processes: &mut Processes, random: &mut Rng) {
    let n = random.usize(..processes.workers.len());
    processes.workers[n].pause();
    tokio::time::sleep(STOPPED).await;
    processes.workers[n].resume();
}
