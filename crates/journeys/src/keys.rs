//! Every channel and key of the journeys. On a cluster those of one journey share a slot.

use keyrack_keys::declare::*;

parts! {
    /// A journey.
    text JourneyUid;
    /// What one person does on a journey, from joining to leaving.
    text SessionUid;
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

const PROMPT: json::Schema = json::Object(&[("style", json::String), ("text", json::String)]);

const TYPES: &[&str] = &[
    "join",
    "leave",
    "like",
    "numeric_prompt_response",
    "press_prompt_start_response",
    "press_prompt_end_response",
    "color_prompt_response",
    "word_prompt_response",
];

keys! {
    owner = "journeys", origin = Added, shard = Shard::Part("uid");

    /// The events of one journey: one message for each, after it was stored.
    events(uid: JourneyUid) = "ps:journeys:<uid>:events"
        => channel(Json(&EVENT).means("the event; what `data` holds depends on `evtype`")),
        origin = Document(&["001"]),
        example = "ps:journeys:oseh_j_7Jw0aYl3:events";

    /// All journeys.
    all() = "journeys"
        => sorted_set(Id(&JourneyUid::KIND).means("the journey"), UnixSeconds.means("when it was created")),
        shard = Shard::Whole,
        removed = "deleting a journey takes it out",
        example = "journeys";

    /// One journey: what it asks, and how long it lasts.
    journey(uid: JourneyUid) = "journeys:<uid>"
        => hash(fields! {
            /// The question, as it is shown.
            prompt: Json(&PROMPT),
            /// What kind of question it is.
            style: Words(&["numeric", "press", "color", "word"]),
            /// The lowest answer; absent where there is nothing to choose.
            low: Optional(&Integer { min: i64::MIN as i128, max: i64::MAX as i128 }),
            /// The highest answer.
            high: Optional(&Integer { min: i64::MIN as i128, max: i64::MAX as i128 }),
            /// How long it lasts, in seconds.
            duration: Float,
            /// When it was created.
            created_at: UnixSeconds,
        }),
        removed = "it is deleted",
        example = "journeys:oseh_j_7Jw0aYl3";

    /// One person on a journey: who, and what they did last. Written with every event.
    session(uid: JourneyUid, session_uid: SessionUid) = "journeys:<uid>:session:<session_uid>:state"
        => hash(fields! {
            /// Whose it is.
            user_sub: Id(&UserSub::KIND),
            /// When it was begun.
            created_at: UnixSeconds,
            /// The last event; absent before the first.
            last_type: Optional(&Words(TYPES)),
            /// When that was on the journey, in seconds.
            last_time: Optional(&Float),
            /// All types of events at that very time, separated by commas.
            last_types: Optional(&Text),
            /// Whether they are pressing.
            pressing: Optional(&Words(&["0", "1"])),
            /// When it was last counted among those of its user, if not when it was begun.
            counted_at: Optional(&UnixSeconds),
            /// The answer that counts now, by its name in the counts; empty if there is none.
            active: Optional(&Text),
        }),
        ttl = Ttl::Within(86_400),
        example = "journeys:oseh_j_7Jw0aYl3:session:oseh_js_Xp2:state";

    /// The sessions of a user that are stored, so that nobody has more than `quota-sessions`. A session enters before it starts.
    sessions(user_sub: UserSub) = "journeys-sessions:<user_sub>"
        => sorted_set(
            Json(&json::Array(&json::String)).means("the journey and the session"),
            UnixSeconds.means("when the session has expired for certain; events renew it, once an hour"),
        ),
        shard = Shard::Part("user_sub"),
        ttl = Ttl::Within(90_000),
        removed = "a session leaves when the next one starts after it has expired",
        example = "journeys-sessions:alice";

    /// The latest events of a journey, newest first.
    stored(uid: JourneyUid) = "journeys:<uid>:events"
        => list(Json(&EVENT).means("the event, as it was published")),
        removed = "the newest 10,000 are kept; all go with their journey",
        example = "journeys:oseh_j_7Jw0aYl3:events";

    /// What happened in each second of a journey, counted.
    ///
    /// A field is a name, a colon and a second. `all` counts events. The others hold by how much a number changed in that second, so that
    /// the sum up to a second is the number then: `users`, `likes`, `press`, `press_active`, `numeric_active:RATING`,
    /// `color_active:INDEX` and `word_active:INDEX`.
    counts(uid: JourneyUid) = "journeys:<uid>:counts"
        => map(
            Text.means("what, and in which second"),
            Integer { min: i64::MIN as i128, max: i64::MAX as i128 }.means("by how much"),
        ),
        removed = "it goes with its journey; there are no more fields than seconds and answers",
        example = "journeys:oseh_j_7Jw0aYl3:counts";
}
