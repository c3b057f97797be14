//! Talking over a WebSocket with clients that say little and listen long: what all such talks have in common.

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use axum::{
    extract::ws::{
        CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code,
        rejection::WebSocketUpgradeRejection,
    },
    http::{HeaderMap, StatusCode},
    response::Response,
};
use keyrack_web::{App, Problem, access};
use tokio::{sync::OwnedSemaphorePermit, time::timeout};

/// How long a client may take to say what it has to.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// How long a client may take to receive a packet.
const SEND_MAX: Duration = Duration::from_secs(5);
/// How long a client may take to answer that the connection is closed.
const FAREWELL_MAX: Duration = Duration::from_secs(1);
/// What a client may say at once: a few names or a ticket.
const MESSAGE_BYTES_MAX: usize = 16 * 1024;
/// How the error begins that says that a message is too large; its type is not made public.
const TOO_LARGE: &str = "Space limit exceeded";
/// Clients say little and are told short things, so thousands of them need not have large buffers.
const BUFFER_BYTES: usize = 1024;

/// `Break` when the other end is gone or there is nothing more to be said.
pub(super) type SocketFlow<T> = ControlFlow<(), T>;

/// A request to talk, if it is one.
pub(super) type Request = Result<WebSocketUpgrade, WebSocketUpgradeRejection>;

/// Answers the request, takes a place among those who watch, and talks.
pub(super) fn begin<F>(
    app: &Arc<App>,
    headers: &HeaderMap,
    request: Request,
    websocket: impl FnOnce(Socket, OwnedSemaphorePermit) -> F + Send + 'static,
) -> Result<Response, Problem>
where
    F: Future<Output = SocketFlow<()>> + Send,
{
    access::check_socket(app, headers)?;
    let upgrade = request.map_err(|rejection| {
        Problem::new(StatusCode::UPGRADE_REQUIRED, "no_websocket")
            .title("this is spoken to as a WebSocket")
            .detail(rejection.body_text())
    })?;
    let place = app.permit_to_watch()?;
    let upgrade = upgrade.read_buffer_size(BUFFER_BYTES).write_buffer_size(BUFFER_BYTES);
    let upgrade = upgrade.max_message_size(MESSAGE_BYTES_MAX).max_frame_size(MESSAGE_BYTES_MAX);
    Ok(upgrade.on_upgrade(|socket| async move {
        let _ = websocket(Socket(socket), place).await;
    }))
}

/// The line to a client.
pub(super) struct Socket(WebSocket);

impl Socket {
    /// What the client says to something, or by itself at first; who says nothing for long is told so.
    pub(super) async fn answer(&mut self) -> SocketFlow<String> {
        match timeout(ANSWER_MAX, self.said()).await {
            Ok(said) => said,
            Err(_) => {
                let reason = format!("nothing was said within {} seconds", ANSWER_MAX.as_secs());
                self.close(close_code::POLICY, &reason).await?;
                SocketFlow::Break(())
            }
        }
    }

    /// The next text that the client sends. Other than text makes no sense, which shows when it is read.
    pub(super) async fn said(&mut self) -> SocketFlow<String> {
        loop {
            match self.0.recv().await {
                Some(Ok(Message::Text(text))) => return SocketFlow::Continue(text.to_string()),
                Some(Ok(Message::Binary(bytes))) => {
                    return SocketFlow::Continue(String::from_utf8_lossy(&bytes).into_owned());
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Err(error)) if error.to_string().starts_with(TOO_LARGE) => {
                    let reason = format!("at most {MESSAGE_BYTES_MAX} bytes can be said at once");
                    let frame = CloseFrame { code: close_code::SIZE, reason: reason.into() };
                    // What is left of the message cannot be read, so no answer is waited for.
                    let _ = timeout(FAREWELL_MAX, self.0.send(Message::Close(Some(frame)))).await;
                    return SocketFlow::Break(());
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return SocketFlow::Break(()),
            }
        }
    }

    pub(super) async fn send(&mut self, text: Utf8Bytes) -> SocketFlow<()> {
        match timeout(SEND_MAX, self.0.send(Message::Text(text))).await {
            Ok(Ok(())) => SocketFlow::Continue(()),
            Ok(Err(_)) | Err(_) => SocketFlow::Break(()),
        }
    }

    /// Says farewell and waits a little for an answer: hanging up at once could overtake what was said.
    pub(super) async fn close(&mut self, code: u16, reason: &str) -> SocketFlow<()> {
        let frame = CloseFrame { code, reason: reason.into() };
        let farewell = async {
            if self.0.send(Message::Close(Some(frame))).await.is_ok() {
                while self.said().await.is_continue() {}
            }
        };
        let _ = timeout(FAREWELL_MAX, farewell).await;
        SocketFlow::Break(())
    }
}
