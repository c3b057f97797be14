//! Counting a completed trace: it may become a sample, and it may change the steps of its bar.
//!
//! The trace and its bar are read, it is decided here what becomes of the bar, and one script does it all if both are still what was
//! read. So a trace is counted once however often the job is run, and not at all as long as the script has not.

mod count;
mod decide;

pub use self::count::CountOutcome;
