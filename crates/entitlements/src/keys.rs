//! Every key of entitlements, their rate limits and the checkout. Times are unix seconds with a fraction.

use keyrack_keys::declare::*;

const ENTITLEMENT: json::Schema = json::Object(&[
    ("is_active", json::Bool),
    ("expires_at", json::Nullable(&json::Number)),
    ("checked_at", json::Number),
]);

const PURGE: json::Schema =
    json::Object(&[("user_sub", json::String), ("min_checked_at", json::Number)]);

/// A basic expiring key: while it exists, the user has to wait.
const LIMITED: Value = Words(&["1"]).means("the user has to wait");

keys! {
    owner = "entitlements", origin = Document(&["001"]), shard = Shard::Part("user_sub");

    /// What the source of truth last said about a user's entitlements. A lookup merges its answer and renews the TTL.
    entitlements(user_sub: UserSub) = "entitlements:<user_sub>"
        => map(
            Text.means("the entitlement's identifier, such as `pro`"),
            Json(&ENTITLEMENT).means("whether it is active, until when unless renewed, and when this was checked"),
        ),
        ttl = Ttl::Within(86_400),
        removed = "deleted when a checkout completes",
        example = "entitlements:alice";

    /// Recent failures of the source of truth. While there are many, everybody is taken to be entitled.
    revenue_cat_errors() = "revenue_cat_errors"
        => sorted_set(Text.means("a unique id"), UnixSeconds.means("when the request failed")),
        shard = Shard::Whole,
        removed = "failures older than 300 s are clipped at each insertion and each test",
        example = "revenue_cat_errors";

    /// Set by a read past the cache; the next one has to wait until it expires.
    read_limit(user_sub: UserSub) = "entitlements:read:force:ratelimit:<user_sub>"
        => string(LIMITED),
        ttl = Ttl::Within(30),
        example = "entitlements:read:force:ratelimit:alice";

    /// Set when a checkout starts; the next start has to wait until it expires.
    checkout_start_limit(user_sub: UserSub) = "checkout:stripe:start:ratelimit:<user_sub>"
        => string(LIMITED),
        ttl = Ttl::Within(15),
        example = "checkout:stripe:start:ratelimit:alice";

    /// Set when a checkout is looked at; the next look has to wait until it expires.
    checkout_finish_limit(user_sub: UserSub) = "checkout:stripe:finish:ratelimit:<user_sub>"
        => string(LIMITED),
        ttl = Ttl::Within(15),
        example = "checkout:stripe:finish:ratelimit:alice";

    /// Says that what was cached about a user before a moment is void. The Redis cache is already purged or refreshed;
    /// listeners drop what they keep themselves.
    purge() = "ps:entitlements:purge"
        => channel(Json(&PURGE).means("the user, and the oldest check that still counts")),
        shard = Shard::Whole,
        example = "ps:entitlements:purge";
}
