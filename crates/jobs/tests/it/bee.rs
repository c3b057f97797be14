//! The Bee queue, through its public door.

mod cancel;
mod claim;
mod clock;
mod ends;
mod events;
mod failover;
mod fields;
mod groups;
mod heal;
mod keys;
mod life;
mod limits;
mod lots;
mod model;
mod outages;
mod quick;
mod reads;
mod replicas;
mod rig;
mod score;
mod scripts;
mod statuses;
mod submit;
mod sweep;
