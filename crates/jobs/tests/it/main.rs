//! Jobs through their public doors.

mod bee;
mod conformance;
mod hot;
mod recurring;
mod replay;
mod worker;
