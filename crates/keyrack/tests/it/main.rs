//! The built program, run as its users run it.

mod program;

mod config;
mod endings;
mod help;
mod keys;
mod pages;
mod serve;
mod store;
