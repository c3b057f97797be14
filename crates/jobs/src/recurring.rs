//! Recurring jobs: what runs by the calendar, and when it runs next.
//!
//! [`Definition`] says what runs, when, and where it is put; [`Recurring`] is the list of them in a store, to look at and to steer;
//! [`Scheduler`] makes it run. The keys are those of the original program, whose schedulers may run the same list.
//!
//! Jobs can also be defined at run time: [`Recurring::create`], [`Recurring::change`] and [`Recurring::delete`].
//!
//! In reading order: `interval` and `schedule` say when, `json` with what; `definition` is a job and `digest` its number; `plan` is the
//! list and `service` the handle to it. Then one module for each verb, with its script beside it: update, due, fire, rescue, list,
//! upcoming, run_now, pause. `defined` has the jobs that are defined at run time. `scheduler` is the loop.

mod defined;
mod definition;
mod digest;
mod due;
mod error;
mod fire;
mod interval;
mod json;
pub mod keys;
mod list;
mod pause;
mod plan;
mod rescue;
mod run_now;
mod schedule;
mod scheduler;
mod service;
mod upcoming;
mod update;

pub use self::{
    defined::{DEFINED_MAX, Defined},
    definition::{Definition, Draft, Target},
    error::{DefinitionError, Error, ScheduleError},
    fire::Fired,
    interval::{Filters, Interval, Weekday},
    json::{Json, Members},
    list::{ListState, Listed, Listing, Source},
    schedule::{CronSchedule, Every, Schedule},
    scheduler::{Scheduler, Settings, Turn},
    service::Recurring,
    upcoming::{UPCOMING_MAX, Upcoming, UpcomingRun},
};
