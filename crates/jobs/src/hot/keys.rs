//! Every key of the hot queue.

use keyrack_keys::declare::*;

parts! {
    /// A job of the hot queue whose end somebody waits for.
    text JobUid;
    /// A worker of the hot queue: any text that no other worker has, now or before.
    text WorkerId;
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

    /// Entries of `jobs:hot` that a worker took and cannot run: nobody taught it the name, or they are no jobs at all.
    ///
    /// Oldest first. Workers push on the right, and drop the oldest when there are more than 10,000.
    unknown() = "jobs:hot:unknown"
        => list(Text.means("the entry as it stood in `jobs:hot`")),
        shard = Shard::Word("jobs"),
        origin = Added,
        removed = "an operator moves entries back to `jobs:hot` once a worker knows them",
        example = "jobs:hot:unknown";

    /// What a worker in reliable mode is running, oldest first. Taking a job from `jobs:hot` puts it here in the same step.
    taken(worker: WorkerId) = "jobs:hot:taken:<worker>"
        => list(Text.means("the entry as it stood in `jobs:hot`")),
        shard = Shard::Front("jobs"),
        origin = Added,
        removed = "a job leaves when it has ended; those of a lost worker go back to the head of `jobs:hot`",
        example = "jobs:hot:taken:web-1.4711.c0ffee";

    /// Says that a worker in reliable mode lives. The worker renews it every five seconds.
    alive(worker: WorkerId) = "jobs:hot:alive:<worker>"
        => string(UnixSeconds.means("the last heartbeat")),
        shard = Shard::Front("jobs"),
        ttl = Ttl::Within(15),
        origin = Added,
        removed = "a worker that stops deletes it",
        example = "jobs:hot:alive:web-1.4711.c0ffee";

    /// The workers in reliable mode, dead ones included, so that what they left behind is found.
    workers() = "jobs:hot:workers"
        => sorted_set(Id(&WorkerId::KIND).means("a worker"), UnixSeconds.means("its last heartbeat")),
        shard = Shard::Word("jobs"),
        origin = Added,
        removed = "a worker leaves when it stops, or when it has been silent for an hour and holds no job",
        example = "jobs:hot:workers";

    /// Wakes a worker that waits for a job, because it is told to stop.
    wake(worker: WorkerId) = "jobs:hot:wake:<worker>"
        => list(Words(&["stop"]).means("what the worker is woken for")),
        shard = Shard::Front("jobs"),
        ttl = Ttl::Within(60),
        origin = Added,
        removed = "the worker pops it",
        example = "jobs:hot:wake:web-1.4711.c0ffee";
}
