//! Watching a journey over a WebSocket, as the published clients do.
//!
//! The client shows its ticket and says what it wants; the server asks what time it is on the journey there; the client answers; then
//! the server sends what happens near that time, until the journey is over. The client says nothing more.

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use axum::{
    extract::{
        State,
        ws::{
            CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code,
            rejection::WebSocketUpgradeRejection,
        },
    },
    http::StatusCode,
    response::Response,
};
use keyrack_journeys::{Error, Sync, View, Watcher, Wish, keys::JourneyUid};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, MissedTickBehavior, interval_at, sleep_until, timeout},
};
use uuid::Uuid;

use super::stream::batch_text;
use crate::{api::watch, app::App, problem::Problem};

/// How long a client may take to say what it has to.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// How long a client may take to receive a packet.
const SEND_MAX: Duration = Duration::from_secs(1);
/// How long a client may take to answer that the connection is closed.
const FAREWELL_MAX: Duration = Duration::from_secs(5);
/// How often the client can find out how late packets come.
const LATENCY_EVERY: Duration = Duration::from_secs(2);
/// A ticket and a few numbers.
const MESSAGE_BYTES_MAX: usize = 16 * 1024;
/// Clients say little, so thousands of them need not have large buffers.
const READ_BUFFER_BYTES: usize = 1024;

