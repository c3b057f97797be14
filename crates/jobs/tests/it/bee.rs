//! The Bee queue, through its public door.

mod cancel;
mod claim;
mod clock;
mod ends;
mod events;
mod failover;
mod fields;
mod fixture;
mod groups;
mod heal;
mod keys;
mod life;
mod limits;
mod model;
mod outages;
mod quick;
mod reads;
mod replicas;
mod reservations;
mod score;
mod scripts;
mod statuses;
mod submit;
mod sweep;
