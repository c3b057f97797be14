//! Every channel of the updates; they keep no keys.

use keyrack_keys::declare::*;

parts! {
    /// A repository, such as `backend`.
    text Repo;
}

keys! {
    owner = "updates", origin = Document(&["000", "001"]), shard = Shard::Part("repo");

    /// Says that the main branch of a repository has changed. Whoever runs it updates itself.
    updates(repo: Repo) = "updates:<repo>"
        => channel(Text.means("anything; keyrack sends `1`")),
        example = "updates:backend";
}
