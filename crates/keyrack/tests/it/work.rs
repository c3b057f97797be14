//! `keyrack work`: commands that run jobs.

mod clock;
mod endings;
mod life;
mod protocol;
