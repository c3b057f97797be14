//! How values are printed: numbers, bytes, durations, times, and text that is made safe for a terminal.
//!
//! There is one printer for each. A value reads the same on a page, in a table of the command line and in `keyrack top`.

pub mod duration;
mod number;
mod text;
mod time;

pub use self::{
    duration::{about, age, duration, duration_ms, duration_s, duration_seconds},
    number::{bytes, count, counted, estimate, percent, short},
    text::{is_hidden, one_line, push_escape, visible, visible_lines},
    time::{Zone, local_clock, local_ms, local_s, relative, utc, utc_clock},
};
