//! lists.

use crate::table::Command;

pub(super) static COMMANDS: &[Command] = &[];

pub(super) fn serve(
    _ctx: &mut crate::ctx::Ctx<'_>,
    _op: &crate::blocking::Operation,
    _key: &[u8],
) -> super::Served {
    super::Served::Empty
}
