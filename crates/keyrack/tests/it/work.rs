//! `keyrack work`: commands that run jobs.

mod endings;
mod life;
mod protocol;
