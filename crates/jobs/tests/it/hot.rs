//! The hot queue, through its public door.

mod moving;
mod outages;
mod produce;
mod reliable;
mod stop;
mod unknown;
mod work;
mod workshop;
