//! `keyrack jobs`, as its users see it.

mod inspect;
mod manage;
mod stores;
mod submit;
