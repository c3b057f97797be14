//! The built program, run as its users run it.

mod program;
mod world;

mod config;
mod documented;
mod endings;
mod guide;
mod help;
mod jobs;
mod keys;
mod kill;
mod pages;
mod progress;
mod recurring;
mod serve;
mod store;
mod token;
mod traces;
mod work;
