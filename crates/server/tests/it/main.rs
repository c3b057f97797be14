//! The API over real HTTP, on loopback.

mod site;

mod bad_input;
mod calculations;
mod calculations_pages;
mod conformance;
mod events;
mod jobs;
mod logs;
mod many_queues;
mod metrics;
mod outages;
mod queues;
mod quotas;
mod recurring;
mod submit;
mod worker;

mod access;
mod attention;
mod bars;
mod deploys;
mod dev;
mod entitlements;
mod examples;
mod journeys;
mod lesser;
mod recommendations;
mod secrets;
mod sign_in;
mod traces;
mod users;
mod watch;

mod connections;

mod barriers;
mod browser;
mod changes;
mod failures;
mod inert;
mod navigation;
mod pages;
mod services;
mod visitors;

mod description;
