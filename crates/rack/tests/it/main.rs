//! The library as programs use it, on every kind of store.

mod batches;
mod jobs;
mod limits;
mod names;
mod rollups;
mod server;
mod tasks;
mod time;
