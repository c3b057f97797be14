//! The `keyrack` program: reads arguments, opens the store, runs what was asked for, and turns errors into messages
//! and exit codes. It decides nothing about data.
//!
//! In reading order: `cli` is what can be typed; `globals` what every command is given; `keys` one module per
//! command group; `exit` how each of them ends.

mod cli;
mod exit;
mod globals;
mod keys;

pub use self::{
    cli::main,
    exit::{Exit, Failure},
    globals::Globals,
};
