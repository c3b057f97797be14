//! Every key of the recurring jobs.
//!
//! The jobs themselves are defined in code; Redis knows them by a digest. On a cluster these keys share a slot with
//! the hot queue, so that taking a due job, queueing it and setting its next run is one step.

use keyrack_keys::declare::*;

/// The digest of a job's name, arguments and schedule.
const DIGEST: Encoding = Integer { min: 0, max: u64::MAX as i128 };

keys! {
    owner = "jobs.recurring", origin = Document(&["001"]), shard = Shard::Word("jobs");

    /// The recurring jobs and when each is due. Written at start-up and after each run.
    rjobs() = "rjobs"
        => sorted_set(DIGEST.means("the job's digest"), UnixSeconds.means("when it should run next")),
        removed = "start-up drops jobs that are no longer defined; a due job waits in `rjobs:purgatory` meanwhile",
        example = "rjobs";

    /// The digest of the whole job list; a scheduler with another list stops rather than mix schedules.
    ///
    /// It is a string: the key document says "hash" and means a digest. Written at start-up.
    digest() = "rjobs:hash"
        => string(DIGEST.means("the digest of all job digests in order")),
        removed = "replaced when the list changes",
        example = "rjobs:hash";

    /// The version of the list in force. A scheduler with an older list leaves it alone. Written with `rjobs:hash`.
    version() = "rjobs:version"
        => string(DIGEST.means("the version: for `keyrack serve`, when its settings file was last changed, in unix seconds")),
        origin = Added,
        removed = "replaced when the list changes",
        example = "rjobs:version";

    /// Jobs taken out of `rjobs` that are being queued and rescheduled; nearly always empty.
    purgatory() = "rjobs:purgatory"
        => set(DIGEST.means("the job's digest")),
        removed = "rescheduling takes a job out; what a crash left behind is rescheduled",
        example = "rjobs:purgatory";

    /// Since when each job has been in `rjobs:purgatory`, as far as a scheduler of keyrack has seen; the set does not say.
    since() = "rjobs:purgatory:since"
        => sorted_set(DIGEST.means("the job's digest"), UnixSeconds.means("when it was first seen there")),
        origin = Added,
        removed = "a job leaves when it is no longer in `rjobs:purgatory`, at the latest when it is rescued after a minute",
        example = "rjobs:purgatory:since";

    /// Jobs that are not queued when they are due; only their next run moves on.
    paused() = "rjobs:paused"
        => set(DIGEST.means("the job's digest")),
        origin = Added,
        removed = "resuming takes a job out; start-up drops jobs that are no longer defined",
        example = "rjobs:paused";
}
