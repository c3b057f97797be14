//! `keyrack jobs`, as its users see it.

mod bad_input;
mod inspect;
mod manage;
mod stores;
mod submit;
