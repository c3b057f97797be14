//! Progress bars through their public doors, on every store.

mod counting;
mod crashes;
mod defining;
mod examples;
mod jobs;
mod keys;
mod listing;
mod model;
mod outages;
mod recounting;
mod rig;
mod rules;
mod sampling;
mod scripts;
mod starting;
mod times;
mod validation;
