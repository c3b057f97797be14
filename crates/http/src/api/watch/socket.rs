//! Watching over a WebSocket, as the published clients do.
//!
//! The client says what it wants to watch; the server says that it may, and then sends an update at once and after every change, until
//! the trace is done. The client says nothing more.

use std::sync::Arc;

use axum::{
    extract::{State, ws::close_code},
    response::Response,
};
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;

use super::{Ending, Next, Refusal, Wanted, Watcher};
use crate::{
    api::talk::{self, Line, Talk},
    app::App,
    problem::Problem,
};

/// `/api/2/progress_bars/traces/`
pub(in crate::api) async fn socket(
    State(app): State<Arc<App>>,
    request: talk::Request,
) -> Result<Response, Problem> {
    talk::begin(&app.clone(), request, |line, place| Client(line).serve(app, place))
}

/// The other end of the connection. Everything breaks off when it is gone.
struct Client(Line);

impl Client {
    async fn serve(mut self, app: Arc<App>, place: OwnedSemaphorePermit) -> Talk<()> {
        let wanted = self.wanted().await?;
        let mut watcher = match Watcher::enter(app, wanted, place).await {
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
                        Ending::NeverBegan | Ending::Idle => close_code::POLICY,
                        Ending::Stopping => close_code::AWAY,
                    };
                    return self.0.close(code, ending.reason()).await;
                }
            }
        }
    }

    /// What the client wants to watch.
    async fn wanted(&mut self) -> Talk<Wanted> {
        match serde_json::from_str(&self.0.answer().await?) {
            Ok(wanted) => Talk::Continue(wanted),
            Err(error) => {
                self.fail(400, "invalid_packet", &error.to_string()).await?;
                Talk::Break(())
            }
        }
    }

    async fn refuse(&mut self, refusal: Refusal) -> Talk<()> {
        match refusal {
            Refusal::Invalid(error) => self.fail(400, "invalid_packet", &error.to_string()).await,
            Refusal::AccountNotFound => {
                self.fail(403, "account_not_found", "there is no such user").await
            }
            Refusal::NoSteps => {
                self.0.close(close_code::AGAIN, "the progress bar has no steps yet").await
            }
            Refusal::Unavailable(_) => {
                self.0.close(close_code::AGAIN, "the store does not answer").await
            }
        }
    }

    async fn fail(&mut self, category: u16, kind: &str, message: &str) -> Talk<()> {
        let packet = json!({
            "success": false, "error_category": category, "error_type": kind, "error_message": message,
        });
        self.0.send(packet.to_string().into()).await?;
        self.0.close(close_code::POLICY, kind).await
    }
}
