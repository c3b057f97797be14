//! Clocks that are set while a process runs, by libfaketime. The monotonic clock goes on as it should, as on a real machine.

use std::{fs, path::Path, time::Duration};

use fastrand::Rng;

use crate::deployment::Processes;

const STEPS: [&str; 6] = ["+60s", "+300s", "+1h", "-60s", "-300s", "-1h"];
const NO_STEP: &str = "+0";
/// Long enough for a process to look for jobs of others, which workers do every 3 s.
const BETWEEN_STEPS: Duration = Duration::from_secs(4);

/// One more worker, whose clock is set forward and back.
pub(crate) async fn of_worker(processes: &mut Processes, random: &mut Rng) {
    let file = processes.folder().join("time");
    set(&file, NO_STEP);
    let mut worker = processes.start_worker(Some(&file));
    step(&file, random).await;
    worker.terminate();
}

/// `keyrack serve` on a machine whose clock is set forward and back.
pub(crate) async fn of_serve(processes: &mut Processes, random: &mut Rng) {
    let file = processes.folder().join("time");
    set(&file, NO_STEP);
    processes.serve.restart_in_good_order(Some(&file));
    step(&file, random).await;
    processes.serve.restart_in_good_order(None);
}

async fn step(file: &Path, random: &mut Rng) {
    let mut steps = STEPS;
    random.shuffle(&mut steps);
    for step in steps.into_iter().take(2).chain([NO_STEP]) {
        set(file, step);
        tokio::time::sleep(BETWEEN_STEPS).await;
    }
}

/// In one step, as the process may read the file at any time.
fn set(file: &Path, step: &str) {
    let draft = file.with_extension("draft");
    fs::write(&draft, format!("{step}\n")).expect("the time can be written");
    fs::rename(&draft, file).expect("the time can be set");
}
