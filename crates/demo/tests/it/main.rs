//! The demo on every kind of store.

mod clean;
mod company;
mod refuse;
mod world;
