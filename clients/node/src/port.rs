//! How the event loop hears of calls that have ended: all that have ended at once, as one JSON text.

use std::sync::Arc;

use keyrack_bridge::{Failure, to_json};
use parking_lot::Mutex;
use serde_json::value::RawValue;

use crate::wake::Wake;

/// What a call brings, as JSON text.
pub(crate) type Answer = Result<String, Failure>;

pub(crate) struct Port {
    wake: Wake,
    ended: Mutex<Vec<(u32, Answer)>>,
}

impl Port {
    pub(crate) fn new(wake: Wake) -> Port {
        Port { wake, ended: Mutex::default() }
    }

    fn end(&self, number: u32, answer: Answer) {
        self.ended.lock().push((number, answer));
        self.wake.raise();
    }

    /// Takes the calls that have ended: a list of number and value, or of number, null and failure.
    pub(crate) fn take(&self) -> String {
        self.wake.lower();
        let ended = std::mem::take(&mut *self.ended.lock());
        let items = ended.into_iter().map(|(number, answer)| match answer {
            Ok(value) => format!("[{number},{value}]"),
            Err(failure) => format!("[{number},null,{}]", to_json(&failure)),
        });
        format!("[{}]", items.collect::<Vec<_>>().join(","))
    }
}

/// The answer that somebody waits for. Dropped, it says that the store was closed.
pub(crate) struct Reply {
    port: Arc<Port>,
    number: u32,
    is_sent: bool,
}

impl Reply {
    pub(crate) fn new(port: Arc<Port>, number: u32) -> Reply {
        Reply { port, number, is_sent: false }
    }

    pub(crate) fn send(mut self, answer: Answer) {
        self.is_sent = true;
        self.port.end(self.number, answer);
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if !self.is_sent {
            self.port.end(self.number, Err(Failure::closed()));
        }
    }
}

/// What a call that was made with wrong arguments throws at once.
pub(crate) fn thrown(failure: impl Into<Failure>) -> napi::Error {
    napi::Error::from_reason(to_json(&failure.into()))
}

/// JSON that came from JavaScript and is passed on as it is.
pub(crate) fn raw(text: String) -> Result<Box<RawValue>, Failure> {
    RawValue::from_string(text).map_err(|error| Failure::invalid(format!("no JSON: {error}")))
}
