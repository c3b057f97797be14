//! Watching a journey over a WebSocket, as the published clients do.
//!
//! The client shows its ticket and says what it wants; the server asks what time it is on the journey there; the client answers; then
//! the server sends what happens near that time, until the journey is over. The client says nothing more.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{State, ws::close_code},
    http::HeaderMap,
    response::Response,
};
use keyrack_journeys::{Error, Sync, View, ViewRequest, Watcher, keys::JourneyUid};
use keyrack_web::{App, Problem};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, MissedTickBehavior, interval_at, sleep_until},
};
use uuid::Uuid;

use super::stream::batch_text;
use crate::websocket::{self, Socket, SocketFlow};

/// How often the client can find out how late packets come.
const LATENCY_EVERY: Duration = Duration::from_secs(2);

/// `/api/2/journeys/live`
pub(crate) async fn socket(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    request: websocket::Request,
) -> Result<Response, Problem> {
    websocket::begin(&app.clone(), &headers, request, |line, place| Client(line).serve(app, place))
}

/// A packet of the client.
#[derive(Deserialize)]
struct Packet {
    #[serde(rename = "type")]
    kind: String,
    data: Value,
}

/// What the client wants to watch.
#[derive(Deserialize)]
struct Authorize {
    journey_uid: String,
    jwt: String,
    #[serde(flatten)]
    wish: ViewRequest,
}

/// What time it is on the journey at the client's.
#[derive(Deserialize)]
struct SyncResponse {
    receive_timestamp: f64,
    transmit_timestamp: f64,
}

/// Why the client cannot watch.
enum Refusal {
    Unprocessable(String),
    Forbidden,
    NotFound,
    Unavailable,
}

/// The other end of the connection. Everything breaks off when it is gone.
struct Client(Socket);

impl Client {
    async fn serve(mut self, app: Arc<App>, place: OwnedSemaphorePermit) -> SocketFlow<()> {
        let (watcher, ends_at) = match self.handshake(&app).await? {
            Ok(ready) => ready,
            Err(refusal) => return self.refuse(refusal).await,
        };
        self.send("auth_response", "{}").await?;
        let ended = self.stream(&app, watcher, ends_at).await;
        drop(place);
        ended
    }

    /// From the first packet to the one before events begin.
    async fn handshake(&mut self, app: &App) -> SocketFlow<Result<(Watcher, Instant), Refusal>> {
        let wanted = match self.answer::<Authorize>("authorize").await? {
            Ok(wanted) => wanted,
            Err(reason) => return SocketFlow::Continue(Err(Refusal::Unprocessable(reason))),
        };
        let (uid, duration) = match admit(app, &wanted).await {
            Ok(admitted) => admitted,
            Err(refusal) => return SocketFlow::Continue(Err(refusal)),
        };
        let sent = Instant::now();
        self.send("sync_request", "{}").await?;
        let answer = self.answer::<SyncResponse>("sync_response").await?;
        let received = Instant::now();
        let answer = answer.and_then(|answer| match answer {
            SyncResponse { receive_timestamp: from, transmit_timestamp: to } if to < from => {
                Err("transmit_timestamp: it is before receive_timestamp; answer after receiving"
                    .into())
            }
            answer => match View::check_time(answer.receive_timestamp, duration) {
                Ok(()) => Ok(answer),
                Err(reason) => Err(format!("receive_timestamp: {reason}")),
            },
        });
        let SyncResponse { receive_timestamp, transmit_timestamp } = match answer {
            Ok(answer) => answer,
            Err(reason) => return SocketFlow::Continue(Err(Refusal::Unprocessable(reason))),
        };
        let sync = Sync { sent, received, receive_timestamp, transmit_timestamp };
        let view = View::synced(wanted.wish, sync);
        let ends_at = view.ends_at(duration);
        let watcher = app.services.live.watch(&uid, view).await.map_err(|_| Refusal::Unavailable);
        SocketFlow::Continue(watcher.map(|watcher| (watcher, ends_at)))
    }

    async fn stream(
        &mut self,
        app: &App,
        mut watcher: Watcher,
        ends_at: Instant,
    ) -> SocketFlow<()> {
        let mut latency = interval_at(Instant::now() + LATENCY_EVERY, LATENCY_EVERY);
        latency.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                batch = watcher.batch() => self.send("event_batch", &batch_text(&batch)).await?,
                now = latency.tick() => {
                    let expected = watcher.view().journey_time(now);
                    let data = json!({ "expected_receive_journey_time": expected });
                    self.send("latency_detection", &data.to_string()).await?;
                }
                said = self.0.said() => {
                    said?;
                    return self.0.close(close_code::POLICY, "nothing was to be said").await;
                }
                () = sleep_until(ends_at) => {
                    return self.0.close(close_code::NORMAL, "the journey is over").await;
                }
                () = app.stopped() => return self.0.close(close_code::AWAY, "the server stops").await,
            }
        }
    }

    /// The next packet, which has to be of that type.
    async fn answer<T: DeserializeOwned>(&mut self, kind: &str) -> SocketFlow<Result<T, String>> {
        let said = self.0.answer().await?;
        let packet = serde_json::from_str::<Packet>(&said).map_err(|error| error.to_string());
        SocketFlow::Continue(packet.and_then(|packet| {
            if packet.kind != kind {
                return Err(format!("type: \"{}\"; send \"{kind}\" first", packet.kind));
            }
            serde_json::from_value(packet.data).map_err(|error| format!("data: {error}"))
        }))
    }

    async fn refuse(&mut self, refusal: Refusal) -> SocketFlow<()> {
        let (code, kind, message) = match &refusal {
            Refusal::Unprocessable(reason) => (422, "unprocessable_entity", reason.as_str()),
            Refusal::Forbidden => (403, "forbidden", "the ticket is not valid"),
            Refusal::NotFound => (404, "not_found", "there is no such journey"),
            Refusal::Unavailable => (503, "store_unavailable", "the store does not answer"),
        };
        let data = json!({ "code": code, "type": kind, "message": message });
        self.packet(false, "error", &data.to_string()).await?;
        self.0.close(close_code::POLICY, kind).await
    }

    async fn send(&mut self, kind: &str, data: &str) -> SocketFlow<()> {
        self.packet(true, kind, data).await
    }

    async fn packet(&mut self, success: bool, kind: &str, data: &str) -> SocketFlow<()> {
        let uid = Uuid::new_v4().simple();
        let text = format!(
            r#"{{"success":{success},"type":"{kind}","uid":"oseh_packet_{uid}","data":{data}}}"#
        );
        self.0.send(text.into()).await
    }
}

/// The journey, and how long it lasts, if the client may watch it.
async fn admit(app: &App, wanted: &Authorize) -> Result<(JourneyUid, f64), Refusal> {
    wanted.wish.check().map_err(|error| Refusal::Unprocessable(error.to_string()))?;
    let uid = JourneyUid::new(wanted.journey_uid.as_str());
    let uid = uid.map_err(|error| Refusal::Unprocessable(format!("journey_uid: {error}")))?;
    let tickets = app.services.tickets.as_ref().ok_or(Refusal::Forbidden)?;
    let now = app.services.journeys.now();
    tickets.check(&wanted.jwt, &uid, now).map_err(|_| Refusal::Forbidden)?;
    match app.services.journeys.journey(&uid).await {
        Ok(journey) => Ok((uid, journey.duration_seconds)),
        Err(Error::NoSuchJourney { .. }) => Err(Refusal::NotFound),
        Err(_) => Err(Refusal::Unavailable),
    }
}
