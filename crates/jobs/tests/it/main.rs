//! Jobs through their public doors.

mod bee;
