//! Webhooks on every store, with a real receiver over loopback and a clock that is moved by hand.

mod delivery;
mod fixture;
mod hooks;
mod refused;
