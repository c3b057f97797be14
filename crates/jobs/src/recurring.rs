//! Recurring jobs: what runs by the calendar, and when it runs next.

pub mod keys;
