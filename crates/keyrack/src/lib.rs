//! The `keyrack` program: reads arguments, opens the store, runs what was asked for, and turns errors into messages
//! and exit codes. It decides nothing about data.
//!
//! In reading order: `cli` is what can be typed; `settings` what can be set; `globals` what every command is given;
//! `serve`, `work`, `keys`, `store` and `config` are the commands; `exit` and `report` how each of them ends; `logging`
//! what they tell on the way; `duration` and `signals` what several of them need.

mod cli;
mod settings;

mod globals;

mod config;
mod keys;
mod serve;
mod store;
mod work;

mod duration;
mod signals;

mod exit;
mod logging;
mod report;

pub use self::{
    cli::main,
    exit::{Exit, Failure},
    globals::Globals,
};
