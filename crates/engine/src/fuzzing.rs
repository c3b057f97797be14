//! Where the fuzz targets come in: each function takes bytes that a stranger might send or leave on disk, and panics
//! if the engine does with them what it must not do.
//!
//! No part of the API; only there with the feature `fuzzing`. The targets themselves are in `fuzz/`, one line each.

mod commands;
mod log;
mod parser;
mod replies;
mod script;

pub use self::{
    commands::run_commands,
    log::load_log,
    parser::parse_commands,
    script::{run_program, run_script},
};

use crate::{
    config::Config,
    host::SimulatedHost,
    script::Limits,
    session::{ClientIndex, ClientInfo, Inbox, mailbox},
    state::State,
};

/// What a run may use: much less than elsewhere, so that a fuzzer tries many inputs in a second.
const SCRIPT_LIMITS: Limits = Limits { memory: 16 << 20, instructions: 1000 };

/// An engine without doors, the same every time, and a client of it.
fn engine() -> (State, ClientIndex, Inbox) {
    let clock = SimulatedHost::new(1_700_000_000_000, 1);
    let config = Config { databases: 4, ..Config::default() };
    let mut state = State::new(Box::new(clock), config);
    let (mailbox, inbox) = mailbox(1 << 20);
    let client = state.connect(0, mailbox, true, ClientInfo::default());
    (state, client, inbox)
}
