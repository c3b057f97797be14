//! The lint against real databases.

mod worlds;

mod content;

mod clean;
mod files;
mod foreign;
mod rules;
mod walking;

mod infer;
mod keysets;
mod memory;
mod planted;
