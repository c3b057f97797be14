//! The API over real HTTP, on loopback.

mod site;

mod bad_input;
mod events;
mod jobs;
mod outages;
mod queues;
mod recurring;
mod submit;
mod worker;

mod access;
mod bars;
mod examples;
mod traces;
mod users;
mod watch;

mod description;
