//! The embedded engine in `keyrack serve`; clients of the library and workers reach it over its RESP port.

use std::path::{Path, PathBuf};

use fastrand::Rng;
use keyrack_testkit::{Port, wait_until};

use super::{Servers, last, longest_file, wrong_store};
use crate::{deployment::Processes, fault::Fault, worker_faults};

/// How much still fits when the disk is nearly full.
const SPACE_BYTES: u64 = 20_000;

pub(crate) struct Embedded {
    data: PathBuf,
    resp: Port,
}

impl Servers for Embedded {
    async fn start(folder: &Path) -> Embedded {
        Embedded { data: folder.join("data"), resp: Port::lease() }
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.resp.number())
    }

    fn serve_arguments(&self) -> Vec<String> {
        let resp = format!("127.0.0.1:{}", self.resp.number());
        ["--data", &self.data.display().to_string(), "--resp", &resp].map(str::to_owned).into()
    }

    async fn inject(&mut self, fault: Fault, processes: &mut Processes, random: &mut Rng) {
        match fault {
            Fault::KillServer => {
                processes.serve.kill();
                last(random, 0..=2000).await;
                processes.serve.restart(None);
            }
            Fault::FillDisk => self.fill_disk(processes, random).await,
            Fault::KillWorker => worker_faults::kill(processes, random).await,
            Fault::StopWorker => worker_faults::stop(processes, random).await,
            _ => wrong_store(fault),
        }
    }
}

impl Embedded {
    /// The engine refuses writes until the log can grow again, and goes on by itself.
    async fn fill_disk(&self, processes: &Processes, random: &mut Rng) {
        let length = longest_file(&self.data.join("appendonlydir"));
        processes.serve.limit_files(Some(length + SPACE_BYTES));
        wait_until("the engine to refuse writes", || self.write().is_err());
        last(random, 500..=2000).await;
        processes.serve.limit_files(None);
        wait_until("the engine to take writes", || self.write().is_ok());
    }

    fn write(&self) -> redis::RedisResult<()> {
        let mut connection = redis::Client::open(self.url())?.get_connection()?;
        // Refused while the log cannot grow, and changes nothing otherwise.
        redis::cmd("DEL").arg("keyrack-campaign").exec(&mut connection)
    }
}
