//! Where reports go.

#[cfg(feature = "http-client")]
use std::time::SystemTime;

use keyrack_keys::UserSub;

use super::run_report::Message;
use crate::{
    bar::BarSettings, error::Error, estimate::Model, service::Progress, technique::StepConfig,
    trace::TraceFailure,
};

/// Where reports go.
#[derive(Debug)]
pub(super) enum Sink {
    /// The store of this process.
    Direct {
        /// Its bars.
        progress: Progress,
        /// Whose runs they are.
        user: UserSub,
    },
    /// A server.
    #[cfg(feature = "http-client")]
    Http(Box<super::http::Http>),
}

/// Why something could not be told.
#[derive(Debug)]
pub(super) enum Unsent {
    /// The same may go well a little later.
    ForNow(String),
    /// It never will.
    ForGood(String),
    /// The run is not known there any more, so all of it has to be told again.
    Gone(String),
}

impl Sink {
    /// The time in unix seconds.
    pub(super) fn now(&self) -> f64 {
        match self {
            Sink::Direct { progress, .. } => progress.now(),
            #[cfg(feature = "http-client")]
            Sink::Http(_) => now(),
        }
    }

    pub(super) async fn send(&self, message: &Message) -> Result<(), Unsent> {
        match self {
            Sink::Direct { progress, user } => {
                write(progress, user, message).await.map_err(Unsent::from)
            }
            #[cfg(feature = "http-client")]
            Sink::Http(http) => http.send(message).await,
        }
    }
}

impl Sink {
    /// What past runs of a bar say about the next.
    pub(super) async fn model(&self, bar: &str) -> Result<Model, String> {
        match self {
            Sink::Direct { progress, user } => {
                progress.model(user, bar).await.map_err(|error| error.to_string())
            }
            #[cfg(feature = "http-client")]
            Sink::Http(http) => http.model(bar).await,
        }
    }

    /// Tells that a run was given up before its end.
    pub(super) async fn give_up(&self, bar: &str, uid: &str) -> Result<(), Unsent> {
        let at = self.now();
        match self {
            Sink::Direct { progress, user } => {
                let failure = TraceFailure { at, ..TraceFailure::default() };
                progress.fail_trace(user, bar, uid, failure).await.map_err(Unsent::from)
            }
            #[cfg(feature = "http-client")]
            Sink::Http(http) => http.give_up(bar, uid, at).await,
        }
    }
}

async fn write(progress: &Progress, user: &UserSub, message: &Message) -> Result<(), Error> {
    match message {
        Message::Create(new) => progress.create_trace(user, new).await,
        Message::Update(update) if update.done => {
            // A bar that begins with this run keeps every run, as one from the command line does.
            let (name, config) = (&update.pbar_name, StepConfig::default());
            let made = progress.create_bar(user, name, BarSettings::EVERY_RUN, config).await;
            match made {
                Ok(_) | Err(Error::BarExists { .. }) => {}
                Err(error) => return Err(error),
            }
            progress.finish_trace(user, update).await.map(drop)
        }
        Message::Update(update) => progress.update_trace(user, update).await,
    }
}

impl From<Error> for Unsent {
    fn from(error: Error) -> Unsent {
        match &error {
            Error::TraceNotFound { .. } | Error::StepMissing { .. } => {
                Unsent::Gone(error.to_string())
            }
            error if error.is_transient() => Unsent::ForNow(error.to_string()),
            error => Unsent::ForGood(error.to_string()),
        }
    }
}

/// The time of a program that has no store to ask.
#[cfg(feature = "http-client")]
#[expect(clippy::disallowed_methods, reason = "a client has no clock but that of its machine")]
fn now() -> f64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}
