//! Every key of entitlements, their rate limits and the checkout. Times are unix seconds with a fraction.

use keyrack_keys::declare::*;

parts! {
    /// A started checkout: `oseh_oscs_` and 16 bytes in base64.
    text CheckoutUid;
    /// What a limit is about, such as `search`.
    text LimitName;
    /// Who or what is limited: a user, an address, a key.
    text LimitSubject;
}

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

    /// There after an outage of the source of truth, until a request has shown that it is over.
    revenue_cat_trial() = "revenue_cat_errors:trial"
        => string(UnixSeconds.means("when the next request may be sent to find out")),
        origin = Added,
        shard = Shard::Word("revenue_cat_errors"),
        ttl = Ttl::Within(86_400),
        removed = "deleted by the first request that succeeds",
        example = "revenue_cat_errors:trial";

    /// Says that some process asks the source of truth about a user, so that others wait for the answer and do not ask too.
    asking(user_sub: UserSub) = "entitlements:asking:<user_sub>"
        => string(Text.means("a random word of whoever asks")),
        origin = Added,
        ttl = Ttl::Within(60),
        removed = "deleted when the answer is stored; expires when the process has died",
        example = "entitlements:asking:alice";

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

    /// By which names a user is known to those who sell. Written before they are first asked about the user.
    customer(user_sub: UserSub) = "entitlements:customer:<user_sub>"
        => hash(fields! {
            /// The user's id at RevenueCat. Nobody else may learn it: who knows it can read what the user bought.
            revenue_cat_id: Secret(&Text),
            /// When it was made.
            created_at: UnixSeconds,
            /// The user's id at Stripe, once a checkout was started.
            stripe_customer_id: Optional(&Secret(&Text)),
        }),
        origin = Added,
        secret = true,
        removed = "never: there is one for each user",
        example = "entitlements:customer:alice";

    /// A checkout that was started at Stripe and not seen to end.
    checkout_session(checkout_uid: CheckoutUid) = "checkout:session:<checkout_uid>"
        => hash(fields! {
            /// Who wants to buy.
            user_sub: Id(&UserSub::KIND),
            /// The session's id at Stripe.
            stripe_session_id: Secret(&Text),
            /// When it was started.
            created_at: UnixSeconds,
            /// When Stripe was last asked about it.
            last_checked_at: UnixSeconds,
            /// When Stripe gives it up.
            expires_at: UnixSeconds,
            /// Who is finishing it at the moment.
            holder: Optional(&Text),
            /// Until when nobody else may finish it.
            held_until: Optional(&UnixSeconds),
        }),
        origin = Added,
        shard = Shard::Front("checkout"),
        secret = true,
        removed = "deleted when it is paid or has expired; the sweep finds out",
        example = "checkout:session:oseh_oscs_AAECAwQFBgcICQoLDA0ODw";

    /// The checkouts that are open, by the time of their next check.
    checkouts_due() = "checkout:stripe:due"
        => sorted_set(Secret(&Refers(&checkout_session::FAMILY)).means("the checkout"), UnixSeconds.means("when Stripe is to be asked next")),
        origin = Added,
        secret = true,
        shard = Shard::Front("checkout"),
        removed = "members leave with their session",
        example = "checkout:stripe:due";

    /// The open checkouts of a user, by the time of their start.
    checkouts(user_sub: UserSub) = "checkout:open:<user_sub>"
        => sorted_set(Secret(&Refers(&checkout_session::FAMILY)).means("the checkout"), UnixSeconds.means("when it was started")),
        origin = Added,
        secret = true,
        shard = Shard::Front("checkout"),
        removed = "members leave with their session",
        example = "checkout:open:alice";

    /// How much of a limit is used up. Which fields there are depends on the kind of the limit.
    limit(name: LimitName, subject: LimitSubject) = "limits:<name>:<subject>"
        => hash(fields! {
            /// Fixed window: when it began.
            window_at: Optional(&UnixMs),
            /// Fixed window: how much was taken in it.
            used: Optional(&COUNT),
            /// Steady rate: when something was last taken.
            taken_at: Optional(&UnixMs),
            /// Steady rate: how many milliseconds it took then to pay off everything that was taken.
            debt_ms: Optional(&Float),
            /// Until when it counts among those of its user, if one has a quota of limits.
            counted_until: Optional(&UnixMs),
        }),
        origin = Added,
        shard = Shard::Part("subject"),
        ttl = Ttl::Required,
        example = "limits:search:alice";

    /// The limits that a user keeps, so that nobody has more than `quota-limits`. A limit enters before it is first stored.
    limits_held(user_sub: UserSub) = "limits-held:<user_sub>"
        => sorted_set(
            Json(&json::Array(&json::String)).means("the limit's name and subject"),
            UnixMs.means("when it has expired for certain"),
        ),
        origin = Added,
        ttl = Ttl::Required,
        removed = "a limit leaves when the next one enters after it has expired",
        example = "limits-held:alice";
}
