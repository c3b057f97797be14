//! Every key of the recurring jobs.
//!
//! The jobs of a program's list are defined in code; Redis knows them by a digest. Those of `rjobs:defined` are defined at run time. On a cluster these keys share a slot with
//! the hot queue, so that taking a due job, queueing it and setting its next run is one step.

use keyrack_keys::declare::*;

/// The digest of a job's name, arguments and schedule.
const DIGEST: Encoding = Integer { min: 0, max: u64::MAX as i128 };

/// Names and values as the settings file has them.
const DEFINED: json::Schema = json::Object(&[
    ("version", json::Number),
    ("created_at", json::Number),
    ("changed_at", json::Number),
    ("paused", json::Bool),
    ("job", json::Map(&json::Any)),
]);

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

    /// The recurring jobs that were defined at run time, by name. At most 1,000, each of up to 16 KiB.
    defined() = "rjobs:defined"
        => map(
            Text.means("the name of the job"),
            Json(&DEFINED).means("its version, when it was created and changed in unix milliseconds, whether it is paused, and its definition as a settings file has it"),
        ),
        origin = Added,
        removed = "deleting a job takes it out, and so does the run of a job that runs once",
        example = "rjobs:defined";

    /// When each job of `rjobs:defined` is due. Written with its definition and after each run.
    defined_due() = "rjobs:defined:due"
        => sorted_set(Text.means("the name of the job"), UnixSeconds.means("when it should run next")),
        origin = Added,
        removed = "a job leaves with its definition, or when it has no further run",
        example = "rjobs:defined:due";

    /// The last version that a job of `rjobs:defined` was given. Each creation and change counts one up, so no version comes twice.
    defined_version() = "rjobs:defined:version"
        => string(COUNT.means("the version")),
        origin = Added,
        removed = "never; it is one number",
        example = "rjobs:defined:version";

    /// Says that `rjobs:defined` has changed, so that schedulers look when they have to wake up.
    defined_events() = "rjobs:defined:ch"
        => channel(Words(&["changed"]).means("the event")),
        origin = Added,
        example = "rjobs:defined:ch";
}
