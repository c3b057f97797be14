//! The lint against real databases.

mod worlds;

mod content;

mod clean;
mod foreign;
mod rules;
mod walking;

mod infer;
#[allow(dead_code, missing_docs, unreachable_pub, reason = "exactly as `keys infer` prints it")]
#[rustfmt::skip]
mod inferred;
