//! Watching over a WebSocket, as the published clients do.
//!
//! The client says what it wants to watch; the server says that it may, and then sends an update at once and after every change, until
//! the trace is done. The client says nothing more.

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use axum::{
    extract::{
        State,
        ws::{
            CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code,
            rejection::WebSocketUpgradeRejection,
        },
    },
    http::StatusCode,
    response::Response,
};
use serde_json::json;
use tokio::{sync::OwnedSemaphorePermit, time::timeout};

use super::{Ending, Next, Refusal, Wanted, Watcher, place};
use crate::{app::App, problem::Problem};

/// How long a client may take to say what it wants.
const HANDSHAKE_MAX: Duration = Duration::from_secs(5);
/// How long a client may take to receive a packet.
const SEND_MAX: Duration = Duration::from_secs(5);
/// How long a client may take to answer that the connection is closed.
const FAREWELL_MAX: Duration = Duration::from_secs(1);
/// What a client may say at once: three names and what stands round them.
const MESSAGE_BYTES_MAX: usize = 16 * 1024;
/// Clients say one thing and are told short ones, so thousands of them need not have large buffers.
const BUFFER_BYTES: usize = 1024;

/// `/api/2/progress_bars/traces/`
pub(in crate::api) async fn socket(
    State(app): State<Arc<App>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let upgrade = upgrade.map_err(|rejection| {
        Problem::new(StatusCode::UPGRADE_REQUIRED, "no_websocket")
            .title("this is spoken to as a WebSocket")
            .detail(rejection.body_text())
    })?;
    let place = place(&app)?;
    let upgrade = upgrade.read_buffer_size(BUFFER_BYTES).write_buffer_size(BUFFER_BYTES);
    let upgrade = upgrade.max_message_size(MESSAGE_BYTES_MAX).max_frame_size(MESSAGE_BYTES_MAX);
    Ok(upgrade.on_upgrade(|socket| async move {
        let _ = Client(socket).serve(app, place).await;
    }))
}

/// The other end of the connection. Everything breaks off when it is gone.
struct Client(WebSocket);

/// There is nothing more to be said.
type Talk<T> = ControlFlow<(), T>;

impl Client {
    async fn serve(mut self, app: Arc<App>, place: OwnedSemaphorePermit) -> Talk<()> {
        let wanted = self.wanted().await?;
        let mut watcher = match Watcher::enter(app, wanted, place).await {
            Ok(watcher) => watcher,
            Err(refusal) => return self.refuse(refusal).await,
        };
        self.send(r#"{"success":true}"#.into()).await?;
        loop {
            let next = tokio::select! {
                next = watcher.next() => next,
                heard = self.heard() => {
                    heard?;
                    continue;
                }
            };
            match next {
                Next::Update { text, done } => {
                    self.send(text).await?;
                    if done {
                        return self.close(close_code::NORMAL, "done").await;
                    }
                }
                Next::End(ending) => {
                    let code = match ending {
                        Ending::NeverBegan | Ending::Idle => close_code::POLICY,
                        Ending::Stopping => close_code::AWAY,
                    };
                    return self.close(code, ending.reason()).await;
                }
            }
        }
    }

    /// What the client wants to watch.
    async fn wanted(&mut self) -> Talk<Wanted> {
        let Ok(said) = timeout(HANDSHAKE_MAX, self.said()).await else {
            self.close(close_code::POLICY, "nothing was asked for within 5 seconds").await?;
            return Talk::Break(());
        };
        match serde_json::from_str(&said?) {
            Ok(wanted) => Talk::Continue(wanted),
            Err(error) => {
                self.fail(400, "invalid_packet", &error.to_string()).await?;
                Talk::Break(())
            }
        }
    }

    /// The next text that the client sends. Other than text makes no sense, which shows when it is read.
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

    /// Waits for anything that the client does. Only that it leaves is of interest.
    async fn heard(&mut self) -> Talk<()> {
        match self.0.recv().await {
            Some(Ok(Message::Close(_)) | Err(_)) | None => Talk::Break(()),
            Some(Ok(_)) => Talk::Continue(()),
        }
    }

    async fn refuse(&mut self, refusal: Refusal) -> Talk<()> {
        match refusal {
            Refusal::Invalid(error) => self.fail(400, "invalid_packet", &error.to_string()).await,
            Refusal::AccountNotFound => {
                self.fail(403, "account_not_found", "there is no such user").await
            }
            Refusal::NoSteps => {
                self.close(close_code::AGAIN, "the progress bar has no steps yet").await
            }
            Refusal::Unavailable(_) => {
                self.close(close_code::AGAIN, "the store does not answer").await
            }
        }
    }

    async fn fail(&mut self, category: u16, kind: &str, message: &str) -> Talk<()> {
        let packet = json!({
            "success": false, "error_category": category, "error_type": kind, "error_message": message,
        });
        self.send(packet.to_string().into()).await?;
        self.close(close_code::POLICY, kind).await
    }

    async fn send(&mut self, text: Utf8Bytes) -> Talk<()> {
        match timeout(SEND_MAX, self.0.send(Message::Text(text))).await {
            Ok(Ok(())) => Talk::Continue(()),
            Ok(Err(_)) | Err(_) => Talk::Break(()),
        }
    }

    /// Says farewell and waits a little for an answer: hanging up at once could overtake what was said.
    async fn close(&mut self, code: u16, reason: &str) -> Talk<()> {
        let frame = CloseFrame { code, reason: reason.into() };
        let farewell = async {
            if self.0.send(Message::Close(Some(frame))).await.is_ok() {
                while self.heard().await.is_continue() {}
            }
        };
        let _ = timeout(FAREWELL_MAX, farewell).await;
        Talk::Break(())
    }
}
