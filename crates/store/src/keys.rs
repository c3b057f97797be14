//! The one key of the store itself.

use keyrack_keys::declare::*;

keys! {
    owner = "store", origin = Added, shard = Shard::Whole;

    /// Written to see whether the store takes writes, and whether replicas have them. Nobody reads it.
    probe() = "keyrack:probe"
        => string(UnixSeconds.means("when it was last written")),
        ttl = Ttl::Within(60),
        example = "keyrack:probe";
}
