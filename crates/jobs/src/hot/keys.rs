//! Every key of the hot queue.

use keyrack_keys::declare::*;

parts! {
    /// A job of the hot queue whose end somebody waits for.
    text JobUid;
}

const JOB: json::Schema = json::Object(&[
    ("name", json::String),
    ("kwargs", json::Map(&json::Any)),
    ("queued_at", json::Number),
]);

keys! {
    owner = "jobs.hot", origin = Document(&["000", "001"]);

    /// Short jobs, oldest first. Producers push on the right; a worker pops on the left and runs the job at most once.
    hot() = "jobs:hot"
        => list(Json(&JOB).means("what to run, its arguments, and since when it waits in unix seconds")),
        shard = Shard::Word("jobs"),
        removed = "a worker pops it before running it",
        example = "jobs:hot";

    /// The outcome of one job, if that kind of job reports one: at most one message.
    ///
    /// Whoever waits subscribes before the job is queued.
    job_events(job_uid: JobUid) = "ps:job:<job_uid>"
        => channel(Json(&json::Any).means("the job's own kind of result")),
        shard = Shard::Part("job_uid"),
        example = "ps:job:ep_j_7Jw0aYl3";
}
