//! Jobs through their public doors.

mod bee;
mod replay;
