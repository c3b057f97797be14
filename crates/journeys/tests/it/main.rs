//! Journeys on every store, and watched live.

mod world;

mod live;
mod rules;
mod totals;
