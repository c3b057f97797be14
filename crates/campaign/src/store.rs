//! The servers of each store, and what is done to them.

mod cluster;
mod embedded;
mod sentinel;
mod standalone;

use std::{path::Path, time::Duration};

use anyhow::{Context as _, Result};
use fastrand::Rng;
use keyrack_jobs::bee::{Hive, keys::QueueName};
use keyrack_store::{Options, ReplicasAcknowledge, Store};

pub(crate) use self::{
    cluster::Cluster, embedded::Embedded, sentinel::SentinelGroup, standalone::Standalone,
};
use crate::{deployment::Processes, fault::Fault};

/// How long replicas are waited for where they have to acknowledge.
const REPLICAS_WITHIN: Duration = Duration::from_millis(100);

/// The servers of one store. Dropping them ends them.
pub(crate) trait Servers: Sized {
    /// How many replicas have to have a write before it is acknowledged.
    const REPLICAS_ACKNOWLEDGE: u32 = 0;

    /// Starts the servers; `folder` is for their files.
    async fn start(folder: &Path) -> Self;

    /// Where clients and workers find the store.
    fn url(&self) -> String;

    /// How `keyrack serve` is told of the store.
    fn serve_arguments(&self) -> Vec<String> {
        let mut arguments = vec!["--store".to_owned(), self.url()];
        if Self::REPLICAS_ACKNOWLEDGE > 0 {
            let replicas = Self::REPLICAS_ACKNOWLEDGE.to_string();
            arguments.extend(["--replicas-acknowledge".to_owned(), replicas]);
        }
        arguments
    }

    /// The queues that clients submit to.
    fn queues(&self) -> Vec<QueueName> {
        vec![queue("orders")]
    }

    /// Puts into the store what has to be there before the first fault.
    async fn prepare(&mut self, _hive: &Hive) {}

    /// Lets a fault happen, and makes it good again.
    async fn inject(&mut self, fault: Fault, processes: &mut Processes, random: &mut Rng);

    /// Looks for damage that clients have not met: what is lost, and what is out of reach.
    async fn inspect(&self, _hive: &Hive) -> Damage {
        Damage::default()
    }
}

/// What a fault has left behind, a line for each.
#[derive(Debug, Default)]
pub(crate) struct Damage {
    pub(crate) lost: Vec<String>,
    pub(crate) unreachable: Vec<String>,
}

/// Opens a store as the campaign's clients and workers do.
pub(crate) async fn open(url: &str, replicas_acknowledge: u32) -> Result<Store> {
    let wanted = ReplicasAcknowledge { replicas: replicas_acknowledge, within: REPLICAS_WITHIN };
    let replicas_acknowledge = (replicas_acknowledge > 0).then_some(wanted);
    let options = Options { replicas_acknowledge, ..Options::default() };
    let store = Store::open_with(url.parse()?, options).await;
    store.with_context(|| format!("could not open \"{url}\""))
}

fn queue(name: &str) -> QueueName {
    QueueName::new(name).expect("a good name")
}

/// Lets a fault last for a while.
async fn last(random: &mut Rng, ms: std::ops::RangeInclusive<u64>) {
    tokio::time::sleep(Duration::from_millis(random.u64(ms))).await;
}

/// The length of the longest file in a folder.
fn longest_file(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("could not list \"{}\": {error}", folder.display()));
    files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len())).max().unwrap_or(0)
}

#[track_caller]
fn wrong_store(fault: Fault) -> ! {
    panic!("this store has no fault \"{fault}\"")
}
