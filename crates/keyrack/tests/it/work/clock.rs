//! Workers on machines whose clock is set while they run.

use std::{
    fs,
    time::{Duration, Instant},
};

use keyrack_testkit::wait_until;

use crate::world::World;

/// Long enough for the other worker to sweep the queue twice.
const DELAY: Duration = Duration::from_secs(5);

#[test]
fn a_worker_whose_clock_is_set_takes_no_running_job_and_starts_none_early() {
    for step in ["+60s", "+300s", "+1h"] {
        let world = World::new();
        fs::write(world.path("time"), "+0\n").expect("written");
        let jid = world.submit("1");
        let healthy = "echo ran >> runs; until [ -e go ]; do sleep 0.02; done; echo 1";
        let _healthy = world.work("", healthy);
        world.written("runs");
        let other = world.work_in_other_time("echo ran >> others; echo 2");
        wait_until("the other worker to be up", || other.words().contains("working on"));

        fs::write(world.path("time"), format!("{step}\n")).expect("written");
        let delayed = world.submit(&format!("2 --delay {}s", DELAY.as_secs()));
        let submitted = Instant::now();
        wait_until("the delayed job to run", || world.status(&delayed) == "completed");
        let ran_after = submitted.elapsed();
        assert!(ran_after > DELAY - Duration::from_millis(500), "after {ran_after:?} at {step}");

        fs::write(world.path("time"), "+0\n").expect("written");
        fs::write(world.path("go"), "").expect("written");
        wait_until("the first job to end", || world.status(&jid) == "completed");
        assert_eq!(world.written("runs"), "ran\n", "it ran once, on its own worker, at {step}");
        assert_eq!(world.written("others"), "ran\n", "the other one ran the delayed job only");
        assert_eq!(world.job(&jid)["result"], 1);
    }
}
