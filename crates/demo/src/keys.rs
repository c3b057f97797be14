//! What a demo writes down about itself, so that it can be taken away after a crash.

use keyrack_keys::declare::*;

keys! {
    owner = "demo", origin = Added, shard = Shard::Word("demo");

    /// There is a demo in this store, or there was one that has not cleaned up. Keys whose name begins with `demo` are its own then.
    record() = "keyrack:demo"
        => hash(fields! {
            /// What everything that it does follows from.
            seed: Integer { min: 0, max: u64::MAX as i128 },
            /// When it began.
            started_at: UnixSeconds,
            /// The parts of keyrack that nobody used before, and whose keys without a name are its own: words with commas between.
            claims: Text,
        }),
        removed = "deleted last when the demo cleans up",
        example = "keyrack:demo";

    /// There as long as the demo is at work; two on one store would clean up after each other.
    alive() = "keyrack:demo:alive"
        => string(Text.means("which process it is")),
        ttl = Ttl::Within(15),
        removed = "deleted when the demo stops",
        example = "keyrack:demo:alive";
}
