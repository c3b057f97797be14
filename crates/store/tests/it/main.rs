//! The store as everything above it uses it.

mod acceptance;
mod keys;
mod moving;
mod outages;
mod refusals;
mod replies;
mod slots;
mod users;
