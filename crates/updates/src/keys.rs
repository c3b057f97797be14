//! Every channel and key of the updates.

use keyrack_keys::declare::*;

parts! {
    /// A repository, such as `backend`.
    text Repo;
}

const ANNOUNCEMENT: json::Schema = json::Object(&[("at", json::Number), ("heard", json::Number)]);

keys! {
    owner = "updates", origin = Document(&["000", "001"]), shard = Shard::Part("repo");

    /// Says that the main branch of a repository has changed. Whoever runs it updates itself.
    updates(repo: Repo) = "updates:<repo>"
        => channel(Text.means("anything; keyrack sends `1`")),
        example = "updates:backend";

    /// Whose turn it is to update, where a fleet does so one host at a time.
    ///
    /// Taken before the update and given back after it. A host that dies loses its turn when the key expires.
    turn(repo: Repo) = "updates:<repo>:lock"
        => string(Text.means("who updates itself right now")),
        origin = Added,
        ttl = Ttl::Within(60),
        example = "updates:backend:lock";

    /// The latest announcements of a repository, newest first. Written with each.
    announced(repo: Repo) = "updates:<repo>:announced"
        => list(Json(&ANNOUNCEMENT).means("when it was, in unix seconds, and how many heard it")),
        origin = Added,
        removed = "the newest 20 are kept",
        example = "updates:backend:announced";

    /// The repositories of which something was announced. Written after each announcement.
    repos() = "updates-repos"
        => sorted_set(Id(&Repo::KIND).means("the repository"), UnixSeconds.means("when something was last announced")),
        shard = Shard::Whole,
        origin = Added,
        removed = "one of which nothing was announced for a year leaves with the next announcement",
        example = "updates-repos";
}
