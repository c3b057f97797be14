//! HELP of commands that have subcommands, told from the command table.

use crate::{
    ctx::Ctx,
    reply::{Error, Reply},
    table,
};

/// Lists the subcommands of the command that was called.
pub(super) fn help(_ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let command = table::find(args[0]).ok_or(Error::SYNTAX)?;
    let name = command.name.to_uppercase();
    let mut lines =
        vec![format!("{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")];
    for sub in command.subcommands {
        let short = sub.name.split_once('|').map_or(sub.name, |(_, short)| short);
        lines.push(short.to_uppercase());
        lines.push(format!("    {}.", sub.summary));
    }
    Ok(Reply::Array(lines.into_iter().map(|line| Reply::Status(line.into())).collect()))
}
