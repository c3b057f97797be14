//! Every key of the file clean-up. On a cluster all of them share one slot, because a sweep changes them together.

use keyrack_keys::declare::*;

const FILE: json::Schema = json::Object(&[
    ("bucket", json::String),
    ("key", json::String),
    ("expected", json::Maybe(&json::Bool)),
    ("hint", json::Maybe(&json::String)),
]);

const FAILURE: json::Schema = json::Object(&[
    ("failures", json::Number),
    ("failed_at", json::Number),
    ("reason", json::String),
]);

keys! {
    owner = "files", origin = Added, shard = Shard::Word("files");

    /// Files to delete unless somebody takes them out in time.
    ///
    /// An upload enters its file first and takes it out once the file is on record, so that a crash in between leaves
    /// no file that nobody knows. A deletion enters the file with `expected` true. The member's bytes are its identity:
    /// members are written with sorted names and `, ` and `: ` between them, and taken out exactly as found. A sweep that has
    /// taken a file on, or could not delete it, moves it into the future.
    purgatory() = "files:purgatory"
        => sorted_set(
            Json(&FILE).means("where the file is, whether its deletion is expected, and a hint for debugging"),
            UnixSeconds.means("when to delete it"),
        ),
        origin = Document(&["001"]),
        removed = "the upload takes its file out; the sweep takes out what it has deleted",
        example = "files:purgatory";

    /// The files that a sweep is deleting right now. An upload of such a file has to wait.
    ///
    /// Members are those of `files:purgatory`.
    claims() = "files:purgatory:claims"
        => sorted_set(
            Text.means("a member of `files:purgatory`"),
            UnixSeconds.means("when another sweep may take it on"),
        ),
        removed = "the sweep takes out what it is done with; the next sweep what one that crashed has left",
        example = "files:purgatory:claims";

    /// The files that could not be deleted, and why. They are tried again, each time later.
    failures() = "files:purgatory:failures"
        => map(
            Text.means("a member of `files:purgatory`"),
            Json(&FAILURE).means("how often it failed, when last, and why"),
        ),
        removed = "a file leaves when it has been deleted or taken out; every sweep drops what is left of others",
        example = "files:purgatory:failures";
}
