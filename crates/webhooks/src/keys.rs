//! Every key of the webhooks.

use keyrack_keys::declare::*;

parts! {
    /// A webhook.
    text HookId;
    /// One event on its way to one webhook: the id of the event.
    text DeliveryId;
    /// What a webhook's deliveries have in common that are made in order: 32 hex digits, made of
    /// the subject.
    text Lane;
    /// Something that one server at a time does.
    text Duty;
}

const HOOK: json::Schema = json::Object(&[
    ("name", json::String),
    ("site", json::String),
    ("events", json::Array(&json::String)),
    ("queues", json::Array(&json::String)),
    ("format", json::String),
    ("enabled", json::Bool),
    ("created_at", json::Number),
]);

const SECRETS: json::Schema = json::Object(&[
    ("url", json::String),
    ("secret", json::String),
    ("routing_key", json::Maybe(&json::String)),
]);

const EVENT: json::Schema = json::Object(&[
    ("id", json::String),
    ("kind", json::String),
    ("at", json::Number),
    ("subject", json::String),
    ("queue", json::Maybe(&json::String)),
    ("data", json::Any),
]);

/// How long a delivery is kept after its end.
pub(crate) const ENDED_TTL_S: u64 = 30 * 86_400;
/// How long a duty is somebody's.
pub(crate) const DUTY_S: u64 = 30;

keys! {
    owner = "webhooks", origin = Added, shard = Shard::Front("webhooks");

    /// The webhooks, without their secrets. Written when one is created, changed or deleted.
    hooks() = "webhooks:hooks"
        => map(Id(&HookId::KIND).means("a webhook"), Json(&HOOK).means("where it sends what")),
        removed = "deleting the webhook takes it out",
        example = "webhooks:hooks";

    /// The addresses of webhooks, and what signs their events. Written with `hooks`, and never
    /// shown.
    secrets() = "webhooks:secrets"
        => map(Id(&HookId::KIND).means("a webhook"), Secret(&Json(&SECRETS)).means("its URL, its secret, and its routing key")),
        removed = "deleting the webhook takes it out",
        secret = true,
        example = "webhooks:secrets";

    /// Webhooks that were deleted and whose keys are still to be deleted.
    deleted() = "webhooks:deleted"
        => set(Id(&HookId::KIND).means("a webhook")),
        removed = "whoever deletes the last of its keys, a server at the latest",
        example = "webhooks:deleted";

    /// Lanes of a webhook that have something to deliver.
    due(hook: HookId) = "webhooks:due:<hook>"
        => sorted_set(Id(&Lane::KIND).means("a lane"), UnixMs.means("when to try the first of the lane; a server that tries it moves it on by 30 s")),
        removed = "a lane leaves with its last delivery",
        example = "webhooks:due:wh_0a1b2c3d4e5f";

    /// What has to be delivered in order: events of one job, one rule or one alert.
    lane(hook: HookId, lane: Lane) = "webhooks:hook:<hook>:lane:<lane>"
        => list(Id(&DeliveryId::KIND).means("a delivery, oldest first")),
        removed = "a delivery leaves when it has ended",
        example = "webhooks:hook:wh_0a1b2c3d4e5f:lane:9f86d081884c7d659a2feaa0c55ad015";

    /// An event on its way to a webhook, and what came of it.
    delivery(hook: HookId, delivery: DeliveryId) = "webhooks:hook:<hook>:delivery:<delivery>"
        => hash(fields! {
            /// The event. A secret may be part of what jobs are given.
            event: Json(&EVENT),
            /// Its lane.
            lane: Id(&Lane::KIND),
            /// What has come of it.
            state: Words(&["waiting", "done", "failed"]),
            /// When it was taken, or replayed.
            created_at: UnixMs,
            /// How often it was tried.
            attempts: COUNT,
            /// How often since it was taken or replayed.
            tries: COUNT,
            /// When it was last tried.
            tried_at: Optional(&UnixMs),
            /// What the receiver answered.
            status: Optional(&COUNT),
            /// Why it failed the last time.
            error: Optional(&Text),
            /// When it was done, or given up.
            ended_at: Optional(&UnixMs),
        }),
        ttl = Ttl::Optional,
        removed = "expires 30 days after its end; of more than 1,000 done or 10,000 failed ones the oldest go first",
        example = "webhooks:hook:wh_0a1b2c3d4e5f:delivery:evt_9f86d081884c7d659a2feaa0c55ad015";

    /// Deliveries that have not ended.
    waiting(hook: HookId) = "webhooks:waiting:<hook>"
        => sorted_set(Id(&DeliveryId::KIND).means("a delivery"), UnixMs.means("when it was taken, or replayed")),
        removed = "a delivery leaves when it ends",
        example = "webhooks:waiting:wh_0a1b2c3d4e5f";

    /// Deliveries that the receiver has answered with 2xx.
    done(hook: HookId) = "webhooks:done:<hook>"
        => sorted_set(Id(&DeliveryId::KIND).means("a delivery"), UnixMs.means("when it was done")),
        removed = "the newest 1,000 of the last 30 days are kept",
        example = "webhooks:done:wh_0a1b2c3d4e5f";

    /// Deliveries that were given up after 24 hours.
    failed(hook: HookId) = "webhooks:failed:<hook>"
        => sorted_set(Id(&DeliveryId::KIND).means("a delivery"), UnixMs.means("when it was given up")),
        removed = "the newest 10,000 of the last 30 days are kept; a replay takes out what it replays",
        example = "webhooks:failed:wh_0a1b2c3d4e5f";

    /// How a webhook is doing.
    health(hook: HookId) = "webhooks:health:<hook>"
        => hash(fields! {
            /// How often it has failed in a row.
            failures: Optional(&COUNT),
            /// Until when it is left alone.
            paused_until: Optional(&UnixMs),
            /// When it last answered with 2xx.
            delivered_at: Optional(&UnixMs),
            /// Events that were dropped because 100,000 waited already.
            dropped: Optional(&POSITIVE),
        }),
        removed = "deleting the webhook",
        example = "webhooks:health:wh_0a1b2c3d4e5f";

    /// Which server does something that one at a time does: `forward` moves events here.
    duty(duty: Duty) = "webhooks:duty:<duty>"
        => string(Text.means("the server")),
        ttl = Ttl::Within(DUTY_S),
        example = "webhooks:duty:forward";

    /// How far a source of events was read.
    cursors() = "webhooks:cursors"
        => map(Text.means("the source"), COUNT.means("the number of the last event that was taken")),
        removed = "never: sources stay",
        example = "webhooks:cursors";

    /// Alerts that were told of as raised.
    alerts() = "webhooks:alerts"
        => map(Text.means("what tells the alert from others"), UnixMs.means("when it was raised")),
        removed = "an alert leaves when it was told of as cleared",
        example = "webhooks:alerts";
}
