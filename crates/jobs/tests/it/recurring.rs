//! Recurring jobs, through their public door.

mod bee_targets;
mod beside_the_original;
mod clock;
mod defined;
mod defined_runs;
mod run;
mod several;
mod start_up;
mod steering;
mod turns;
mod world;
