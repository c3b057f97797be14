//! hashes.

use crate::table::Command;

pub(super) static COMMANDS: &[Command] = &[];
