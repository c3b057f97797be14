//! What stands in the keys of the Bee queue in place of names.

use keyrack_keys::declare::*;

parts! {
    /// Queues whose jobs may know each other: the unit that lives in one cluster slot.
    text Group;
    /// The name of a queue.
    text QueueName;
    // The words would make `bee:s:<parent>:children` look like another key.
    /// A job's id: a UUID, or any other unique text.
    text Jid except ["tags", "dependencies"];
    /// A worker: `HOSTNAME:PID:UNIQUE_HIVE_ID:QUEUE_NAME:UNIQUE_ID`, where Node workers leave out the last.
    colons WorkerId 4;
    /// A word by which jobs are found.
    text Tag;
    /// What two jobs have in common when one is a duplicate of the other.
    text JobHash;
    /// The host on which a job prefers to run.
    text Hostname;
    /// On whose behalf a job runs: the tenants of a queue take turns.
    text Tenant;
    /// A limit that jobs name: for what they share, such as the host that they call.
    text LimitName;
    /// The time of a rate limit, in milliseconds.
    number RateMs 1..=86_400_000;
}
