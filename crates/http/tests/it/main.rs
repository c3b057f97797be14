//! The API over real HTTP, on loopback.

mod site;

mod bad_input;
mod calculations;
mod events;
mod jobs;
mod outages;
mod queues;
mod recurring;
mod submit;
mod worker;

mod access;
mod bars;
mod deploys;
mod entitlements;
mod examples;
mod journeys;
mod traces;
mod users;
mod watch;

mod browser;
mod pages;

mod description;
