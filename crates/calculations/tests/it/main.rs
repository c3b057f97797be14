//! Tests of the calculations, on every kind of store.

mod accounts;
mod any_order;
mod build;
mod deleting;
mod intake;
mod moving;
mod results;
mod rig;
mod rules;
mod scripts;
mod settings;
mod statistics;
mod vectors;
