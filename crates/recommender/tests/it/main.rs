//! The recommender through its public doors.

mod crash;
mod database;
mod days;
mod eval;
mod faults;
mod feed;
mod keys;
mod live;
mod load;
mod mysql;
mod online;
mod postgres;
mod world;
