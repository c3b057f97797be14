//! Jobs through their public doors.

mod bee;
mod hot;
mod recurring;
mod replay;
mod worker;
