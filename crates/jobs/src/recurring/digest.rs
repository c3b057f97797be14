//! The digests by which the store knows recurring jobs and their list.
//!
//! Schedulers agree on a schedule by comparing digests, so plain definitions must have exactly those of the original
//! program, which takes in a zone's UTC offset at the moment when the process starts. What the original cannot express, cron
//! expressions, periods, single runs and Bee queues, is taken in as text behind what it has.

use jiff::Timestamp;

use super::{
    definition::{Definition, Target},
    interval::{Digested, Interval},
    schedule::{CronSchedule, Every, Schedule},
};

/// Stands for a filter that is absent.
const ABSENT: u64 = 100_002_961;

/// A digest in the making.
#[derive(Clone, Copy)]
struct Digest(u64);

impl Digest {
    const START: Digest = Digest(31);

    fn step(&mut self, value: u64) {
        self.0 = self.0.wrapping_mul(17).wrapping_add(value);
    }

    fn text(&mut self, text: &str) {
        self.step(text.chars().count() as u64);
        text.chars().for_each(|letter| self.step(u64::from(letter)));
    }
}

/// The digest of a list of jobs, from theirs.
pub(super) fn list(jobs: &[u64]) -> u64 {
    let mut digest = Digest::START;
    jobs.iter().for_each(|job| digest.step(*job));
    digest.0
}

/// The digest of a job for a process that starts at `started_at`.
pub(super) fn job(definition: &Definition, started_at: Timestamp) -> u64 {
    let mut digest = Digest::START;
    digest.text(definition.name());
    digest.step(definition.kwargs().len() as u64);
    for (name, value) in definition.kwargs().iter() {
        digest.text(name);
        digest.text(&value.to_python());
    }
    digest.step(match definition.schedule() {
        Schedule::Interval(schedule) => interval(schedule, started_at),
        Schedule::Cron(schedule) => cron(schedule),
        Schedule::Every(schedule) => every(schedule),
        Schedule::Once(at) => once(*at),
    });
    if let Target::Bee(queue) = definition.target() {
        digest.text("bee");
        digest.text(queue.as_str());
    }
    digest.0
}

fn interval(interval: &Interval, started_at: Timestamp) -> u64 {
    let mut digest = Digest::START;
    let offset = i64::from(interval.zone.to_offset(started_at).seconds());
    digest.step(offset.cast_unsigned());
    for filter in interval.digested() {
        let Some(values) = filter else {
            digest.step(ABSENT);
            continue;
        };
        digest.step(values.len() as u64);
        for value in values {
            match value {
                Digested::Number(number) => digest.step(number.into()),
                Digested::Word(word) => digest.text(word),
            }
        }
    }
    digest.0
}

/// By the zone's name, so that the digest of a cron job does not change with the season.
fn cron(schedule: &CronSchedule) -> u64 {
    let mut digest = Digest::START;
    digest.text("cron");
    digest.text(schedule.expression());
    digest.text(schedule.zone_name());
    digest.0
}

fn every(schedule: &Every) -> u64 {
    let mut digest = Digest::START;
    digest.text("every");
    digest.step(schedule.period_s().cast_unsigned());
    digest.step(schedule.from().as_second().cast_unsigned());
    digest.0
}

fn once(at: Timestamp) -> u64 {
    let mut digest = Digest::START;
    digest.text("once");
    digest.step(at.as_second().cast_unsigned());
    digest.0
}

#[cfg(test)]
mod tests;
