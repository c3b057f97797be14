//! Watching over a WebSocket, as the published clients do.
//!
//! The client says what it wants to watch; the server says that it may, and then sends an update at once and after every change, until
//! the trace is done. The client says nothing more.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{State, ws::close_code},
    http::HeaderMap,
    response::Response,
};
use keyrack_web::{App, Problem};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;

use super::{Credentials, Ending, Next, Refusal, TraceBroadcasts, WatchQuery, Watcher};
use crate::websocket::{self, Socket, SocketFlow};

/// `/api/2/progress_bars/traces/`
pub(crate) async fn socket(
    State(app): State<Arc<App>>,
    Extension(broadcasts): Extension<Arc<TraceBroadcasts>>,
    headers: HeaderMap,
    request: websocket::Request,
) -> Result<Response, Problem> {
    websocket::begin(&app.clone(), &headers.clone(), request, |line, place| {
        Client(line).serve(app, broadcasts, headers, place)
    })
}

/// What the client wants to watch, and its token if it has to show one and cannot send headers.
#[derive(Debug, Deserialize)]
struct Packet {
    #[serde(flatten)]
    wanted: WatchQuery,
    token: Option<String>,
}

/// The other end of the connection. Everything breaks off when it is gone.
struct Client(Socket);

impl Client {
    async fn serve(
        mut self,
        app: Arc<App>,
        broadcasts: Arc<TraceBroadcasts>,
        headers: HeaderMap,
        _permit: OwnedSemaphorePermit,
    ) -> SocketFlow<()> {
        let Packet { wanted, token } = self.wanted().await?;
        let credentials = Credentials { headers: &headers, token: token.as_deref() };
        let mut watcher = match Watcher::enter(&app, &broadcasts, wanted, credentials).await {
            Ok(watcher) => watcher,
            Err(refusal) => return self.refuse(refusal).await,
        };
        self.0.send(r#"{"success":true}"#.into()).await?;
        loop {
            let next = tokio::select! {
                next = watcher.next() => next,
                // Only that it leaves is of interest.
                said = self.0.said() => {
                    said?;
                    continue;
                }
            };
            match next {
                Next::Update { text, done } => {
                    self.0.send(text).await?;
                    if done {
                        return self.0.close(close_code::NORMAL, "done").await;
                    }
                }
                Next::End(ending) => {
                    let code = match ending {
                        Ending::NeverBegan | Ending::Idle | Ending::Failed(_) => close_code::POLICY,
                        Ending::Stopping => close_code::AWAY,
                    };
                    return self.0.close(code, &ending.reason()).await;
                }
            }
        }
    }

    /// What the client wants to watch.
    async fn wanted(&mut self) -> SocketFlow<Packet> {
        match serde_json::from_str(&self.0.answer().await?) {
            Ok(packet) => SocketFlow::Continue(packet),
            Err(error) => {
                self.fail(400, "invalid_packet", &error.to_string()).await?;
                SocketFlow::Break(())
            }
        }
    }

    async fn refuse(&mut self, refusal: Refusal) -> SocketFlow<()> {
        match refusal {
            Refusal::Invalid(error) => self.fail(400, "invalid_packet", &error.to_string()).await,
            Refusal::Denied(problem) => {
                self.fail(problem.status().as_u16(), problem.kind(), problem.message()).await
            }
            Refusal::NoSteps => {
                self.0.close(close_code::AGAIN, "the progress bar has no steps yet").await
            }
            Refusal::Unavailable(_) => {
                self.0.close(close_code::AGAIN, "the store does not answer").await
            }
        }
    }

    async fn fail(&mut self, category: u16, kind: &str, message: &str) -> SocketFlow<()> {
        let packet = json!({
            "success": false, "error_category": category, "error_type": kind, "error_message": message,
        });
        self.0.send(packet.to_string().into()).await?;
        self.0.close(close_code::POLICY, kind).await
    }
}
