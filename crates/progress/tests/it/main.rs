//! Progress bars through their public doors, on every store.

mod client;
mod counting;
mod crashes;
mod defining;
mod ending;
mod estimating;
mod examples;
mod jobs;
mod keys;
mod kills;
mod listing;
mod model;
mod moving;
mod outages;
mod overview;
mod quotas;
mod recounting;
mod rig;
mod rules;
mod sampling;
mod scripts;
mod starting;
mod times;
mod validation;
