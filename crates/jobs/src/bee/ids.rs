//! Ids of hives, workers and jobs, and which group of queues each belongs to.

use keyrack_keys::PartError;
use uuid::Uuid;

use super::keys::{Group, Jid, QueueName, WorkerId};

/// The group of queues whose name says nothing else.
const DEFAULT_GROUP: &str = "bee";

/// Stands between group and UUID in the id of a job outside the default group.
const GROUP_MARK: char = '~';

impl QueueName {
    /// The group: what stands before the first `/`, so that `mail/send` and `mail/bounce` belong together.
    ///
    /// Jobs of one group may depend on each other. On a cluster a group lies on one node; elsewhere groups change no key.
    pub fn group(&self) -> Group {
        group(self.as_str().split_once('/').map(|(group, _)| group))
    }
}

impl Jid {
    /// A new id for a job of this group.
    pub fn fresh(group: &Group) -> Jid {
        Jid::with_uuid(group, Uuid::now_v7())
    }

    /// The id that a name gives in a queue, the same every time: who submits twice under one name submits one job.
    pub fn derived(queue: &QueueName, name: &str) -> Jid {
        let mut text = sha1_smol::Sha1::new();
        // The length tells where the queue's name ends, so that no two pairs are one text.
        text.update(format!("{}:{queue}{name}", queue.as_str().len()).as_bytes());
        let bytes = text.digest().bytes();
        let bytes = *bytes.first_chunk().expect("a SHA-1 has 20 bytes");
        Jid::with_uuid(&queue.group(), uuid::Builder::from_sha1_bytes(bytes).into_uuid())
    }

    /// The id that this UUID gives in the group.
    pub(crate) fn with_uuid(group: &Group, uuid: Uuid) -> Jid {
        let text = match group.as_str() {
            DEFAULT_GROUP => uuid.to_string(),
            group => format!("{group}{GROUP_MARK}{uuid}"),
        };
        // A group is at most as long as a queue name, which leaves no room only at the very limit.
        Jid::new(text).unwrap_or_else(|_| Jid::new(uuid.to_string()).expect("a UUID is an id"))
    }

    /// The group that the id carries.
    pub fn group(&self) -> Group {
        group(self.as_str().rsplit_once(GROUP_MARK).map(|(group, _)| group))
    }

    /// Whether scripts find the job under this id: they put ids into keys as they are.
    pub(crate) fn is_plain(&self) -> bool {
        is_plain(self.as_str())
    }
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~/+=@,".contains(&byte))
}

impl Group {
    /// The group of queues whose name says nothing else.
    pub(crate) fn default_group() -> Group {
        group(None)
    }
}

/// A name that could not stand in a job's id is no group.
fn group(name: Option<&str>) -> Group {
    name.filter(|name| is_plain(name))
        .and_then(|name| Group::new(name).ok())
        .unwrap_or_else(|| Group::new(DEFAULT_GROUP).expect("a good group"))
}

/// A new hive id: `HOSTNAME:PID:UNIQUE_HIVE_ID`.
pub(crate) fn hive_id() -> String {
    format!("{}:{}:{}", hostname(), std::process::id(), unique())
}

/// A new worker id: the hive's, the queue's name, and one more to tell workers of one queue apart.
pub(crate) fn worker_id(hive: &str, queue: &QueueName) -> Result<WorkerId, PartError> {
    // A worker id is fields between colons, so the queue must not bring more of them, nor be too long for all to fit.
    let name: String =
        queue.as_str().chars().map(|c| if c == ':' { '_' } else { c }).take(64).collect();
    WorkerId::new(format!("{hive}:{name}:{}", unique()))
}

/// 64 random bits. Short on purpose: a hive's id stands in every entry of every job's history.
fn unique() -> String {
    format!("{:016x}", Uuid::new_v4().as_u64_pair().1)
}

/// This machine's name, as far as it can stand in an id.
pub fn hostname() -> String {
    let name = gethostname::gethostname().to_string_lossy().into_owned();
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' })
        .take(64)
        .collect();
    if plain.is_empty() { "localhost".into() } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_carry_the_group_of_their_queue() {
        for (queue, group) in
            [("emails", "bee"), ("mail/send", "mail"), ("/odd", "bee"), ("a/b/c", "a")]
        {
            let queue = QueueName::new(queue).expect("a queue");
            assert_eq!(queue.group().as_str(), group);
            let jid = Jid::fresh(&queue.group());
            assert_eq!(jid.group(), queue.group());
            assert!(jid.is_plain(), "{jid}");
        }
    }

    #[test]
    fn the_ids_of_the_default_group_are_plain_uuids() {
        let jid = Jid::fresh(&QueueName::new("emails").expect("a queue").group());
        assert!(Uuid::parse_str(jid.as_str()).is_ok(), "{jid}");
    }

    #[test]
    fn a_name_gives_one_id_in_each_queue() {
        let id = |queue: &str, name| {
            Jid::derived(&QueueName::new(queue).expect("a queue"), name).to_string()
        };
        assert_eq!(id("emails", "order 7"), id("emails", "order 7"));
        let ids = [
            id("emails", "order 7"),
            id("emails", "order 8"),
            id("email", "sorder 7"),
            id("mail/send", "order 7"),
            id("mail/bounce", "order 7"),
        ];
        let different: std::collections::HashSet<_> = ids.iter().collect();
        assert_eq!(different.len(), ids.len(), "{ids:?}");
        assert!(ids[3].starts_with("mail~"), "{ids:?}");
    }

    #[test]
    fn a_worker_has_an_id_whatever_its_queue_is_called() {
        for queue in ["emails", "a:b", &"x".repeat(256), "grüße an alle"] {
            let queue = QueueName::new(queue).expect("a queue");
            let worker = worker_id(&hive_id(), &queue).expect("a worker id");
            assert_eq!(worker.as_str().split(':').count(), 5, "{worker}");
        }
    }
}
