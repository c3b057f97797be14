//! `keyrack jobs`, as its users see it.

mod look;
mod steer;
mod stores;
mod submit;
