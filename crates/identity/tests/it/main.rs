//! Users, tokens and sign-in on every store, and against a provider over real HTTP.

mod provider;
mod world;

mod alert_mutes;
mod audit;
mod jwks;
mod jwt;
mod sessions;
mod tokens;
