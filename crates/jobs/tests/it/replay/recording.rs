//! What was recorded; `tests/data/README.md` says how.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value as Json;

use super::keyspace::Keyspace;

/// One recorded run on a server that was empty before.
#[derive(Debug, Deserialize)]
pub(super) struct Scenario {
    pub(super) name: String,
    /// A bug of the original, kept as evidence and not to be repeated.
    #[serde(default)]
    pub(super) defect: bool,
    /// Why the order of messages means nothing, where it does not.
    pub(super) unordered: Option<String>,
    /// Job ids by label.
    pub(super) jids: BTreeMap<String, String>,
    pub(super) steps: Vec<Step>,
    pub(super) messages: Vec<Message>,
    pub(super) checkpoints: Vec<Checkpoint>,
}

/// What was done; `n` counts from 1.
#[derive(Debug, Deserialize)]
pub(super) struct Step {
    pub(super) n: usize,
    #[serde(flatten)]
    pub(super) what: What,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum What {
    Call(Call),
    /// A plain command of the client.
    Command {
        command: Vec<String>,
        reply: Option<Json>,
    },
    /// A value changed by hand, to save waiting.
    Edit {
        edit: Vec<String>,
    },
    /// What the original's caller got in the end.
    Outcome {
        #[serde(rename = "outcome", alias = "seen")]
        _of: String,
    },
    /// A hive was started, known under this label.
    Hive {
        hive: String,
        id: String,
    },
}

/// A call of one of the original's scripts.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Call {
    pub(super) call: String,
    pub(super) hive: String,
    pub(super) now: u64,
    pub(super) args: String,
    pub(super) reply: Option<Json>,
    pub(super) error: Option<String>,
}

/// A message on `bee:ch:*`, published by a step.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Message {
    pub(super) step: usize,
    pub(super) channel: String,
    pub(super) body: String,
}

/// Everything that was stored after a step.
#[derive(Debug, Deserialize)]
pub(super) struct Checkpoint {
    pub(super) name: String,
    pub(super) after_step: usize,
    pub(super) keys: Keyspace,
}

impl Scenario {
    /// All recorded scenarios, the defects among them.
    pub(super) fn all() -> Vec<Scenario> {
        const FILES: [&str; 14] = [
            include_str!("../../data/bee-arguments.json"),
            include_str!("../../data/bee-cancel.json"),
            include_str!("../../data/bee-children.json"),
            include_str!("../../data/bee-claim.json"),
            include_str!("../../data/bee-complete.json"),
            include_str!("../../data/bee-dependencies.json"),
            include_str!("../../data/bee-duplicates.json"),
            include_str!("../../data/bee-expiry.json"),
            include_str!("../../data/bee-failures.json"),
            include_str!("../../data/bee-hives.json"),
            include_str!("../../data/bee-locks.json"),
            include_str!("../../data/bee-reads.json"),
            include_str!("../../data/bee-submit.json"),
            include_str!("../../data/bee-tags.json"),
        ];
        let read = |text| serde_json::from_str::<Vec<Scenario>>(text).expect("a good recording");
        FILES.into_iter().flat_map(read).collect()
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.steps.iter().filter_map(|step| match &step.what {
            What::Call(call) => Some(call),
            _ => None,
        })
    }

    /// Jobs and hives: their ids and what people call them.
    pub(super) fn labels(&self) -> Vec<(&str, &str)> {
        let jobs = self.jids.iter().map(|(label, jid)| (jid.as_str(), label.as_str()));
        let hives = self.steps.iter().filter_map(|step| match &step.what {
            What::Hive { hive, id } => Some((id.as_str(), hive.as_str())),
            _ => None,
        });
        jobs.chain(hives).collect()
    }

    /// When the first call was made, in unix milliseconds.
    pub(super) fn begins_at(&self) -> u64 {
        self.calls().next().map_or(1_794_714_588_000, |call| call.now)
    }

    /// How soon a key may be gone, in milliseconds.
    pub(super) fn shortest_ttl_ms(&self) -> Option<u64> {
        let entries = self.checkpoints.iter().flat_map(|checkpoint| checkpoint.keys.values());
        entries.filter_map(|entry| entry.ttl_ms).min()
    }
}

impl Call {
    /// The arguments as JSON; nothing where Node sent what is none.
    pub(super) fn args(&self) -> Json {
        serde_json::from_str(&self.args).unwrap_or_default()
    }
}
