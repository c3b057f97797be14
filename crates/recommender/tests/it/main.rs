//! The recommender through its public doors.

mod crash;
mod days;
mod eval;
mod keys;
mod live;
mod load;
mod online;
mod postgres;
mod world;