/// `/api/2/journeys/live`
pub(in crate::api) async fn socket(
    State(app): State<Arc<App>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let upgrade = upgrade.map_err(|rejection| {
        Problem::new(StatusCode::UPGRADE_REQUIRED, "no_websocket")
            .title("this is spoken to as a WebSocket")
            .detail(rejection.body_text())
    })?;
    let place = watch::place(&app)?;
    let upgrade = upgrade.read_buffer_size(READ_BUFFER_BYTES);
    let upgrade = upgrade.max_message_size(MESSAGE_BYTES_MAX).max_frame_size(MESSAGE_BYTES_MAX);
    Ok(upgrade.on_upgrade(|socket| async move {
        let _ = Client(socket).serve(app, place).await;
    }))
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
    wish: Wish,
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
struct Client(WebSocket);

/// There is nothing more to be said.
type Talk<T> = ControlFlow<(), T>;

impl Client {
    async fn serve(mut self, app: Arc<App>, place: OwnedSemaphorePermit) -> Talk<()> {
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
    async fn handshake(&mut self, app: &App) -> Talk<Result<(Watcher, Instant), Refusal>> {
        let wanted = match self.answer::<Authorize>("authorize").await? {
            Ok(wanted) => wanted,
            Err(reason) => return Talk::Continue(Err(Refusal::Unprocessable(reason))),
        };
        let (uid, duration) = match admit(app, &wanted).await {
            Ok(admitted) => admitted,
            Err(refusal) => return Talk::Continue(Err(refusal)),
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
            answer => Ok(answer),
        });
        let SyncResponse { receive_timestamp, transmit_timestamp } = match answer {
            Ok(answer) => answer,
            Err(reason) => return Talk::Continue(Err(Refusal::Unprocessable(reason))),
        };
        let sync = Sync { sent, received, receive_timestamp, transmit_timestamp };
        let view = View::synced(wanted.wish, sync);
        let ends_at = view.ends_at(duration);
        let watcher = app.live.watch(&uid, view).await.map_err(|_| Refusal::Unavailable);
        Talk::Continue(watcher.map(|watcher| (watcher, ends_at)))
    }

    async fn stream(&mut self, app: &App, mut watcher: Watcher, ends_at: Instant) -> Talk<()> {
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
                said = self.said() => {
                    said?;
                    return self.close(close_code::POLICY, "nothing was to be said").await;
                }
                () = sleep_until(ends_at) => {
                    return self.close(close_code::NORMAL, "the journey is over").await;
                }
                () = app.stopped() => return self.close(close_code::AWAY, "the server stops").await,
            }
        }
    }

    /// The next packet, which has to be of that type.
    async fn answer<T: DeserializeOwned>(&mut self, kind: &str) -> Talk<Result<T, String>> {
        let Ok(said) = timeout(ANSWER_MAX, self.said()).await else {
            self.close(close_code::POLICY, "nothing was said within 5 seconds").await?;
            return Talk::Break(());
        };
        let said = said?;
        let packet = serde_json::from_str::<Packet>(&said).map_err(|error| error.to_string());
        Talk::Continue(packet.and_then(|packet| {
            if packet.kind != kind {
                return Err(format!("type: \"{}\"; send \"{kind}\" first", packet.kind));
            }
            serde_json::from_value(packet.data).map_err(|error| format!("data: {error}"))
        }))
    }

    /// The next text that the client sends.
    async fn said(&mut self) -> Talk<String> {
        loop {
            match self.0.recv().await {
                Some(Ok(Message::Text(text))) => return Talk::Continue(text.to_string()),
                Some(Ok(Message::Binary(bytes))) => {
                    return Talk::Continue(String::from_utf8_lossy(&bytes).into_owned());
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Talk::Break(()),
            }
        }
    }

    async fn refuse(&mut self, refusal: Refusal) -> Talk<()> {
        let (code, kind, message) = match &refusal {
            Refusal::Unprocessable(reason) => (422, "unprocessable_entity", reason.as_str()),
            Refusal::Forbidden => (403, "forbidden", "the ticket is not valid"),
            Refusal::NotFound => (404, "not_found", "there is no such journey"),
            Refusal::Unavailable => (503, "store_unavailable", "the store does not answer"),
        };
        let data = json!({ "code": code, "type": kind, "message": message });
        self.packet(false, "error", &data.to_string()).await?;
        self.close(close_code::POLICY, kind).await
    }

    async fn send(&mut self, kind: &str, data: &str) -> Talk<()> {
        self.packet(true, kind, data).await
    }

    async fn packet(&mut self, success: bool, kind: &str, data: &str) -> Talk<()> {
        let uid = Uuid::new_v4().simple();
        let text = format!(
            r#"{{"success":{success},"type":"{kind}","uid":"oseh_packet_{uid}","data":{data}}}"#
        );
        match timeout(SEND_MAX, self.0.send(Message::Text(text.into()))).await {
            Ok(Ok(())) => Talk::Continue(()),
            Ok(Err(_)) | Err(_) => Talk::Break(()),
        }
    }

    /// Says farewell and waits a little for an answer: hanging up at once could overtake what was said.
    async fn close(&mut self, code: u16, reason: &str) -> Talk<()> {
        let frame = CloseFrame { code, reason: reason.into() };
        let farewell = async {
            if self.0.send(Message::Close(Some(frame))).await.is_ok() {
                while self.said().await.is_continue() {}
            }
        };
        let _ = timeout(FAREWELL_MAX, farewell).await;
        Talk::Break(())
    }
}

/// The journey, and how long it lasts, if the client may watch it.
async fn admit(app: &App, wanted: &Authorize) -> Result<(JourneyUid, f64), Refusal> {
    wanted.wish.check().map_err(Refusal::Unprocessable)?;
    let uid = JourneyUid::new(wanted.journey_uid.as_str());
    let uid = uid.map_err(|error| Refusal::Unprocessable(format!("journey_uid: {error}")))?;
    let tickets = app.tickets.as_ref().ok_or(Refusal::Forbidden)?;
    let now = app.journeys.now();
    tickets.check(&wanted.jwt, &uid, now).map_err(|_| Refusal::Forbidden)?;
    match app.journeys.journey(&uid).await {
        Ok(journey) => Ok((uid, journey.duration_seconds)),
        Err(Error::NoSuchJourney { .. }) => Err(Refusal::NotFound),
        Err(_) => Err(Refusal::Unavailable),
    }
}
