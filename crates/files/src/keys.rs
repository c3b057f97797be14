//! Every key of the file clean-up.

use keyrack_keys::declare::*;

const FILE: json::Schema = json::Object(&[
    ("bucket", json::String),
    ("key", json::String),
    ("expected", json::Maybe(&json::Bool)),
    ("hint", json::Maybe(&json::String)),
]);

keys! {
    owner = "files", origin = Document(&["001"]);

    /// Files to delete unless somebody takes them out in time.
    ///
    /// An upload enters its file first and takes it out once the file is on record, so that a crash in between leaves
    /// no file that nobody knows. A deletion enters the file with `expected` true. The member's bytes are its identity:
    /// members are written with sorted names and `, ` and `: ` between them, and taken out exactly as found.
    purgatory() = "files:purgatory"
        => sorted_set(
            Json(&FILE).means("where the file is, whether its deletion is expected, and a hint for debugging"),
            UnixSeconds.means("when to delete it"),
        ),
        removed = "the upload takes its file out; the sweep takes out what it has deleted",
        example = "files:purgatory";
}
