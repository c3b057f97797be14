//! A Redis cluster of three under measurement.

use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};

use super::server::{Role, Server};

const MASTERS: u16 = 3;
const SLOTS: u16 = 16_384;
const SETTLE_POLLS: u32 = 3_000;
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Three masters that share the slots evenly; they run on one core, like a server that is measured alone.
pub(super) struct Cluster {
    nodes: Vec<Server>,
}

impl Cluster {
    /// Starts it and waits until all nodes serve.
    pub(super) fn start() -> Result<Self> {
        let node = |_| Server::redis_as(Role::Server, &["--cluster-enabled", "yes"]);
        let cluster = Self { nodes: (0..MASTERS).map(node).collect::<Result<_>>()? };
        for (i, node) in (0..MASTERS).zip(&cluster.nodes) {
            node.ask(&["CLUSTER", "SET-CONFIG-EPOCH", &(i + 1).to_string()])?;
            let (first, last) = (first_slot(i).to_string(), (first_slot(i + 1) - 1).to_string());
            node.ask(&["CLUSTER", "ADDSLOTSRANGE", &first, &last])?;
            let first_port = cluster.nodes[0].port().to_string();
            node.ask(&["CLUSTER", "MEET", "127.0.0.1", &first_port])?;
        }
        for _ in 0..SETTLE_POLLS {
            let mut infos = cluster.nodes.iter().map(|node| node.ask(&["CLUSTER", "INFO"]));
            if infos.try_fold(true, |all, info| {
                info.map(|info| {
                    all && info.contains("cluster_state:ok") && info.contains(&knows_all())
                })
            })? {
                return Ok(cluster);
            }
            thread::sleep(POLL_INTERVAL);
        }
        bail!("the nodes of the cluster do not find each other")
    }

    /// The masters, each with its share of the keys.
    pub(super) fn nodes(&self) -> &[Server] {
        &self.nodes
    }

    /// Where keyrack finds it.
    pub(super) fn url(&self) -> String {
        let addresses: Vec<String> =
            self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
        format!("redis+cluster://{}", addresses.join(","))
    }

    /// The index of the node that has a key.
    pub(super) fn owner(key: &str) -> usize {
        let slot = slot(key);
        (0..MASTERS).rev().find(|i| first_slot(*i) <= slot).map_or(0, usize::from)
    }
}

fn knows_all() -> String {
    format!("cluster_known_nodes:{MASTERS}")
}

fn first_slot(node: u16) -> u16 {
    (u32::from(SLOTS) * u32::from(node) / u32::from(MASTERS)) as u16
}

/// The slot of a key: that of its hash tag, if it has one.
fn slot(key: &str) -> u16 {
    let tag = key.split_once('{').and_then(|(_, rest)| Some(rest.split_once('}')?.0));
    crc16(tag.filter(|tag| !tag.is_empty()).unwrap_or(key).as_bytes()) % SLOTS
}

/// CRC-16 with the polynomial 0x1021, which clusters go by.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_taken_by_the_node_that_is_its_owner() {
        let cluster = Cluster::start().unwrap();
        for key in ["a", "b", "c", "order:{7}", "{}x", "x{y", "{user}:{7}"] {
            let node = &cluster.nodes()[Cluster::owner(key)];
            assert_eq!(node.ask(&["CLUSTER", "KEYSLOT", key]).unwrap(), slot(key).to_string());
            assert_eq!(node.ask(&["SET", key, "1"]).unwrap(), "OK", "{key}");
        }
    }
}
