//! Every key of identity. Times are unix seconds with a fraction.
//!
//! On a cluster all of them but the signing keys share one slot: they are small and few beside what users store, and a token
//! has to be found before anybody knows whose it is.

use keyrack_keys::declare::*;

parts! {
    /// A user token, by the name that is no secret: `ep_ut_uid_` and 16 bytes in base64.
    text TokenUid;
}

/// Something that somebody has done.
const CHANGE: json::Schema = json::Object(&[
    ("at", json::Number),
    ("actor", json::String),
    ("action", json::String),
    ("subject", json::Maybe(&json::String)),
    ("user_sub", json::Maybe(&json::String)),
    ("token_uid", json::Maybe(&json::String)),
    ("from", json::Maybe(&json::String)),
    ("failed", json::Maybe(&json::String)),
]);

/// That somebody has acknowledged or muted an alert.
const ALERT_MUTE: json::Schema = json::Object(&[
    ("kind", json::String),
    ("reason", json::String),
    ("actor", json::String),
    ("at", json::Number),
    ("ends_at", json::Number),
]);

keys! {
    owner = "identity", origin = Added, shard = Shard::Word("identity"), secret = true;

    /// The public keys with which tokens are signed, as the identity provider published them.
    ///
    /// Written after a fetch; when it has expired the next token causes another.
    jwks() = "cognito:jwks"
        => string(Json(&json::Array(&json::Map(&json::Any))).means("the `keys` of the provider's key set")),
        shard = Shard::Whole,
        secret = false,
        origin = Document(&["000", "001"]),
        ttl = Ttl::Within(3_600),
        example = "cognito:jwks";

    /// The users, by the subject of their tokens. Written when a user is first seen.
    users() = "identity:users"
        => sorted_set(Id(&UserSub::KIND).means("the user"), UnixSeconds.means("when the user was created")),
        removed = "never: there is one for each user",
        example = "identity:users";

    /// One user token. Its secret is not stored; the token's name follows from the secret and not the other way round.
    token(token_uid: TokenUid) = "identity:token:<token_uid>"
        => hash(fields! {
            /// Whose it is.
            user_sub: Id(&UserSub::KIND),
            /// What its user calls it.
            name: Text,
            /// What it allows.
            role: Words(&["viewer", "operator", "admin"]),
            /// How far it reaches: the whole server, or what is its user's own, which it is when absent.
            reach: Optional(&Words(&["own", "server"])),
            /// The token with which its user signed in, if this one is a session: it ends with that one.
            parent: Optional(&Secret(&Id(&TokenUid::KIND))),
            /// When it was created.
            created_at: UnixSeconds,
            /// When it stops working; absent if it does not.
            expires_at: Optional(&UnixSeconds),
            /// The SHA-256 of the secret, in hex.
            digest: Secret(&Text),
        }),
        shard = Shard::Front("identity"),
        removed = "its user deletes it; of expired ones the newest 100 of a user are kept",
        example = "identity:token:ep_ut_uid_dG9rZW4gb2YgYWxpY2U";

    /// The tokens of a user, expired ones included.
    tokens(user_sub: UserSub) = "identity:tokens:<user_sub>"
        => sorted_set(Secret(&Id(&TokenUid::KIND)).means("the token"), UnixSeconds.means("when it expires; 0 if it does not")),
        shard = Shard::Front("identity"),
        removed = "deleting a token takes it out; the oldest expired ones leave when a new one comes",
        example = "identity:tokens:alice";

    /// That the server has made its first admin token, which happens at the first start.
    first_admin() = "identity:first_admin"
        => string(UnixSeconds.means("when it was made")),
        removed = "never: a second one would be printed",
        example = "identity:first_admin";

    /// Who has changed what, newest first: users, tokens, queues, jobs and whatever else is everybody's.
    audit() = "identity:audit"
        => list(Json(&CHANGE).means("when, who, what, to what, from which address, and why it failed if it did")),
        removed = "the newest 10,000 are kept",
        example = "identity:audit";

    /// Alerts that somebody has acknowledged or muted, by the kind of the alert and what it is about, or by the kind alone for all
    /// of the kind. Times are unix milliseconds.
    alert_mutes() = "identity:alert-mutes"
        => map(
            Text.means("the alert, such as `no-worker emails`"),
            Json(&ALERT_MUTE).means("whether it is acknowledged or muted, why, by whom, since when and until when"),
        ),
        secret = false,
        ttl = Ttl::Within(2_592_000),
        removed = "what has ended leaves when somebody mutes another; all expire 30 days after the last",
        example = "identity:alert-mutes";
}
