//! A master, a replica and three sentinels. A write is acknowledged when the replica has it.

use std::path::Path;

use fastrand::Rng;
use keyrack_testkit::{Sentinel, wait_until};
use rustix::process::{Pid, Signal, kill_process};

use super::{Servers, last, wrong_store};
use crate::{deployment::Processes, fault::Fault, worker_faults};

pub(crate) struct SentinelGroup {
    group: Sentinel,
}

impl Servers for SentinelGroup {
    const REPLICAS_ACKNOWLEDGE: u32 = 1;

    async fn start(_folder: &Path) -> SentinelGroup {
        SentinelGroup { group: Sentinel::start() }
    }

    fn url(&self) -> String {
        self.group.url()
    }

    async fn inject(&mut self, fault: Fault, processes: &mut Processes, random: &mut Rng) {
        match fault {
            Fault::PlannedFailover => {
                self.group.fail_over();
            }
            Fault::KillMaster => {
                self.group.kill_master();
                last(random, 0..=2000).await;
                self.group.other_mut().restart();
            }
            Fault::StopMaster => self.stop_master(random).await,
            Fault::KillWorker => worker_faults::kill(processes, random).await,
            _ => wrong_store(fault),
        }
        self.group.wait_until_watched();
    }
}

impl SentinelGroup {
    /// The old master wakes up and takes itself for the master until a sentinel tells it otherwise.
    async fn stop_master(&self, random: &mut Rng) {
        let (master, address) = (self.group.master().process_id(), self.group.master_addr());
        signal(master, Signal::STOP);
        wait_until("the replica to take over", || self.group.master_addr() != address);
        last(random, 0..=2000).await;
        signal(master, Signal::CONT);
    }
}

fn signal(process: u32, signal: Signal) {
    let process = Pid::from_raw(process as i32).expect("a process has an id");
    kill_process(process, signal).expect("a process of our own can be signalled");
}
