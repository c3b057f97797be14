//! The built program, run as its users run it.

mod program;
mod world;

mod calc;
mod calc_processes;
mod config;
mod demo;
mod documented;
mod documents;
mod endings;
mod entitlements;
mod files;
mod generated;
mod guide;
mod help;
mod hostile;
mod jobs;
mod journeys;
mod keys;
mod keys_file;
mod kill;
mod pages;
mod picture;
mod progress;
mod readiness;
mod recommend;
mod recurring;
mod runaway;
mod serve;
mod store;
mod token;
mod top;
mod traces;
mod updates;
mod work;
