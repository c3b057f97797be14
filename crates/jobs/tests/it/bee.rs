//! The Bee queue, through its public door.

mod life;
mod model;
