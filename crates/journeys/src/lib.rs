//! Journeys: what the people on a journey do together, live.
//!
//! [`Journeys`] is the service. In reading order: `prompt` is what a journey asks; `journey` and `session` are what there is to take part
//! in; `event` is what somebody does, with the rules beside it in `event.lua`; `totals` is what came of it, second by second, and `summary` in short; `ticket` is
//! how somebody shows that they may; `live` brings events to all who watch, and `view` decides what each of them sees.

mod error;
mod event;
mod journey;
mod journeys;
pub mod keys;
mod live;
mod prompt;
mod session;
mod summary;
mod ticket;
mod totals;
mod uid;
mod view;

pub use self::{
    error::{Error, Refusal},
    event::{Event, NewEvent, UserAction},
    journey::Journey,
    journeys::Journeys,
    keys::FAMILIES,
    live::{Live, ReceivedEvent, Watcher},
    prompt::Prompt,
    session::SESSIONS_QUOTA,
    summary::{JourneySummary, STORED_MAX},
    ticket::{DEFAULT_ISSUER, TICKET_TIME, Tickets},
    totals::Totals,
    view::{Sync, View, ViewRequest},
};
