//! Recurring jobs, through their public door.

mod bee_targets;
mod beside_the_original;
mod clock;
mod run;
mod several;
mod start_up;
mod steering;
mod turns;
mod world;
