//! Every channel of the journeys; they keep no keys.

use keyrack_keys::declare::*;

parts! {
    /// A journey.
    text JourneyUid;
}

const EVENT: json::Schema = json::Object(&[
    ("uid", json::String),
    ("user_sub", json::String),
    ("session_uid", json::String),
    ("evtype", json::String),
    ("data", json::Map(&json::Any)),
    ("journey_time", json::Number),
    ("created_at", json::Number),
]);

keys! {
    owner = "journeys", origin = Document(&["001"]), shard = Shard::Part("uid");

    /// The events of one journey: one message for each, after it was stored.
    events(uid: JourneyUid) = "ps:journeys:<uid>:events"
        => channel(Json(&EVENT).means("the event; what `data` holds depends on `evtype`")),
        example = "ps:journeys:oseh_j_7Jw0aYl3:events";
}
