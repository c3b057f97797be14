//! The demo on every kind of store.

mod clean;
mod refuse;
mod scenario;
mod world;
