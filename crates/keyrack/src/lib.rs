//! The `keyrack` program: reads arguments, opens the store, runs what was asked for, and turns errors into messages
//! and exit codes. It decides nothing about data.
//!
//! In reading order: `cli` is what can be typed; `settings` what can be set; `globals` what every command is given;
//! `serve`, `demo`, `top`, `work`, `jobs`, `recurring`, `progress`, `token`, `keys`, `store` and `config` are the commands; `exit` and `report` how each of them ends; `logging`
//! what they tell on the way; `table`, `quotas`, `terminal` and `signals`
//! what several of them need.

mod cli;
mod settings;

mod globals;

mod audit;
mod calc;
mod config;
mod demo;
mod entitlements;
mod files;
mod health;
mod jobs;
mod journeys;
mod keys;
mod progress;
mod recommend;
mod recurring;
mod serve;
mod store;
mod token;
mod top;
mod updates;
mod webhooks;
mod work;

mod import;
mod input;
mod printer;
mod quotas;
mod signals;
mod table;
mod terminal;

mod exit;
mod logging;
mod report;

pub use self::{
    cli::main,
    exit::{Exit, Failure},
    globals::Globals,
};
