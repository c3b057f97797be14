//! The store as everything above it uses it.

mod acceptance;
mod keys;
mod loading;
mod logins;
mod moving;
mod outages;
mod refusals;
mod replicas;
mod replies;
mod slots;
mod users;
